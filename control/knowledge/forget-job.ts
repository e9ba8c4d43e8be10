import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JobHandler } from '../kernel/jobs/runner.ts'
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

export const forgetHandler = (store: Store, search: PassageSearch): JobHandler<ForgetJob> => ({
  async run({ tenant, document_id }, { signal, finish }) {
    for (let removed = BATCH; removed === BATCH && !signal.aborted; await nextTurn()) {
      removed = await store.transaction(async trx => {
        const count = await search.remove(trx, tenant, document_id, BATCH)
        if (count < BATCH) await finish(trx)
        return count
      })
    }
  },
})
