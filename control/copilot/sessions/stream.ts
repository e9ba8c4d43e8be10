import type { Context } from '../../http/context.ts'
import { invalid, isProblem, missing, type Problem } from '../../http/errors.ts'
import type { RawAnswer } from '../../http/route.ts'
import { eventStream, type StreamEvent } from '../../http/wire/event-stream.ts'
import type { LiveParts } from '../../http/wire/live-answer.ts'
import { LONGEST_STREAM_MS, limitsOfKey } from '../../http/wire/open-streams.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'
import type { Feed } from './feed.ts'
import { seqOf, toMessage } from './message-schema.ts'
import { findSession } from './records.ts'

/** Messages read per query. */
export const PAGE = 100
/** Interval of looking for messages that another node has written [ms]. */
const LOOK_MS = 1000
const HEARTBEAT_MS = 15_000

interface StreamParts {
  store: Store
  feed: Feed
  live: LiveParts
}

/** The messages of a session after this number, oldest first. */
export const messagesAfter = (db: Db, tenant: Tenant, sessionId: string, seq: number): Promise<CopilotMessageRow[]> =>
  forTenant(db, tenant)
    .select('copilot_messages')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(PAGE)
    .execute()

/**
 * Streams the messages of a session after the last one that the client has. They are read from their rows, so that a broken stream
 * continues with the next one, at any process, and nothing accumulates for a client that does not read.
 */
export async function streamMessages(
  { store, feed, live }: StreamParts,
  context: Context,
  sessionId: string,
  lastId: string | undefined,
): Promise<RawAnswer | Problem> {
  const row = await findSession(store.db, context, sessionId)
  if (row === undefined) return missing('copilot_session', sessionId)
  const after = startOf(sessionId, lastId)
  if (typeof after !== 'number') return after
  const place = await live.streams.take(limitsOfKey(context))
  if (isProblem(place)) return place
  const { heartbeatMs = HEARTBEAT_MS, longestMs = LONGEST_STREAM_MS } = live
  const limits = { heartbeatMs, longestMs, signal: place.signal }
  return eventStream(events({ store, feed }, { tenant: context, sessionId, after }, limits), place.leave)
}

/** Whether a model may still summarise the session. */
const isClosing = ({ deep }: CopilotSessionRow): boolean => deep !== null && Date.parse(deep) > Date.now()

/** The number of the last message that the client has. */
export function startOf(sessionId: string, lastId: string | undefined): number | Problem {
  if (lastId === undefined || lastId === '') return 0
  return seqOf(sessionId, lastId) ?? invalid('Last-Event-ID', 'This session has no such message.')
}

async function* events(
  { store, feed }: Pick<StreamParts, 'store' | 'feed'>,
  { tenant, sessionId, after }: { tenant: Tenant; sessionId: string; after: number },
  { heartbeatMs, longestMs, signal }: { heartbeatMs: number; longestMs: number; signal: AbortSignal },
): AsyncGenerator<StreamEvent, void> {
  const until = performance.now() + longestMs
  let [last, silentSince] = [after, performance.now()]
  while (!signal.aborted && performance.now() < until) {
    // Registered before reading, so that messages written meanwhile wake it.
    const next = feed.next(sessionId, LOOK_MS, signal)
    const session = await findSession(store.db, tenant, sessionId)
    const messages = await messagesAfter(store.db, tenant, sessionId, last)
    for (const row of messages) {
      yield { id: row.id, event: row.type, data: toMessage(row) }
      last = row.seq
    }
    if (messages.length > 0) silentSince = performance.now()
    if (messages.length === PAGE) continue
    // No more messages will follow.
    if (session === undefined || (session.status !== 'running' && !isClosing(session))) return
    if (performance.now() - silentSince >= heartbeatMs) {
      silentSince = performance.now()
      yield { comment: 'heartbeat' }
    }
    await next
  }
}
