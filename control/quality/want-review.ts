import type { Call } from '../calls/call-schema.ts'
import type { CallTranscript } from '../calls/programs/transcript-schema.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'

/** Requests the review of a call once it has ended and its transcript is complete. Called after each of these. */
export async function wantReview(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const call = await scoped.find('calls', callId)
  if (call === undefined || call.kind !== 'party' || call.ended_at === null) return
  if ((await scoped.find('transcripts', callId))?.status !== 'ready') return
  const { organisationId, livemode } = tenant
  const job = { tenant: { organisationId, livemode }, call_id: callId }
  await enqueue(trx, 'call.review', job, { now: new Date(at), organisationId, key: callId })
}

/** Runs in the transaction that ends a call or its transcript (`store.within`). */
export const onCallOver = only(
  ['call.ended', 'call.transcript.ready'],
  (trx: Trx, { type, object, tenant, at }: Fact): Promise<void> =>
    wantReview(trx, tenant, type === 'call.ended' ? (object as Call).id : (object as CallTranscript).call_id, at),
)
