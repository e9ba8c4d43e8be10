import type { Tenant } from '../tenancy.ts'

/** What was said in the call that asked for a callback is to be summed up. */
export interface SummaryJob {
  tenant: Tenant
  /** The call that asked. */
  call_id: string
}
