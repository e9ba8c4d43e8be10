import type { Call } from '../calls/call-schema.ts'
import type { CallTranscript } from '../calls/programs/transcript-schema.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { callbackOfCall } from './store.ts'
import type { SummaryJob } from './summary-job.ts'
import type { CallbackRow } from './tables.ts'

/** The callback that a call was the first to request. One into which its request was merged is summarised from an earlier call. */
export async function callbackOfOrigin(db: Db, tenant: Tenant, callId: string): Promise<CallbackRow | undefined> {
  const callback = await callbackOfCall(db, tenant, callId)
  return callback?.origin_call_id === callId ? callback : undefined
}

/** Requests the summary once the call has ended and its transcript, if any, is complete. Called after each of these. */
export async function wantSummary(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<void> {
  const callback = await callbackOfOrigin(trx, tenant, callId)
  if (callback === undefined || callback.summary !== null) return
  const call = await forTenant(trx, tenant).find('calls', callId)
  if (call === undefined || call.ended_at === null) return
  const transcript = await forTenant(trx, tenant).find('transcripts', callId)
  if (transcript !== undefined && transcript.status !== 'ready' && transcript.status !== 'failed') return
  const job: SummaryJob = { tenant, call_id: callId }
  const options = { now: new Date(at), organisationId: tenant.organisationId, key: callId }
  await enqueue(trx, 'callback.summary', job, options)
}

/** Runs in the transaction that ends a call or its transcript (`store.within`). */
export const onCallTold = only(
  ['call.ended', 'call.transcript.ready', 'call.transcript.failed'],
  (trx: Trx, { type, object, tenant, at }: Fact): Promise<void> =>
    wantSummary(trx, tenant, type === 'call.ended' ? (object as Call).id : (object as CallTranscript).call_id, at),
)

/** When a call's transcript is deleted, the summary made from it is deleted too, with the events that quote it. */
export async function forgetSummary(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  const callback = await callbackOfOrigin(trx, tenant, callId)
  if (callback === undefined) return
  const scoped = forTenant(trx, tenant)
  await scoped.change('callbacks', callback.id, { summary: null })
  const told = scoped.delete('events').where('object_id', '=', callback.id)
  await told.where('data', 'like', '%"summary":"%').execute()
}
