import type { Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    messages: MessageTable
  }
}

/** A text (RFC 3428). */
export interface MessageTable extends TenantColumns {
  id: string
  /** Whose phone has sent it, or in whose name; null: the organisation's. */
  from_user_id: string | null
  /** Whose phones it is for; null: the product's. */
  to_user_id: string | null
  /** What the phone has called; null: it came by the API. */
  to_address: string | null
  /** As it is kept: what is redacted is not in it. */
  text: string
  status: 'received' | 'queued' | 'delivered' | 'failed'
  sip_code: number | null
  /** Phones that have not answered yet. */
  pending: number
  created: string
}

export type MessageRow = Selectable<MessageTable>
