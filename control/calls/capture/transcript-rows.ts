import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

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
