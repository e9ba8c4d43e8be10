import { isFailure, type SipLegTrace } from '../../../media/protocol.ts'
import { missing, type Problem } from '../../http/errors.ts'
import { otherNode } from '../../http/wire/other-nodes.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { CommandPort } from '../../media-link/events.ts'
import { mediaUnavailable } from '../dial.ts'
import type { CallRow, ParticipantRow } from '../tables.ts'
import { unpacked } from './trace-keeper.ts'

/** By then the trace of an ended leg is stored: media waits for late messages, then control fetches it [ms]. */
const STORED_MS = 15_000
/** The latest legs of a call are shown; a session may have had any number. */
const MAX_LEGS = 200

export interface TraceDeps {
  store: Store
  media: CommandPort<'sip.trace_read' | 'leg.trace_packets'>
  now: () => Date
}

type TracedLeg = Pick<ParticipantRow, 'id' | 'left_at' | 'node_id' | 'step'>

/** Past and present legs of a call; for a conference session, all of its legs. */
export const tracedLegs = (db: Db, tenant: Tenant, call: CallRow): Promise<TracedLeg[]> =>
  forTenant(db, tenant)
    .select('participants')
    .select(['id', 'left_at', 'node_id', 'step'])
    .where(call.kind === 'conference' ? 'session_call_id' : 'call_id', '=', call.id)
    .orderBy('id', 'desc')
    .limit(MAX_LEGS)
    .execute()

/** The traces of a call's legs: stored ones of ended legs, media's for the others. */
export async function traceOf(deps: TraceDeps, tenant: Tenant, callId: string): Promise<SipLegTrace[] | Problem> {
  const { store, media, now } = deps
  const call = await forTenant(store.db, tenant).find('calls', callId)
  if (call === undefined) return missing('call', callId)
  const legs = await tracedLegs(store.db, tenant, call)
  if (legs.length === 0) return []
  const ids = legs.map(({ id }) => id)
  const rows = await forTenant(store.db, tenant).select('sip_traces').selectAll().where('id', 'in', ids).execute()
  const traces = await Promise.all(rows.map(unpacked))
  const since = new Date(now().getTime() - STORED_MS).toISOString()
  const fresh = legs.filter(leg => isFresh(leg, call, since) && !rows.some(({ id }) => id === leg.id))
  const far = fresh.find(({ node_id }) => node_id !== null && node_id !== nodeOf(store.db))
  if (far !== undefined) return otherNode(far.node_id!)
  for (const { id: legId } of fresh) {
    const reply = await media.request('sip.trace_read', { legId })
    if (isFailure(reply)) return mediaUnavailable(reply.message)
    if (reply.trace !== null) traces.push(reply.trace)
  }
  return traces
}

/** Media may have messages that are not stored yet. */
const isFresh = ({ left_at, step }: TracedLeg, call: CallRow, since: string): boolean => {
  const over = left_at ?? (step === 'ended' ? call.ended_at : null)
  return over === null || over > since
}
