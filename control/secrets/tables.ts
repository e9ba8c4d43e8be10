import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    secrets: SecretRow
  }
}

export interface SecretRow extends TenantColumns {
  id: string
  /** Unique for the tenant. */
  name: string
  description: string
  /** Sealed by the vault, for this row only. */
  value: string
  /** Incremented with each rotation. */
  version: number
  /** JSON. */
  metadata: string
  rotated_at: string | null
  created: string
  updated: string
}
