import { inPieces } from '../kernel/jobs/forget.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { PassageSearch } from './search.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'kb.forget': ForgetJob
  }
}

/** Job: the words of a deleted document are to leave the index. */
interface ForgetJob {
  tenant: Tenant
  document_id: string
}

/** Passages per transaction, small because calls wait for it. */
const BATCH = 10

export const forgetHandler = (store: Store, search: PassageSearch) =>
  inPieces<ForgetJob>(store, BATCH, (trx, { tenant, document_id }) => search.remove(trx, tenant, document_id, BATCH))
