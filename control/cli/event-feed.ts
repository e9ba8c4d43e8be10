import { setTimeout as sleep } from 'node:timers/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { open, refusalOf, whole } from './client.ts'
import type { Account } from './profiles.ts'
import { type Failed, failed, isFailed } from './terminal.ts'

/** The server sends a heartbeat every 15 s; after this silence the connection counts as lost [ms]. */
const SILENT_MS = 50_000
const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 30_000
/** Maximum length of an event, far more than any has [bytes]. */
const MAX_EVENT = 4 * 1024 * 1024

interface FeedWishes {
  /** Patterns separated by commas; absent: all events. */
  types?: string | undefined
  /** ID of the last event that was received. */
  lastId?: string | undefined
  /** Override the constants above [ms]. */
  silentMs?: number
  firstWaitMs?: number
}

interface FeedListener {
  /** Connected, for the first time or again. */
  ready(): void
  /** The next event waits until this one has been handled. */
  event(type: string, data: string): Promise<void>
  /** The connection was lost for this reason, and is tried again. */
  lost(why: string): void
}

/**
 * Follows events until `signal` aborts. Returns why it cannot, otherwise null. After a lost connection it continues after the last handled
 * event, so that none is lost or repeated.
 */
export async function followEvents(
  account: Account,
  wishes: FeedWishes,
  listener: FeedListener,
  signal: AbortSignal,
): Promise<Failed | null> {
  const { firstWaitMs = FIRST_WAIT_MS } = wishes
  const state = { lastId: wishes.lastId ?? '', waitMs: firstWaitMs, hasBegun: false }
  while (!signal.aborted) {
    const end = await followOnce(account, { ...wishes, state, listener }, signal)
    if (signal.aborted) break
    if (!state.hasBegun || end.isFinal) return failed(end.why)
    if (end.why !== '') listener.lost(end.why)
    await sleep(end.waitMs ?? state.waitMs, undefined, { signal }).catch(() => {})
    state.waitMs = Math.min(MAX_WAIT_MS, state.waitMs * 2)
  }
  return null
}

interface Following extends FeedWishes {
  state: { lastId: string; waitMs: number; hasBegun: boolean }
  listener: FeedListener
}

interface End {
  /** Why the connection ended; empty: the server ended it as usual. */
  why: string
  /** Another attempt would fail too. */
  isFinal?: boolean
  waitMs?: number
}

async function followOnce(account: Account, following: Following, given: AbortSignal): Promise<End> {
  const { types, state, silentMs = SILENT_MS } = following
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), silentMs)
  const query = types === undefined ? '' : `?${new URLSearchParams({ types })}`
  const headers = {
    accept: 'text/event-stream',
    ...(state.lastId === '' ? {} : { 'last-event-id': state.lastId }),
  }
  const request = { method: 'GET', path: `/v1/events/stream${query}`, headers }
  try {
    const answer = await open(account, request, AbortSignal.any([given, silence.signal]))
    if (isFailed(answer)) return { why: silence.signal.aborted ? unheard(silentMs) : answer.error }
    if (answer.status !== 200) {
      const text = (await whole(answer))?.toString() ?? ''
      const retryS = Number(answer.headers['retry-after'])
      const isFinal = answer.status < 500 && answer.status !== 429
      return {
        why: refusalOf(account, answer.status, text).error,
        isFinal,
        ...(retryS > 0 ? { waitMs: retryS * 1000 } : {}),
      }
    }
    await read(answer.body, following, () => timer.refresh())
    return { why: '', waitMs: 0 }
  } catch (error) {
    return { why: silence.signal.aborted ? unheard(silentMs) : (error as Error).message }
  } finally {
    clearTimeout(timer)
  }
}

const unheard = (silentMs: number): string => `nothing was received for ${silentMs / 1000} s`

async function read(
  body: AsyncIterable<Uint8Array>,
  { state, listener, firstWaitMs = FIRST_WAIT_MS }: Following,
  alive: () => void,
) {
  const decoder = new TextDecoder()
  const found: EventSourceMessage[] = []
  const parser = createParser({ onEvent: message => void found.push(message), maxBufferSize: MAX_EVENT })
  for await (const chunk of body) {
    alive()
    parser.feed(decoder.decode(chunk, { stream: true }))
    for (const { event = '', data, id } of found.splice(0)) {
      if (event === 'ready') {
        state.hasBegun = true
        listener.ready()
      } else await listener.event(event, data)
      state.lastId = id ?? state.lastId
      state.waitMs = firstWaitMs
      alive()
    }
  }
}
