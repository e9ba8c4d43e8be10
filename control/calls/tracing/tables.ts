import type { Selectable } from 'kysely'
import type { TenantColumns } from '../../kernel/store/tenant-columns.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    sip_traces: SipTraceTable
  }
}

/** What passed over SIP for one leg that has ended. */
export interface SipTraceTable extends TenantColumns {
  /** The leg's, which is the participant's. */
  id: string
  call_id: string
  /** Messages for which there was no room. */
  dropped: number
  /** JSON of `SipLegTrace`, deflated, base64. */
  content: string
}

export type SipTraceRow = Selectable<SipTraceTable>
