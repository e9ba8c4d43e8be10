import { isDeepStrictEqual } from 'node:util'
import { setLeg } from '../calls/legs.ts'
import type { CallRow } from '../calls/tables.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { elapsedMs, nodeOf, steadyMsOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { toQueueCall } from './call-schema.ts'
import { finishRing, mainRing } from './ringing/rings.ts'
import type { QueueSettings } from './settings/schema.ts'
import { settingsOf } from './settings/store.ts'
import type { QueueCallRow } from './tables.ts'

/** Callers who wait in queues: rows of `queue_calls`, and their events. */

type EventName = 'queue.call.joined' | 'queue.call.offered' | 'queue.call.left' | 'queue.call.overflowed'
type Told = { type: EventName; at: string; outcome?: string | null; waitMs?: number }

type Joining = Record<'callId' | 'legId' | 'queueId' | 'at', string> & { since?: string | undefined }

/** Adds a caller at the end of a queue, or before those who have joined it after `since`. */
export async function joinQueue(
  trx: Trx,
  tenant: Tenant,
  { callId, legId, queueId, at, since = at }: Joining,
): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const queue = await scoped.find('queues', queueId)
  const settings = queue === undefined ? null : settingsOf(queue)
  const row: QueueCallRow = {
    ...ownedBy(tenant),
    id: callId,
    queue_id: queueId,
    joined_at: since,
    joined_ms: since === at ? steadyMsOf(trx) : null,
    joined_on: nodeOf(trx),
    back_at: since === at ? null : at,
    offered_to: null,
    leg_id: legId,
    tried: '[]',
    overflow_at: settings && overflowAt(Date.parse(at), settings),
    announce_at: settings?.hold.announce_position === true ? since : null,
  }
  await scoped.delete('queue_calls').where('id', '=', callId).execute()
  await scoped.insert('queue_calls', row)
  await scoped.change('calls', callId, { target: 'queue', queue_id: queueId })
  await setLeg(trx, tenant, legId, { step: 'queued' })
  await tell(trx, tenant, row, { type: 'queue.call.joined', at })
}

/** Changed settings of a queue apply to its waiting callers: how long they may wait at once, and what they hear with the next duties. */
export async function applyToWaiting(
  trx: Trx,
  tenant: Tenant,
  queueId: string,
  { before, after, at }: { before: QueueSettings; after: QueueSettings; at: string },
): Promise<void> {
  const isHeld = isDeepStrictEqual(before.hold, after.hold)
  if (isHeld && before.max_wait_seconds === after.max_wait_seconds) return
  const scoped = forTenant(trx, tenant)
  const rows = await scoped.select('queue_calls').selectAll().where('queue_id', '=', queueId).execute()
  for (const { id, overflow_at: until, announce_at, joined_at, back_at } of rows) {
    const from = until === null ? Date.parse(back_at ?? joined_at) : Date.parse(until) - before.max_wait_seconds * 1000
    const overflow_at = overflowAt(from, after)
    await scoped.change('queue_calls', id, { overflow_at, announce_at: isHeld ? announce_at : at })
  }
}

const overflowAt = (fromMs: number, { max_wait_seconds: waitS }: QueueSettings): string | null =>
  waitS === 0 ? null : new Date(fromMs + waitS * 1000).toISOString()

/** When a call that has left this queue had joined it for the first time. */
export async function joinedBefore(db: Db, tenant: Tenant, callId: string, queueId: string) {
  const visits = forTenant(db, tenant).select('queue_visits').selectAll().where('call_id', '=', callId)
  const first = await visits.where('queue_id', '=', queueId).orderBy('left_at').executeTakeFirst()
  return first && new Date(Date.parse(first.left_at) - first.wait_ms).toISOString()
}

/** Offers a caller to an agent. False: the caller has left, or is offered to somebody else. */
export async function offerTo(trx: Trx, tenant: Tenant, callId: string, userId: string, at: string): Promise<boolean> {
  const scoped = forTenant(trx, tenant)
  const offer = scoped.update('queue_calls').set({ offered_to: userId }).where('id', '=', callId)
  const { numUpdatedRows } = await offer.where('offered_to', 'is', null).executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  const row = await scoped.find('queue_calls', callId)
  if (row !== undefined) await tell(trx, tenant, row, { type: 'queue.call.offered', at })
  return true
}

/** The agent did not take the call, which keeps its place in the queue. */
export async function offerFailed(trx: Trx, tenant: Tenant, callId: string, userId: string): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('queue_calls', callId)
  if (row === undefined) return
  const tried = [...new Set([...triedOf(row), userId])]
  await scoped.change('queue_calls', callId, { offered_to: null, tried: JSON.stringify(tried) })
}

/** Takes a call out of its queue; null: it is in none. */
export async function leaveQueue(
  trx: Trx,
  tenant: Tenant,
  callId: string,
  { outcome, at }: { outcome: string; at: string },
): Promise<QueueCallRow | null> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('queue_calls', callId)
  if (row === undefined) return null
  await scoped.delete('queue_calls').where('id', '=', callId).execute()
  const waitMs = waitedMs(trx, row, at)
  const visit = { queue_id: row.queue_id, call_id: callId, outcome, wait_ms: waitMs, left_at: at }
  await scoped.insert('queue_visits', visit)
  const isOverflow = outcome === 'disabled' || outcome === 'no_agents' || outcome === 'max_wait'
  const type = isOverflow ? 'queue.call.overflowed' : 'queue.call.left'
  await tell(trx, tenant, row, { type, at, outcome, waitMs })
  return row
}

/** As `leaveQueue`, and stops the phone that rings for the call, which does not count as missed. */
export async function stopWaiting(
  trx: Trx,
  tenant: Tenant,
  callId: string,
  left: { outcome: string; at: string },
): Promise<QueueCallRow | null> {
  const ring = await mainRing(trx, tenant, callId)
  if (ring?.state === 'ringing') await finishRing(trx, tenant, ring, { reason: 'caller_hangup' })
  return leaveQueue(trx, tenant, callId, left)
}

export const triedOf = ({ tried }: { tried: string | null }): string[] => JSON.parse(tried ?? '[]') as string[]

/** Position in the queue; 1 is the next to be answered. */
export async function positionOf(db: Db, tenant: Tenant, row: QueueCallRow): Promise<number> {
  const ahead = await forTenant(db, tenant)
    .select('queue_calls')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('queue_id', '=', row.queue_id)
    .where(eb =>
      eb.or([
        eb('joined_at', '<', row.joined_at),
        eb.and([eb('joined_at', '=', row.joined_at), eb('id', '<', row.id)]),
      ]),
    )
    .executeTakeFirst()
  return Number(ahead?.count ?? 0) + 1
}

async function tell(
  trx: Trx,
  tenant: Tenant,
  row: QueueCallRow,
  { type, at, outcome = null, waitMs = waitedMs(trx, row, at) }: Told,
): Promise<void> {
  const position = outcome === null ? await positionOf(trx, tenant, row) : 0
  await appendEvent(trx, tenant, {
    type,
    at,
    object: toQueueCall(row, { position, waitMs, outcome }),
    callId: row.id,
  })
}

/** How long a call has waited [ms]. */
export const waitedMs = (db: Db, row: QueueCallRow, now: string): number =>
  elapsedMs(db, { steadyMs: row.joined_ms, node: row.joined_on, at: row.back_at ?? row.joined_at }, now)

/** A call, running or ended. */
export const findCall = (db: Db, tenant: Tenant, id: string): Promise<CallRow | undefined> =>
  forTenant(db, tenant).find('calls', id)
