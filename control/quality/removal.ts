import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { forgetTranscript } from './search/transcript-index.ts'

/** Event types that quote what was said. */
const SUMMED_UP = ['call.summary.ready', 'call.summary.corrected'] as const
const EVALUATED = ['qa_evaluation.scored', 'qa_evaluation.changed'] as const

/** Deletes a call's summary and its search keys. Undefined: there was none. */
export async function removeSummary(trx: Trx, tenant: Tenant, callId: string): Promise<null | undefined> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('call_summaries', callId)
  await scoped.delete('call_summaries').where('id', '=', callId).execute()
  await scoped.delete('call_marks').where('call_id', '=', callId).execute()
  await scoped
    .delete('events')
    .where('call_id', '=', callId)
    .where('type', 'in', [...SUMMED_UP])
    .execute()
  return row === undefined ? undefined : null
}

/** Deletes an evaluation by its ID, and the events that quote it. Undefined: there was none. */
export async function removeEvaluation(trx: Trx, tenant: Tenant, id: string): Promise<null | undefined> {
  const scoped = forTenant(trx, tenant)
  const row = await scoped.find('qa_evaluations', id)
  if (row === undefined) return undefined
  await scoped.delete('qa_evaluations').where('id', '=', id).execute()
  const events = scoped.delete('events').where('call_id', '=', row.call_id)
  await events.where('type', 'in', [...EVALUATED]).execute()
  return null
}

/** Deletes everything that quotes a call's transcript. */
export async function forgetWords(trx: Trx, tenant: Tenant, callId: string): Promise<void> {
  await forgetTranscript(trx, tenant, callId)
  await removeSummary(trx, tenant, callId)
  const rows = forTenant(trx, tenant).select('qa_evaluations').select('id').where('call_id', '=', callId)
  for (const { id } of await rows.execute()) await removeEvaluation(trx, tenant, id)
}
