import type { EndedReason } from '../../media/protocol.ts'
import { ringsOfShutOut } from '../agents/shut-out.ts'
import type { Trx } from '../store.ts'
import { endWrapUps } from './agent-status.ts'
import type { RingRow } from './tables.ts'

/** What becomes due by the clock alone: its time stands in the database, so that no restart loses it. */
export async function doDuties(
  trx: Trx,
  now: Date,
  fail: (ring: RingRow, reason: EndedReason) => Promise<void>,
  presence: (trx: Trx, now: Date) => Promise<void> = async () => {},
): Promise<void> {
  const at = now.toISOString()
  await endWrapUps(trx, at)
  await presence(trx, now)
  await announcePlaces(trx, at)
  const late = trx.selectFrom('rings').selectAll().where('state', '=', 'ringing').where('deadline', '<=', at)
  // Media ends what rings too long: this is for what it never got to know, and nobody missed that.
  for (const ring of await late.orderBy('id').execute()) await fail(ring, 'media_failed')
  for (const ring of await unwanted(trx)) await fail(ring, 'api_hangup')
  for (const ring of await ringsOfShutOut(trx)) await fail(ring, 'api_hangup')
}

/** Callers whose place in line is to be told again. */
async function announcePlaces(trx: Trx, at: string): Promise<void> {
  const due = trx
    .selectFrom('queue_calls')
    .select('leg_id')
    .where('announce_at', '<=', at)
    .whereRef('announce_at', '!=', 'joined_at')
  await trx
    .updateTable('participants')
    .set({ prompted: 0 })
    .where('step', '=', 'queued')
    .where('prompted', '=', 1)
    .where('id', 'in', due.$castTo<{ leg_id: string }>())
    .execute()
}

/** Of callbacks that were cancelled, completed or expired while the agent's phone rang. */
const unwanted = (trx: Trx): Promise<RingRow[]> =>
  trx
    .selectFrom('rings')
    .innerJoin('callbacks', 'callbacks.id', 'rings.callback_id')
    .selectAll('rings')
    .where('rings.state', '=', 'ringing')
    .where('callbacks.status', 'not in', ['offered', 'dialing', 'connected'])
    .execute()
