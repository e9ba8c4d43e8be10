import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    sites: SiteRow
    site_proofs: SiteProofTable
  }
}

export interface SiteRow extends TenantColumns {
  id: string
  name: string
  active: number
  /** The queue that returns its callbacks, so that the users of a queue can be found. */
  queue_id: string | null
  /** JSON of everything else that the API shows. */
  settings: string
  created: string
  updated: string
}

/** A used proof of work, which no second request may use. */
interface SiteProofTable extends TenantColumns {
  /** SHA-256 of the challenge, hex. */
  id: string
  expires_at: string
}
