import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    client_tokens: ClientTokenRow
    web_calls: WebCallTable
  }
}

/** Data of a call made by a browser that the call's own row does not have. */
interface WebCallTable extends TenantColumns {
  /** ID of the call. */
  id: string
  assistant_id: string | null
  origin: string | null
  /** Name of a guest. */
  name: string
  created: string
}

export interface ClientTokenRow extends TenantColumns {
  /** Also the ID of the call that the token opens. */
  id: string
  assistant_id: string | null
  agent_user_id: string | null
  origin: string | null
  metadata: string
  /** ID of the first session of the softphone that it renews; null: a new softphone, or a call. */
  device: string | null
  expires_at: string
  /** When it opened its call; null: not yet. */
  used_at: string | null
  created: string
}
