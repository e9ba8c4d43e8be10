import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { isProblem, type Problem } from '../errors.ts'
import type { RawAnswer } from '../route.ts'
import { eventStream, type StreamEvent, wantsEventStream } from './event-stream.ts'
import { LONGEST_STREAM_MS, limitsOfKey, type OpenStreams } from './open-streams.ts'

export interface LiveParts {
  streams: OpenStreams
  /** Polling interval [ms]. */
  everyMs?: number
  /** Interval of heartbeats on an otherwise silent stream [ms]. */
  heartbeatMs?: number
  /** After this time the client reconnects, and its key is checked again [ms]. */
  longestMs?: number
}

const EVERY_MS = 1000
const HEARTBEAT_MS = 15_000

/** The route's description of its live form. */
export const LIVE =
  '`Accept: text/event-stream` sends the answer as event `snapshot`, and again after each change, at most once a second. The stream sends a heartbeat every 15 s and ends after 15 min: reconnect then.'

/**
 * Answers with `read` once; or, if the client asks for events, again whenever the result has changed. The number of streams per key is
 * bounded, and each reads once a second however much happens. A slow client is waited for, and nothing is buffered for it.
 */
export async function liveAnswer<T extends object>(
  parts: LiveParts,
  context: Context,
  accept: string | string[] | undefined,
  read: () => Promise<T | Problem>,
): Promise<T | Problem | RawAnswer> {
  const first = await read()
  if (isProblem(first) || !wantsEventStream(accept)) return first
  const place = await parts.streams.take(limitsOfKey(context))
  if (isProblem(place)) return place
  return eventStream(changes(parts, { first, read, signal: place.signal }), place.leave)
}

interface Watched<T> {
  first: T
  read: () => Promise<T | Problem>
  signal: AbortSignal
}

async function* changes<T extends object>(
  { everyMs = EVERY_MS, heartbeatMs = HEARTBEAT_MS, longestMs = LONGEST_STREAM_MS }: LiveParts,
  { first, read, signal }: Watched<T>,
): AsyncGenerator<StreamEvent, void> {
  const beats = Math.max(1, Math.round(heartbeatMs / everyMs))
  let [last, silence] = [JSON.stringify(first), 0]
  yield { event: 'snapshot', data: first }
  for (let looks = longestMs / everyMs; looks > 0 && !signal.aborted; looks--) {
    await sleep(everyMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const next = await read()
    // The watched object is gone.
    if (isProblem(next)) return
    const text = JSON.stringify(next)
    silence = text === last ? silence + 1 : 0
    if (text !== last) yield { event: 'snapshot', data: next }
    else if (silence % beats === 0) yield { comment: 'heartbeat' }
    last = text
  }
}
