import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    sip_traces: SipTraceRow
  }
}

/** The SIP messages of one ended leg. */
export interface SipTraceRow extends TenantColumns {
  /** ID of the leg, which is also the participant's. */
  id: string
  call_id: string
  /** Messages dropped for lack of space. */
  dropped: number
  /** JSON of `SipLegTrace`, deflated, base64. */
  content: string
}
