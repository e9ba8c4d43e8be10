import type { Tenant } from '../kernel/tenancy.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'callback.summary': SummaryJob
  }
}

/** What was said in the call that asked for a callback is to be summed up. */
export interface SummaryJob {
  tenant: Tenant
  /** The call that asked. */
  call_id: string
}
