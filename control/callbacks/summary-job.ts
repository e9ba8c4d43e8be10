import type { Tenant } from '../kernel/tenancy.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'callback.summary': SummaryJob
  }
}

/** The call that asked for a callback is to be summarised. */
export interface SummaryJob {
  tenant: Tenant
  /** The call that asked. */
  call_id: string
}
