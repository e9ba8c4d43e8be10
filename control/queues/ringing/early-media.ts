import { isFailure } from '../../../media/protocol.ts'
import { ownRoom } from '../../calls/conductor/leg-rooms.ts'
import { ringCaller } from '../../calls/conductor/ring-caller.ts'
import { failureOf, type Sent } from '../../calls/conductor/sender.ts'
import { findLeg, type LegChange, mainLeg, setLeg } from '../../calls/legs.ts'
import { loadLeg } from '../../calls/records.ts'
import { follow } from '../../calls/steps/follow.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { ringback } from '../../calls/tones.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { CommandPort } from '../../media-link/events.ts'
import { findCall } from '../waiting-calls.ts'
import { findRing, legsOfRing, mainRing } from './rings.ts'

/** What a party hears before the answer: our ringback tone, or early media of the far end. */

/** Early media of a far end that we call has begun or, with `isHeard` false, ended. */
export async function heardEarly(trx: Trx, leg: ParticipantRow, isHeard: boolean): Promise<void> {
  const tenant = tenantOf(leg)
  if (leg.step !== 'dialing' && leg.step !== 'to_dial') return
  const early = forTenant(trx, tenant)
    .update('participants')
    .set({ early: isHeard ? 1 : 0 })
  await early.where('id', '=', leg.id).execute()
  const ring = leg.ring_id === null ? undefined : await findRing(trx, tenant, leg.ring_id)
  if (ring === undefined) return heardByWhoCalls(trx, tenant, leg, isHeard)
  if (ring.state !== 'ringing') return
  const caller = await mainLeg(trx, tenant, ring.call_id)
  if (caller?.step === 'calling') return setLeg(trx, tenant, caller.id, hearing(caller, isHeard))
  // The member who consults, or a flow's caller, waits in the call's room.
  const isTold = ring.purpose === 'consult' || ring.purpose === 'led'
  const call = isTold && isHeard ? await findCall(trx, tenant, ring.call_id) : undefined
  if (call === undefined || caller === undefined) return
  follow(trx, call.id, async ({ media }) => {
    if (isFailure(await media.request('leg.move', into(leg.id, ownRoom(call))))) return
    if (ring.purpose === 'led') await media.request('leg.stop_play', { legId: caller.id })
  })
}

/** An agent who waits for the called party hears its early media. `isHeard` null: it rings, which the agent's unanswered phone is told. */
export async function heardByWhoCalls(trx: Trx, tenant: Tenant, leg: ParticipantRow, isHeard: boolean | null) {
  const ring = await mainRing(trx, tenant, leg.call_id)
  const caller = ring?.state === 'talking' && (await findLeg(trx, tenant, ring.leg_id ?? ''))
  const isTold = caller && (isHeard !== null || (caller.step === 'calling' && isRung(caller)))
  if (isTold) await setLeg(trx, tenant, caller.id, hearing(caller, isHeard === true))
}

/** A caller who has heard early media needs our ringback tone after it: the caller's network no longer plays any. */
const hearing = (caller: ParticipantRow, isHeard: boolean): LegChange =>
  isHeard && isRung(caller) ? { unanswered: 'early_media' } : {}

/** Lets the caller hear that somebody is rung: by early media of the rung party if there is any, otherwise by our ringback tone. */
export async function hearRinging(
  db: Db,
  media: CommandPort<'leg.ring' | 'leg.move' | 'leg.play' | 'leg.stop_play'>,
  leg: ParticipantRow,
): Promise<Sent> {
  const rows = await loadLeg(db, leg.id)
  const heard = await heardOf(db, leg)
  if (rows === null) return null
  const { unanswered } = rows.participant
  const hearsUs = unanswered === 'early_media' || heard !== undefined
  const rung = !isRung(leg) ? null : await ringCaller(db, rows, media, hearsUs)
  if (rung !== null || (unanswered === 'when_answered' && !hearsUs)) return rung
  if (heard === undefined) return failureOf(await media.request('leg.play', await ringback(db, rows.call, leg.id)))
  const moved = failureOf(await media.request('leg.move', into(heard.id, ownRoom(rows.call))))
  return moved ?? failureOf(await media.request('leg.stop_play', { legId: leg.id }))
}

/** Whether the leg has called us and is unanswered. */
export const isRung = ({ unanswered }: ParticipantRow): boolean =>
  unanswered === 'when_answered' || unanswered === 'early_media'

/** The first of the rung legs that sends early media. */
async function heardOf(db: Db, leg: ParticipantRow): Promise<ParticipantRow | undefined> {
  const tenant = tenantOf(leg)
  const ring = await mainRing(db, tenant, leg.call_id)
  if (ring?.state !== 'ringing') return undefined
  return (await legsOfRing(db, tenant, ring.id)).find(({ early, step }) => early === 1 && step === 'dialing')
}

/** A party for whom somebody is called hears our ringback tone until that one sends early media or answers. */
export async function hearCalled(
  db: Db,
  media: CommandPort<'leg.ring' | 'leg.play' | 'leg.stop_play'>,
  leg: ParticipantRow,
): Promise<Sent> {
  const tenant = tenantOf(leg)
  const called = await mainLeg(db, tenant, leg.call_id)
  const rows = leg.step === 'calling' && isRung(leg) ? await loadLeg(db, leg.id) : null
  // Nothing rings yet: the far end may not know the number.
  if (leg.unanswered === 'when_answered' && called?.early !== 1 && rows?.call.ringing_at === null) return null
  const rung = rows === null ? null : await ringCaller(db, rows, media, called?.early === 1)
  if (rung !== null || (rows !== null && leg.unanswered === 'when_answered')) return rung
  const isRinging = called === undefined || (['to_dial', 'dialing'].includes(called.step) && called.early === 0)
  const call = isRinging ? await findCall(db, tenant, leg.call_id) : undefined
  if (call !== undefined) return failureOf(await media.request('leg.play', await ringback(db, call, leg.id)))
  return failureOf(await media.request('leg.stop_play', { legId: leg.id }))
}

const into = (legId: string, room: ReturnType<typeof ownRoom>) => ({ legId, room, mustExist: true, muted: false })
