import type { EventName, MediaEvent } from '../../../media/protocol.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { awaitsConsent } from '../capture/call-capture.ts'
import type { LegRows } from '../conductor/decide.ts'
import type { Of } from '../conductor/event-handler.ts'
import { startOf } from '../duration.ts'
import { writeLeg } from '../legs.ts'
import { insertRecording, loadLeg, tenantOf } from '../records.ts'
import { type CallAnsweredBy, type MachineMessage, type StoredAnswering, storedAnswering } from './schema.ts'

/** What may hold a call, or lets one go on that is held. */
export const DETECTED_BY: ReadonlySet<EventName> = new Set(['leg.answered', 'leg.answered_by', 'leg.ended'])

/**
 * A call that is held until it is known who has answered: its answer is passed on to flows, queues and rooms, and told, only then, with the time
 * that it had. Returns the events for those who handle them, in their order.
 */
export async function passDetection(trx: Trx, event: MediaEvent): Promise<MediaEvent[]> {
  switch (event.name) {
    case 'leg.answered':
      return (await hold(trx, event.body.legId, event.at)) ? [] : [event]
    case 'leg.answered_by':
      return [event, ...(await released(trx, event.body.legId))]
    case 'leg.ended':
      return [...(await released(trx, event.body.legId)), event]
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
    participant.step === 'dialing' &&
    call.answered_at === null &&
    call.ended_at === null
  if (!isHeld) return false
  const answering = JSON.stringify({ ...settings, heldSince: at } satisfies StoredAnswering)
  await forTenant(trx, tenantOf(call)).change('calls', call.id, { ...startOf(trx), answering })
  await writeLeg(trx, tenantOf(call), legId, { step: 'detecting' })
  // Media has begun it with the answer.
  if (call.record === 1 && !awaitsConsent(call)) await insertRecording(trx, call, at)
  return true
}

async function released(trx: Trx, legId: string): Promise<MediaEvent[]> {
  const rows = await loadLeg(trx, legId)
  const since = rows === null ? undefined : heldSince(rows)
  if (rows === null || since === undefined) return []
  const { heldSince: _over, ...settings } = storedAnswering(rows.call)!
  const change = { answering: JSON.stringify(settings) }
  await forTenant(trx, tenantOf(rows.call)).change('calls', rows.call.id, change)
  return [{ name: 'leg.answered', at: since, body: { legId } }]
}

const heldSince = ({ call }: LegRows): string | undefined =>
  call.ended_at === null ? storedAnswering(call)?.heldSince : undefined

/** Who has answered is written down and told. */
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
}

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
}

async function runningOf(trx: Trx, legId: string): Promise<LegRows | null> {
  const rows = await loadLeg(trx, legId)
  return rows === null || rows.participant.step === 'ended' ? null : rows
}
