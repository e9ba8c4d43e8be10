import { roomProblem } from '../calls/conductor/rooms/room-door.ts'
import { outsideProblem, strayProblem } from '../calls/dial.ts'
import { findLeg, mainLeg, setLeg } from '../calls/legs.ts'
import { hasEnded } from '../calls/running-call.ts'
import { isLeadable, STEPS } from '../calls/steps/table.ts'
import type { CallRow, ParticipantRow } from '../calls/tables.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { CallCentreParts } from './deps.ts'
import { mayComeBack } from './lost-devices.ts'
import { tellHearers } from './ringing/bridge.ts'
import { wayOn } from './ringing/dial.ts'
import { meet, tellHold } from './ringing/holding.ts'
import { endRingsOf, takeOver } from './ringing/purposes.ts'
import { finishRing, isAsking, isCaller, mainRing, ringsOf } from './ringing/rings.ts'
import { answererOf, changePlaces, type Side } from './ringing/sides.ts'
import type { RingRow } from './tables.ts'
import { isProgram, leadTo, type RungParty, ringParty, type Target, tellCall } from './targets.ts'
import { askFarEnd, followedBy } from './transfers/out.ts'
import { findCall, leaveQueue } from './waiting-calls.ts'

/** Operations of the API on a running call. Each is one transaction and returns a problem, or null. */

export interface Handling {
  deps: CallCentreParts
  trx: Trx
  tenant: Tenant
  callId: string
  at: string
}

type Found = { call: CallRow; leg: ParticipantRow }

async function findLeadable({ trx, tenant, callId }: Handling): Promise<Found | Problem> {
  const call = await findCall(trx, tenant, callId)
  if (call === undefined) return missing('call', callId)
  const leg = await mainLeg(trx, tenant, callId)
  const isFound = call.ended_at === null && leg !== undefined && isLeadable(leg.step)
  return isFound ? { call, leg } : unled(call, leg)
}

const isInRoom = (call: CallRow, leg: ParticipantRow | undefined): boolean =>
  call.kind === 'conference' || (leg !== undefined && STEPS[leg.step].leads === 'room')

/** Why a call cannot be acted on. */
function unled(call: CallRow, leg: ParticipantRow | undefined): Problem {
  if (call.ended_at !== null) return hasEnded()
  if (leg?.step === 'consent') {
    return conflict('being_asked', 'The recording announcement or question is being played to the caller.')
  }
  if (isInRoom(call, leg)) {
    const path = `/v1/conference_rooms/${call.room_id}/participants`
    const words = 'The call is in a conference room, where calls are neither transferred nor supervised.'
    return conflict('in_room', `${words} ${path} holds and removes participants, and dials in others.`)
  }
  if (call.answered_at === null || leg === undefined) return conflict('not_running', 'The call is not answered yet.')
  return conflict('not_running', `Not now: the party of the call ${STEPS[leg.step].means}.`)
}

// ---------------------------------------------------------------------------------------------------- transfer

/** Blind: the member who transfers becomes free at once, and the other party is led to the target. */
export async function transferBlind(
  handling: Handling,
  target: Target,
  side: Side = 'answerer',
): Promise<Problem | null> {
  const { deps, trx, tenant, callId, at } = handling
  const before = await findLeadable(handling)
  if ('problem' in before) return before
  const connection = side === 'answerer' && target.type === 'number' ? await followedBy(trx, tenant, before.leg) : null
  const refused = await targetProblem(handling, target, connection === null ? before.call : null)
  if (refused !== null) return refused
  if (connection !== null && target.type === 'number') {
    const asking = { callId, leg: before.leg, connection, to: target.to, inPlaceOf: null, at }
    return askFarEnd(deps, trx, tenant, asking)
  }
  // If the member is the caller, the two parties swap roles first.
  const unchanged = side === 'caller' ? await changePlaces(trx, tenant, callId) : null
  if (unchanged !== null) return unchanged
  const found = await findLeadable(handling)
  if ('problem' in found) return found
  await leaveQueue(trx, tenant, callId, { outcome: 'transferred', at })
  const others = (await ringsOf(trx, tenant, callId)).filter(ring => !isCaller(ring) && ring.purpose !== 'supervise')
  await endRingsOf(trx, tenant, others, { reason: 'transfer_completed', at })
  if (found.leg.on_hold === 1) await setLeg(trx, tenant, found.leg.id, { on_hold: 0 })
  await tellHold(trx, tenant, callId, { at })
  // A program that follows another one takes the call from it.
  if (!isProgram(target)) await deps.led?.letGo(trx, tenant, callId, at)
  await leadTo(deps, trx, tenant, { callId, legId: found.leg.id, at }, target, 'transfer')
  await tellCall(trx, tenant, callId, { type: 'call.transferred', at })
  return null
}

/** A caller led to a target that cannot be called would be hung up on. `call`: has the calling number; null: the far end calls. */
async function targetProblem(handling: Handling, target: Target, call: CallRow | null): Promise<Problem | null> {
  const { deps, trx, tenant } = handling
  if (target.type === 'user') return unreachable(handling, target.id)
  if (target.type === 'room') {
    const room = await forTenant(trx, tenant).find('conference_rooms', target.id)
    return room === undefined ? null : roomProblem(trx, room, { now: new Date(handling.at), isInvited: false })
  }
  if (target.type !== 'number') return null
  const unwanted = await outsideProblem(trx, tenant, target.to)
  if (unwanted !== null || call === null || !tenant.livemode) return unwanted
  const way = strayProblem(deps.streams, target.to) ?? (await wayOn(deps, trx, tenant, { call, to: target.to }))
  return 'problem' in way ? way : null
}

async function unreachable({ deps, trx, tenant, at }: Handling, userId: string): Promise<Problem | null> {
  const now = new Date(at)
  const devices = await deps.devicesOf(trx, tenant, userId, now)
  if (devices.length === 0 && !(await mayComeBack(trx, tenant, userId, now))) {
    return conflict('agent_unreachable', 'The member has no phone or softphone that can ring.')
  }
  const ring = await forTenant(trx, tenant).findBy('rings', { open_user: userId })
  return ring === undefined ? null : conflict('agent_busy', 'The member is on another call.')
}

/** Attended: rings the target for a consultation, while the caller is on hold. */
export async function transferAttended(handling: Handling, target: RungParty): Promise<Problem | null> {
  const { deps, trx, tenant, callId, at } = handling
  const found = await findLeadable(handling)
  if ('problem' in found) return found
  const rings = await ringsOf(trx, tenant, callId)
  if (rings.find(ring => ring.open_call !== null)?.state !== 'talking') {
    return conflict('no_agent', 'No agent is talking with the caller, so nobody can consult the target first.')
  }
  if (rings.some(isAsking)) return conflict('already_consulting', 'A consultation is already in progress.')
  const refused = await targetProblem(handling, target, found.call)
  if (refused !== null) return refused
  const ring = await ringParty(deps, trx, tenant, { callId, target, purpose: 'consult', at })
  if (ring === null) return conflict('agent_busy', 'The member is on another call.')
  await setLeg(trx, tenant, found.leg.id, { on_hold: 1 })
  await tellHold(trx, tenant, callId, { at })
  return null
}

/** By a phone's REFER: the target is rung while the other party is on hold. The member keeps the call until the target answers. */
export async function transferReferred(
  handling: Handling,
  target: RungParty,
  side: Side,
  replaces: string | null,
): Promise<RingRow | Problem> {
  const { deps, trx, tenant, callId, at } = handling
  const before = await findLeadable(handling)
  if ('problem' in before) return before
  const refused = await targetProblem(handling, target, before.call)
  if (refused !== null) return refused
  const unchanged = side === 'caller' ? await changePlaces(trx, tenant, callId) : null
  if (unchanged !== null) return unchanged
  const found = await findLeadable(handling)
  if ('problem' in found) return found
  if ((await ringsOf(trx, tenant, callId)).some(isAsking)) {
    return conflict('already_consulting', 'A consultation is already in progress.')
  }
  const asked = { callId, target, purpose: 'referred' as const, at, replaces: replaces ?? undefined }
  const ring = await ringParty(deps, trx, tenant, asked)
  if (ring === null) return conflict('agent_busy', 'The member is on another call.')
  await setLeg(trx, tenant, found.leg.id, { on_hold: 1 })
  await tellHold(trx, tenant, callId, { at })
  return ring
}

/** `complete`: the caller talks with the consulted party, or hears ringback until it answers. `cancel`: the caller talks with the agent again. */
export async function endConsultation(handling: Handling, how: 'complete' | 'cancel'): Promise<Problem | null> {
  const { trx, tenant, callId, at } = handling
  const found = await findLeadable(handling)
  if ('problem' in found) return found
  const rings = await ringsOf(trx, tenant, callId)
  const asked = rings.find(ring => ring.purpose === 'consult')
  if (asked === undefined) return conflict('not_consulting', 'No consultation is in progress for this call.')
  const joined = how === 'complete' ? await joinedAtFarEnd(handling, found, asked) : null
  if (joined !== null) return joined === 'asked' ? null : joined
  if (how === 'complete') {
    const talking = rings.filter(ring => ring.open_call !== null)
    await endRingsOf(trx, tenant, talking, { reason: 'transfer_completed', at })
    await takeOver(trx, tenant, asked, { at })
    return null
  }
  await endRingsOf(trx, tenant, [asked], { reason: 'api_hangup', at })
  await meet(trx, tenant, callId, { at })
  return null
}

/** If both calls are on one connection whose `transfers` is `follow`, asks the far end to join them. Null: they stay with us. */
async function joinedAtFarEnd(
  { deps, trx, tenant, callId, at }: Handling,
  { leg }: Found,
  asked: RingRow,
): Promise<Problem | 'asked' | null> {
  const other =
    asked.state !== 'talking' || asked.leg_id === null ? undefined : await findLeg(trx, tenant, asked.leg_id)
  const connection = other?.connection_id === leg.connection_id ? await followedBy(trx, tenant, leg) : null
  if (connection === null || other === undefined) return null
  const asking = { callId, leg, connection, to: other.address ?? '', inPlaceOf: other.id, at }
  return (await askFarEnd(deps, trx, tenant, asking)) ?? 'asked'
}

// ---------------------------------------------------------------------------------------------------- hold

/** Puts the other party on hold, or takes it off hold. */
export async function hold(handling: Handling, isHeld: boolean, side: Side = 'answerer'): Promise<Problem | null> {
  const { trx, tenant, callId, at } = handling
  const found = await findLeadable(handling)
  if ('problem' in found) return found
  const leg = side === 'answerer' ? found.leg : await answererOf(trx, tenant, callId)
  if ('problem' in leg) return leg
  if (side === 'answerer' && leg.step !== 'connected' && leg.step !== 'settled') {
    return conflict('not_connected', `No agent talks with the caller, who ${STEPS[leg.step].means}.`)
  }
  if ((leg.on_hold === 1) === isHeld) {
    if (isHeld) return conflict('already_held', 'The call is already on hold.')
    const isByOther = found.call.status === 'held'
    return conflict(
      'not_held',
      isByOther ? 'The other party holds, and only they can end it.' : 'The call is not on hold.',
    )
  }
  if ((await ringsOf(trx, tenant, callId)).some(isAsking)) {
    return conflict('already_consulting', 'A consultation is in progress: complete or cancel it first.')
  }
  await setLeg(trx, tenant, leg.id, { on_hold: isHeld ? 1 : 0 })
  await tellHold(trx, tenant, callId, { at })
  return null
}

/** Ends the hold for the API, whichever of the two parties holds, or both. */
export async function unhold(handling: Handling): Promise<Problem | null> {
  const byCaller = await hold(handling, false, 'caller')
  const refused = await hold(handling, false)
  return byCaller === null ? null : refused
}

/** A far end has put us on hold in SDP, or taken us off. On the answerer's leg, or a calling member's, it has the effect of `hold` by the API. */
export async function holdByPhone(handling: Handling, legId: string, isHeld: boolean): Promise<void> {
  const { trx, tenant, callId, at } = handling
  const holds = { holds: isHeld ? 1 : 0 }
  await forTenant(trx, tenant).change('participants', legId, holds)
  const ring = (await ringsOf(trx, tenant, callId)).find(one => one.leg_id === legId)
  // Supervisors and consulted parties cannot put the caller on hold.
  const isParty = ring !== undefined && (ring.open_call !== null || isCaller(ring))
  if (isParty) await hold(handling, isHeld, isCaller(ring) ? 'caller' : 'answerer')
  await tellHold(trx, tenant, callId, { at })
}

// ---------------------------------------------------------------------------------------------------- supervision

export type SuperviseMode = 'monitor' | 'whisper' | 'barge' | 'stop'

/** Rings a supervisor into the call, or changes the mode of one who is in it. Returns the ring, or null when it has stopped. */
export async function supervise(
  handling: Handling,
  { mode, userId }: { mode: SuperviseMode; userId: string },
): Promise<RingRow | null | Problem> {
  const { deps, trx, tenant, callId, at } = handling
  const call = await findCall(trx, tenant, callId)
  if (call === undefined) return missing('call', callId)
  const leg = await mainLeg(trx, tenant, callId)
  const rings = await ringsOf(trx, tenant, callId)
  const there = rings.find(ring => ring.purpose === 'supervise' && ring.user_id === userId)
  const isInProgress = call.ended_at === null && call.answered_at !== null
  if (!isInProgress || (there === undefined && isInRoom(call, leg))) return unled(call, leg)
  if (mode === 'whisper' && (await mainRing(trx, tenant, callId))?.state !== 'talking') {
    return conflict('no_agent', 'No agent is talking with the caller, so there is nobody to whisper to.')
  }
  if (mode === 'stop') {
    if (there === undefined) return conflict('not_supervising', 'The member is not supervising this call.')
    await finishRing(trx, tenant, there, { reason: 'api_hangup' })
    return null
  }
  if (there !== undefined) {
    await forTenant(trx, tenant).change('rings', there.id, { mode })
    return { ...there, mode }
  }
  const refused = await unreachable(handling, userId)
  if (refused !== null) return refused
  const target = { type: 'user' as const, id: userId }
  const ring = await ringParty(deps, trx, tenant, { callId, target, purpose: 'supervise', mode, at })
  return ring ?? conflict('agent_busy', 'The member is on another call.')
}

/** After a reconnect to media: a mode that was changed meanwhile has not got there. */
export async function resumeSupervision(db: Db, media: MediaPort): Promise<void> {
  const there = db.selectFrom('rings').selectAll().where('purpose', '=', 'supervise').where('state', '=', 'talking')
  for (const ring of await there.where('node_id', '=', nodeOf(db)).execute()) await tellHearers(db, media, ring)
}
