import type { Selectable } from 'kysely'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    client_tokens: ClientTokenTable
    web_calls: WebCallTable
  }
}

/** That a call was made by a browser: what the call itself does not say. */
export interface WebCallTable extends TenantColumns {
  /** Of the call. */
  id: string
  assistant_id: string | null
  origin: string | null
  /** Of a guest. */
  name: string
  created: string
}

export interface ClientTokenTable extends TenantColumns {
  /** For the call that the token opens: one token, one call. */
  id: string
  assistant_id: string | null
  agent_user_id: string | null
  origin: string | null
  metadata: string
  /** The first connection of the softphone that it renews; null: it is a new one, or opens a call. */
  device: string | null
  expires_at: string
  /** Null until it has opened its call. */
  used_at: string | null
  created: string
}

export type ClientTokenRow = Selectable<ClientTokenTable>
