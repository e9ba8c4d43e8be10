import type { EventName, MediaEvent } from '../../../media/protocol.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import { awaitsConsent } from '../capture/call-capture.ts'
import { startOf } from '../duration.ts'
import { writeLeg } from '../legs.ts'
import { applyToLeg, insertRecording, loadLeg } from '../records.ts'
import { type Decision, type LegRows, messageOver } from '../steps/decide.ts'
import type { Of } from '../steps/event-handler.ts'
import type { CallRow } from '../tables.ts'
import {
  type AnsweredBy,
  actionFor,
  type CallAnsweredBy,
  type MachineMessage,
  type StoredAnswering,
  storedAnswering,
} from './schema.ts'

/** Events that may put a call on hold for detection, or release it. */
export const DETECTED_BY: ReadonlySet<EventName> = new Set(['leg.answered', 'leg.answered_by', 'leg.ended'])

/**
 * Holds a call until detection has finished: its answer is passed on to flows, queues and rooms, and announced, only then, with the original
 * time of the answer. Returns the events for their handlers, in order.
 */
export async function passDetection(trx: Trx, event: MediaEvent): Promise<MediaEvent[]> {
  switch (event.name) {
    case 'leg.answered':
      return (await hold(trx, event.body.legId, event.at)) ? [] : [event]
    case 'leg.answered_by':
      return [event, ...(await released(trx, event.body.legId, event.body.answeredBy))]
    case 'leg.ended':
      return [...(await goneWhileHeld(trx, event.body.legId, event.at)), event]
    default:
      return [event]
  }
}

async function hold(trx: Trx, legId: string, at: string): Promise<boolean> {
  const rows = await loadLeg(trx, legId)
  if (rows === null) return false
  const { call, participant } = rows
  const settings = storedAnswering(call)
  const isHeld =
    settings?.hold_until_detected === true &&
    participant.ring_id === null &&
    // It may have answered before the row said that it was dialled.
    ['dialing', 'to_dial'].includes(participant.step) &&
    call.answered_at === null &&
    call.ended_at === null
  if (!isHeld) return false
  const answering = JSON.stringify({ ...settings, heldSince: at } satisfies StoredAnswering)
  await forTenant(trx, tenantOf(call)).change('calls', call.id, { ...startOf(trx), answering })
  await writeLeg(trx, tenantOf(call), legId, { step: 'detecting' })
  // Media has started the recording with the answer.
  if (call.record === 1 && !awaitsConsent(call)) await insertRecording(trx, call, at)
  return true
}

/** `by`: who answered. A call that the policy does not lead on stays held. */
async function released(trx: Trx, legId: string, by: AnsweredBy | null): Promise<MediaEvent[]> {
  const rows = await loadLeg(trx, legId)
  const since = rows === null ? undefined : heldSince(rows)
  if (rows === null || since === undefined || policyOf(rows, by) !== 'connect') return []
  await heldNoMore(trx, rows)
  return [{ name: 'leg.answered', at: since, body: { legId } }]
}

async function heldNoMore(trx: Trx, { call }: LegRows): Promise<void> {
  await forTenant(trx, tenantOf(call)).change('calls', call.id, { answering: notHeld(call) })
}

function notHeld(call: CallRow): string {
  const { heldSince: _over, ...settings } = storedAnswering(call)!
  return JSON.stringify(settings)
}

/** A machine that hangs up before its message. The call was answered, but is led nowhere. */
async function goneWhileHeld(trx: Trx, legId: string, at: string): Promise<MediaEvent[]> {
  const rows = await loadLeg(trx, legId)
  if (rows === null) return []
  const passed = await released(trx, legId, rows.call.answered_by)
  if (passed.length === 0 && heldSince(rows) !== undefined) await answeredUnled(trx, rows, messageOver(false), at)
  return passed
}

/** Marks the call as answered at the original time, without leading it anywhere: its leg goes to this step. */
async function answeredUnled(trx: Trx, rows: LegRows, participant: Decision['participant'], at: string): Promise<void> {
  const answered_at = heldSince(rows) ?? at
  const call = { status: 'in_progress', answered_at, answering: notHeld(rows.call) } as const
  await applyToLeg(trx, rows, { call, participant, events: ['call.answered'] }, answered_at)
}

const heldSince = ({ call }: LegRows): string | undefined =>
  call.ended_at === null ? storedAnswering(call)?.heldSince : undefined

/** Stores and announces who has answered, and applies the policy if it is not a person. */
export async function onAnsweredBy(trx: Trx, { body, at }: Of<'leg.answered_by'>): Promise<void> {
  const rows = await runningOf(trx, body.legId)
  if (rows === null || rows.call.answered_by !== null) return
  const { call } = rows
  await forTenant(trx, tenantOf(call)).change('calls', call.id, { answered_by: body.answeredBy })
  const object: CallAnsweredBy = {
    object: 'call_answered_by',
    call_id: call.id,
    participant_id: body.legId,
    livemode: call.livemode === 1,
    answered_by: body.answeredBy,
    cause: body.cause,
    ms: body.ms,
  }
  await appendEvent(trx, tenantOf(call), { type: 'call.answered_by', at, object, callId: call.id })
  const isUnwanted = heldSince(rows) !== undefined && policyOf(rows, body.answeredBy) === 'hang_up'
  const known = { ...rows, call: { ...call, answered_by: body.answeredBy } }
  if (isUnwanted) await answeredUnled(trx, known, messageOver(false), at)
}

const policyOf = ({ call }: LegRows, by: AnsweredBy | null) => actionFor(storedAnswering(call)?.policy, by)

export async function onMessageEnded(trx: Trx, { body, at }: Of<'leg.message_ended'>): Promise<void> {
  const rows = await runningOf(trx, body.legId)
  if (rows === null) return
  const { call } = rows
  const object: MachineMessage = {
    object: 'call_machine_message',
    call_id: call.id,
    participant_id: body.legId,
    livemode: call.livemode === 1,
    ended: body.ended,
    ms: body.ms,
  }
  await appendEvent(trx, tenantOf(call), { type: 'call.machine.message_ended', at, object, callId: call.id })
  const isAwaited = heldSince(rows) !== undefined && policyOf(rows, call.answered_by) === 'leave_message'
  if (isAwaited) await answeredUnled(trx, rows, { step: 'messaging', prompted: 0 }, at)
}

async function runningOf(trx: Trx, legId: string): Promise<LegRows | null> {
  const rows = await loadLeg(trx, legId)
  return rows === null || rows.participant.step === 'ended' ? null : rows
}
