import type { Context } from '../../http/context.ts'
import { isProblem, missing, type Problem, problem } from '../../http/errors.ts'
import type { RawAnswer } from '../../http/route.ts'
import { eventStream, type StreamEvent } from '../../http/wire/event-stream.ts'
import type { LiveParts } from '../../http/wire/live-answer.ts'
import { LONGEST_STREAM_MS, limitOfKey } from '../../http/wire/open-streams.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'
import type { Feed } from './feed.ts'
import { seqOf, toMessage } from './message-schema.ts'
import { findSession } from './records.ts'

/** Messages that are read at once. */
export const PAGE = 100
/** Messages of another node's session are looked for so often [ms]. */
const LOOK_MS = 1000
const HEARTBEAT_MS = 15_000

export interface StreamParts {
  store: Store
  feed: Feed
  live: LiveParts
}

/** The messages of a session behind this one, oldest first. */
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
 * The messages of a session as they are told, behind the one that the client had last. They are read from their rows, so that a stream
 * which broke goes on with the next one, at whichever process; who does not read is waited for, and nothing piles up.
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
  const place = await live.streams.take([limitOfKey(context)])
  if (isProblem(place)) return place
  const { heartbeatMs = HEARTBEAT_MS, longestMs = LONGEST_STREAM_MS } = live
  const limits = { heartbeatMs, longestMs, signal: place.signal }
  return eventStream(events({ store, feed }, { tenant: context, sessionId, after }, limits), place.leave)
}

/** A model may still sum it up. */
const isClosing = ({ deep }: CopilotSessionRow): boolean => deep !== null && Date.parse(deep) > Date.now()

/** The number of the last message that the client has. */
export function startOf(sessionId: string, lastId: string | undefined): number | Problem {
  if (lastId === undefined || lastId === '') return 0
  return (
    seqOf(sessionId, lastId) ??
    problem('parameter_invalid', 'This session has no such message.', { param: 'Last-Event-ID' })
  )
}

async function* events(
  { store, feed }: Pick<StreamParts, 'store' | 'feed'>,
  { tenant, sessionId, after }: { tenant: Tenant; sessionId: string; after: number },
  { heartbeatMs, longestMs, signal }: { heartbeatMs: number; longestMs: number; signal: AbortSignal },
): AsyncGenerator<StreamEvent, void> {
  const until = performance.now() + longestMs
  let [last, silentSince] = [after, performance.now()]
  while (!signal.aborted && performance.now() < until) {
    // Before it reads: what is told meanwhile is told of.
    const next = feed.next(sessionId, LOOK_MS, signal)
    const session = await findSession(store.db, tenant, sessionId)
    const messages = await messagesAfter(store.db, tenant, sessionId, last)
    for (const row of messages) {
      yield { id: row.id, event: row.type, data: toMessage(row) }
      last = row.seq
    }
    if (messages.length > 0) silentSince = performance.now()
    if (messages.length === PAGE) continue
    // Nothing more will be told.
    if (session === undefined || (session.status !== 'running' && !isClosing(session))) return
    if (performance.now() - silentSince >= heartbeatMs) {
      silentSince = performance.now()
      yield { comment: 'heartbeat' }
    }
    await next
  }
}
