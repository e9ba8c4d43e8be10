import Type, { type Static } from 'typebox'
import type { CaptureState, Target } from '../../media/protocol.ts'
import { appendEvent, type Cause } from '../kernel/events/log.ts'
import { nullable, timestamp } from '../kernel/schema.ts'
import { written } from '../kernel/store/after-commit.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { loadLeg } from './records.ts'
import type { Of } from './steps/event-handler.ts'
import { follow } from './steps/follow.ts'
import type { CallRow, CapturePauseRow, ParticipantRow } from './tables.ts'

/** Specification, "CallPci". */
export const callPciSchema = Type.Object({
  object: Type.Literal('call_pci'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  paused: Type.Boolean({ description: 'Recording and transcription are paused for a payment.' }),
  reason: nullable(Type.String()),
  paused_at: nullable(timestamp()),
  resumes_at: nullable(timestamp('When the pause ends by itself.')),
  destination_participant_id: nullable(Type.String()),
})

export type CallPci = Static<typeof callPciSchema>

/** `pause` null: the call is running. */
export const toCallPci = (callId: string, livemode: boolean, pause: Omit<CapturePauseRow, 'id'> | null): CallPci => ({
  object: 'call_pci',
  call_id: callId,
  livemode,
  paused: pause !== null,
  reason: pause?.reason ?? null,
  paused_at: pause?.paused_at ?? null,
  resumes_at: pause?.resumes_at ?? null,
  destination_participant_id: pause?.destination_participant_id ?? null,
})

/** What media pauses for a call: its own leg, or the room of a session. Null: it has neither. */
export async function targetOf(db: Db, call: CallRow): Promise<Target | null> {
  if (call.kind === 'conference') return { roomId: call.id }
  const legs = forTenant(db, tenantOf(call)).select('participants').select('id').where('call_id', '=', call.id)
  const leg = await legs.where('ring_id', 'is', null).executeTakeFirst()
  return leg === undefined ? null : { legId: leg.id }
}

export const targetId = (target: Target): string => ('roomId' in target ? target.roomId : target.legId)

/** The running call that a media target belongs to. */
export async function callOfTarget(db: Db, target: Target): Promise<CallRow | undefined> {
  if ('roomId' in target) return db.selectFrom('calls').selectAll().where('id', '=', target.roomId).executeTakeFirst()
  return (await loadLeg(db, target.legId))?.call
}

/** The pauses of a call, the earliest first. */
export const pausesOf = (db: Db, tenant: Tenant, callId: string): Promise<CapturePauseRow[]> =>
  forTenant(db, tenant)
    .select('capture_pauses')
    .selectAll()
    .where('call_id', '=', callId)
    .orderBy('paused_at')
    .orderBy('id')
    .execute()

/** A card payment is being made in the call: nothing that is said or typed is for us. */
export async function isPaused(db: Db, tenant: Tenant, callId: string): Promise<boolean> {
  const pauses = forTenant(db, tenant).select('capture_pauses').select('id').where('call_id', '=', callId)
  return (await pauses.limit(1).executeTakeFirst()) !== undefined
}

/** The last pause of the call, and its event; undefined: there was none. */
export async function lastPause(
  db: Db,
  tenant: Tenant,
  callId: string,
): Promise<{ id: string; at: string } | undefined> {
  await written(db)
  return forTenant(db, tenant)
    .select('events')
    .select(['id', 'timestamp as at'])
    .where('call_id', '=', callId)
    .where('type', '=', 'call.pci.paused')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/**
 * Stores what media reports about the capture of a call's leg or room. Emits events when the call's first pause begins and when its last one ends.
 */
export async function applyCapture(
  trx: Trx,
  call: CallRow,
  { id, state, request }: { id: string; state: CaptureState; request?: Cause | undefined },
  at: string,
): Promise<void> {
  const tenant = tenantOf(call)
  const scoped = forTenant(trx, tenant)
  const before = await pausesOf(trx, tenant, call.id)
  const known = before.find(pause => pause.id === id)
  const { destinationLegId: line } = state
  if (known !== undefined && line !== null && line !== known.destination_participant_id) {
    await scoped.change('capture_pauses', id, { destination_participant_id: line })
  }
  if (state.paused === (known !== undefined)) return
  const base = { organisation_id: call.organisation_id, livemode: call.livemode, id, call_id: call.id }
  const after = state.paused
    ? {
        ...base,
        reason: state.reason,
        paused_at: state.pausedAt,
        resumes_at: state.resumesAt,
        destination_participant_id: state.destinationLegId,
      }
    : null
  if (after === null) await scoped.delete('capture_pauses').where('id', '=', id).execute()
  else await scoped.insert('capture_pauses', after)
  if (before.some(pause => pause.id !== id)) return
  await appendEvent(trx, tenant, {
    type: after === null ? 'call.pci.resumed' : 'call.pci.paused',
    at,
    object: toCallPci(call.id, tenant.livemode, after),
    callId: call.id,
    ...(request && { request }),
  })
}

/** Media has paused or resumed the capture of a call. */
export async function onCaptureChanged(trx: Trx, { body, at }: Of<'capture.changed'>): Promise<void> {
  const call = await callOfTarget(trx, body.target)
  if (call === undefined) return
  await applyCapture(trx, call, { id: targetId(body.target), ...body }, at)
  if (body.state.paused) await directKeys(trx, call)
}

/** A pause whose payment line is not there yet, or has gone, gets the one that is in its call. */
export async function directKeys(trx: Trx, call: CallRow): Promise<void> {
  const tenant = tenantOf(call)
  const pauses = await forTenant(trx, tenant)
    .select('capture_pauses')
    .select(['id', 'call_id'])
    .where(({ not, exists, selectFrom }) => {
      const present = selectFrom('participants').select('participants.id').where('left_at', 'is', null)
      return not(exists(present.whereRef('participants.id', '=', 'destination_participant_id')))
    })
    .execute()
  if (pauses.length === 0) return
  const present = await participantsOf(trx, tenant, call)
  const line = await paymentLineOf(trx, tenant, present)
  if (line === undefined) return
  const calls = new Set([call.id, ...present.flatMap(one => [one.call_id, one.session_call_id])])
  for (const { id, call_id } of pauses.filter(pause => calls.has(pause.call_id))) {
    const target: Target = id === call_id ? { roomId: id } : { legId: id }
    follow(trx, call.id, async ({ media }) => {
      await media.request('capture.direct', { target, destinationLegId: line.id })
    })
  }
}

/** A party whom we called has gone: where it was the payment line, another one in the call gets the keys. */
export async function passKeys(trx: Trx, participant: ParticipantRow): Promise<void> {
  const scoped = forTenant(trx, tenantOf(participant))
  const pauses = scoped.select('capture_pauses').select('call_id')
  for (const { call_id } of await pauses.where('destination_participant_id', '=', participant.id).execute()) {
    const call = await scoped.find('calls', call_id)
    if (call !== undefined) await directKeys(trx, call)
  }
}

/** Whether a number is marked as a payment number. */
export async function isPaymentNumber(db: Db, tenant: Tenant, number: string): Promise<boolean> {
  const numbers = forTenant(db, tenant).select('phone_numbers').select('id').where('number', '=', number)
  return (await numbers.where('payment_line', '=', 1).executeTakeFirst()) !== undefined
}

/**
 * We called the party there, as a call of its own or for this one. A party that has dialled the number is its caller, and a caller's own
 * number is only a claim.
 */
export async function isOnPaymentNumber(db: Db, tenant: Tenant, participant: ParticipantRow): Promise<boolean> {
  if (participant.ring_id !== null) return isPaymentNumber(db, tenant, participant.address ?? '')
  const own = await forTenant(db, tenant).find('calls', participant.call_id)
  return own?.direction === 'outbound' && isPaymentNumber(db, tenant, own.to_address)
}

/** Whoever of these is at one of the organisation's payment numbers. */
export async function paymentLineOf(
  db: Db,
  tenant: Tenant,
  present: ParticipantRow[],
): Promise<ParticipantRow | undefined> {
  for (const participant of present) if (await isOnPaymentNumber(db, tenant, participant)) return participant
  return undefined
}

/** The participants of the call, or of its session. */
export async function participantsOf(db: Db, tenant: Tenant, call: CallRow): Promise<ParticipantRow[]> {
  const participants = forTenant(db, tenant).select('participants').selectAll().where('left_at', 'is', null)
  if (call.kind === 'conference') return participants.where('session_call_id', '=', call.id).execute()
  const own = await participants.where('call_id', '=', call.id).execute()
  const session = own[0]?.session_call_id ?? null
  return session === null ? own : participants.where('session_call_id', '=', session).execute()
}
