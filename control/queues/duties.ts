import type { EndedReason } from '../../media/protocol.ts'
import { setLeg } from '../calls/legs.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import { rowsOf } from '../kernel/store/compiled.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { tenantOf } from '../kernel/tenancy.ts'
import { endWrapUp, wrapUpsOver } from './agent-status.ts'
import { ringsOfShutOut } from './agents/shut-out.ts'
import type { Step } from './deps.ts'
import { mayComeBack } from './lost-devices.ts'
import { legless } from './ringing/late-devices.ts'
import type { RingRow } from './tables.ts'

/** Does what becomes due by time alone. The times are in the database, so a restart loses nothing. */
export async function doDuties(
  db: Db,
  now: Date,
  waitingSince: string | null,
  step: Step,
  fail: (trx: Trx, ring: RingRow, reason: EndedReason) => Promise<void>,
): Promise<void> {
  const at = now.toISOString()
  for (const row of await wrapUpsOver(db, at)) await step(null, trx => endWrapUp(trx, row, at))
  for (const leg of await placesDue(db, at)) await step(leg.call_id, trx => setLeg(trx, tenantOf(leg), leg.id, {}))
  for (const leg of await ringingTooLong(db, now)) {
    await step(leg.call_id, trx => setLeg(trx, tenantOf(leg), leg.id, { unanswered: 'now' }))
  }
  // Media ends rings that time out. These are rings that were recalled, or of which media never learnt, so they are not missed calls.
  // Events that wait since the database was unavailable are handled first: one may be an answer.
  const late = await lateRings(db, waitingSince !== null && waitingSince < at ? waitingSince : at)
  await failAll(late, 'media_failed', step, fail)
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

/** Carriers give up a call that is unanswered for three minutes, so a waiting one is answered before that [ms]. */
const MAX_RINGING_MS = 150_000

/** Unanswered callers of this node who have waited for that long. */
const ringingTooLong = (db: Db, now: Date): Promise<ParticipantRow[]> =>
  rowsOf(
    db,
    'ringing too long',
    place =>
      db
        .selectFrom('participants')
        .selectAll()
        .where('node_id', '=', place('node'))
        .where('step', 'in', ['queued', 'calling'])
        .where('unanswered', 'in', ['when_answered', 'early_media'])
        .where('created', '<=', place('since'))
        .orderBy('id'),
    { node: nodeOf(db), since: new Date(now.getTime() - MAX_RINGING_MS).toISOString() },
  )

/** Fails each ring in a step of its own, unless its state has changed by then. */
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

/** Callers of this node whose position is to be announced again. */
const placesDue = (db: Db, at: string): Promise<ParticipantRow[]> =>
  rowsOf(
    db,
    'places due',
    place =>
      db
        .selectFrom('queue_calls')
        .innerJoin('participants', 'participants.id', 'queue_calls.leg_id')
        .selectAll('participants')
        .where('participants.node_id', '=', place('node'))
        .where('participants.step', '=', 'queued')
        .where('participants.prompted', '=', 1)
        .where('queue_calls.announce_at', '<=', place('at'))
        .whereRef('queue_calls.announce_at', '!=', 'queue_calls.joined_at')
        .orderBy('participants.id'),
    { node: nodeOf(db), at },
  )

/** Unanswered rings of this node past their deadline. Only its media process knows them; those of a lost node end with it. */
const lateRings = (db: Db, at: string): Promise<RingRow[]> =>
  rowsOf(
    db,
    'late rings',
    place =>
      db
        .selectFrom('rings')
        .selectAll()
        .where('state', '=', 'ringing')
        .where('node_id', '=', place('node'))
        .where('deadline', '<=', place('at'))
        .orderBy('id'),
    { node: nodeOf(db), at },
  )

/** Rings for callbacks that were cancelled, completed or expired while the agent's phone rang, or are offered to another agent by now. */
const unwanted = (db: Db): Promise<RingRow[]> =>
  rowsOf(
    db,
    'unwanted rings',
    () =>
      db
        .selectFrom('rings')
        .innerJoin('callbacks', 'callbacks.id', 'rings.callback_id')
        .selectAll('rings')
        .where('rings.state', '=', 'ringing')
        .where(({ eb, or, ref }) =>
          or([
            eb('callbacks.status', 'not in', ['offered', 'dialing', 'connected']),
            eb('callbacks.call_id', '!=', ref('rings.call_id')),
          ]),
        ),
    {},
  )
