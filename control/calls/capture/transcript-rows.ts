import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { CallRow } from '../tables.ts'

/** Requests a call's transcript, which begins once the call is answered. `running`: it is answered, and the transcript begins now. */
export const wantTranscript = (
  trx: Trx,
  tenant: Tenant,
  call: { id: string; language: string | null; at: string; status?: 'wanted' | 'running' },
): Promise<void> =>
  forTenant(trx, tenant).insert('transcripts', {
    id: call.id,
    status: call.status ?? 'wanted',
    language: call.language,
    failed_reason: null,
    duration_ms: null,
    created: call.at,
  })

/** Of a transcript that was refused. */
export const UNAGREED = { status: 'failed', failed_reason: 'The caller did not agree to be recorded.' } as const

/** Ends a call's transcript that has not begun. */
export async function refuseTranscript(trx: Trx, call: CallRow): Promise<void> {
  const transcripts = forTenant(trx, tenantOf(call)).update('transcripts').set(UNAGREED).where('id', '=', call.id)
  await transcripts.where('status', 'in', ['wanted', 'running']).execute()
}
