import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { isProblem, type Problem } from '../errors.ts'
import type { RawAnswer } from '../route.ts'
import { eventStream, type StreamEvent, wantsEventStream } from './event-stream.ts'
import { LONGEST_STREAM_MS, limitOfKey, type OpenStreams } from './open-streams.ts'

export interface LiveParts {
  streams: OpenStreams
  /** Between two looks [ms]. */
  everyMs?: number
  /** A stream on which nothing else is sent says so often that it is alive [ms]. */
  heartbeatMs?: number
  /** After which the client connects anew, and its key is judged anew [ms]. */
  longestMs?: number
}

const EVERY_MS = 1000
const HEARTBEAT_MS = 15_000

/** What the route says of its live form. */
export const LIVE =
  '`Accept: text/event-stream` gives the answer as event `snapshot`, and again each time it has changed, at most once a second. The stream sends a heartbeat every 15 s and ends after 15 min: connect again.'

/**
 * What `read` answers, once; or, for who asks for events, again whenever it has changed. One key has a bounded number of such
 * streams, and each looks once a second however much happens; who does not read them is waited for, and nothing piles up.
 */
export async function liveAnswer<T extends object>(
  parts: LiveParts,
  context: Context,
  accept: string | string[] | undefined,
  read: () => Promise<T | Problem>,
): Promise<T | Problem | RawAnswer> {
  const first = await read()
  if (isProblem(first) || !wantsEventStream(accept)) return first
  const place = await parts.streams.take([limitOfKey(context)])
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
    // What was watched is gone.
    if (isProblem(next)) return
    const text = JSON.stringify(next)
    silence = text === last ? silence + 1 : 0
    if (text !== last) yield { event: 'snapshot', data: next }
    else if (silence % beats === 0) yield { comment: 'heartbeat' }
    last = text
  }
}
