import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    messages: MessageRow
  }
}

/** A text by SIP MESSAGE (RFC 3428). */
export interface MessageRow extends TenantColumns {
  id: string
  /** The member whose phone sent it, or in whose name it was sent; null: the organisation. */
  from_user_id: string | null
  /** The member whose phones it is for; null: the organisation. */
  to_user_id: string | null
  /** The address to which the phone sent it; null: it came by the API. */
  to_address: string | null
  /** The redacted text. */
  text: string
  status: 'received' | 'queued' | 'delivered' | 'failed'
  sip_code: number | null
  /** Number of phones that have not answered yet. */
  pending: number
  created: string
}
