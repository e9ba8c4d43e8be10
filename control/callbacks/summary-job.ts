import type { Tenant } from '../kernel/tenancy.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'callback.summary': SummaryJob
  }
}

/** Job: the call that requested a callback is to be summarised. */
export interface SummaryJob {
  tenant: Tenant
  /** ID of that call. */
  call_id: string
}
