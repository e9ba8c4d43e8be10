import { bookCallback } from '../callbacks/booking.ts'
import { setLeg } from '../calls/legs.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import { isProblem } from '../http/errors.ts'
import { namedPhrase } from '../kernel/phrases.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { returnedByQueue } from './callbacks/of-queue.ts'
import type { CallCentreParts } from './deps.ts'
import { settingsOf } from './settings/store.ts'
import { speakerOf } from './speaker.ts'
import type { QueueRow } from './tables.ts'
import { handOver } from './targets.ts'
import { findCall, stopWaiting } from './waiting-calls.ts'

/** Handles a key that a waiting caller presses (specification, "Queue": `wait_keys`). False: the caller waits on. */
export async function pressWhileWaiting(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { leg, key, at }: { leg: ParticipantRow; key: string; at: string },
): Promise<boolean> {
  const waiting = await forTenant(trx, tenant).find('queue_calls', leg.call_id)
  const queue = waiting === undefined ? undefined : await forTenant(trx, tenant).find('queues', waiting.queue_id)
  if (queue === undefined) return false
  const { wait_keys } = settingsOf(queue)
  if (key === wait_keys.voicemail) return toVoicemail(deps, trx, tenant, { leg, queue, at })
  if (key === wait_keys.callback) return toCallback(deps, trx, tenant, { leg, queue, at })
  return false
}

type Pressed = { leg: ParticipantRow; queue: QueueRow; at: string }

async function toVoicemail(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { leg, queue, at }: Pressed,
): Promise<boolean> {
  const program = { type: 'voicemail' as const, queueId: queue.id, userId: null }
  if (!(await handOver(deps, trx, tenant, { callId: leg.call_id, legId: leg.id, program, at }))) return false
  await stopWaiting(trx, tenant, leg.call_id, { outcome: 'voicemail', at })
  return true
}

/** A caller whose number cannot be called back is told so, and keeps waiting. */
async function toCallback(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { leg, queue, at }: Pressed,
): Promise<boolean> {
  const call = await findCall(trx, tenant, leg.call_id)
  if (call === undefined) return false
  const { language } = await speakerOf(forTenant(trx, tenant), settingsOf(queue))
  const booked = await bookCallback(deps.booking, trx, tenant, {
    phone: call.direction === 'inbound' ? call.from_address : call.to_address,
    call_id: call.id,
    ...returnedByQueue(queue),
    source: 'queue',
    author: queue.name,
  })
  if (isProblem(booked)) {
    await setLeg(trx, tenant, leg.id, { leave_prompt: namedPhrase('apology', language) })
    return false
  }
  await stopWaiting(trx, tenant, call.id, { outcome: 'callback', at })
  const leave_prompt = namedPhrase('callBack', language)
  await setLeg(trx, tenant, leg.id, { step: 'leaving', leave_prompt, leave_reason: 'assistant_ended' })
  return true
}
