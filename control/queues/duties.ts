import type { EndedReason } from '../../media/protocol.ts'
import { tenantOf } from '../calls/records.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { endWrapUp, wrapUpsOver } from './agent-status.ts'
import { mayComeBack } from './agents/lost-devices.ts'
import { ringsOfShutOut } from './agents/shut-out.ts'
import type { Step } from './deps.ts'
import { legless } from './ringing/late-devices.ts'
import type { RingRow } from './tables.ts'

/** What becomes due by the clock alone: its time stands in the database, so that no restart loses it. */
export async function doDuties(
  db: Db,
  now: Date,
  step: Step,
  fail: (trx: Trx, ring: RingRow, reason: EndedReason) => Promise<void>,
): Promise<void> {
  const at = now.toISOString()
  for (const row of await wrapUpsOver(db, at)) await step(null, trx => endWrapUp(trx, row, at))
  if (await isPlaceDue(db, at)) await step(null, trx => announcePlaces(trx, at))
  // Media ends what rings too long: this is for what it never got to know, and nobody missed that.
  await failAll(await lateRings(db, at), 'media_failed', step, fail)
  for (const before of await legless(db)) {
    await step(before.call_id, async trx => {
      const ring = (await legless(trx)).find(({ id }) => id === before.id)
      if (ring === undefined || (await mayComeBack(trx, tenantOf(ring), ring.user_id ?? '', now))) return
      await fail(trx, ring, 'no_answer')
    })
  }
  await failAll(await unwanted(db), 'api_hangup', step, fail)
  await failAll(await ringsOfShutOut(db), 'api_hangup', step, fail)
}

/** Each in a step of its own, as it is by then. */
async function failAll(
  rings: readonly RingRow[],
  reason: EndedReason,
  step: Step,
  fail: (trx: Trx, ring: RingRow, reason: EndedReason) => Promise<void>,
): Promise<void> {
  for (const { id, state, call_id } of rings) {
    await step(call_id, async trx => {
      const ring = await trx.selectFrom('rings').selectAll().where('id', '=', id).executeTakeFirst()
      if (ring?.state === state) await fail(trx, ring, reason)
    })
  }
}

const placesDue = (db: Db, at: string) =>
  db
    .selectFrom('queue_calls')
    .select('leg_id')
    .where('announce_at', '<=', at)
    .whereRef('announce_at', '!=', 'joined_at')

const isPlaceDue = async (db: Db, at: string): Promise<boolean> =>
  (await placesDue(db, at).limit(1).executeTakeFirst()) !== undefined

/** Callers whose place in line is to be told again. */
async function announcePlaces(trx: Trx, at: string): Promise<void> {
  const due = placesDue(trx, at)
  await trx
    .updateTable('participants')
    .set({ prompted: 0 })
    .where('step', '=', 'queued')
    .where('prompted', '=', 1)
    .where('id', 'in', due.$castTo<{ leg_id: string }>())
    .execute()
}

const lateRings = (db: Db, at: string): Promise<RingRow[]> =>
  db.selectFrom('rings').selectAll().where('state', '=', 'ringing').where('deadline', '<=', at).orderBy('id').execute()

/** Of callbacks that were cancelled, completed or expired while the agent's phone rang. */
const unwanted = (db: Db): Promise<RingRow[]> =>
  db
    .selectFrom('rings')
    .innerJoin('callbacks', 'callbacks.id', 'rings.callback_id')
    .selectAll('rings')
    .where('rings.state', '=', 'ringing')
    .where('callbacks.status', 'not in', ['offered', 'dialing', 'connected'])
    .execute()
