import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

/** The purposes of consents. */
export const PURPOSES = ['call', 'record', 'text', 'marketing'] as const
export type Purpose = (typeof PURPOSES)[number]

declare module '../kernel/store/tables.ts' {
  interface Database {
    consents: ConsentRow
  }
}

export interface ConsentRow extends TenantColumns {
  id: string
  /** E.164. */
  phone: string
  purpose: Purpose
  /** `standingOf` this consent while it is neither revoked nor replaced, otherwise null. Unique, so that only one is valid. */
  standing: string | null
  /** JSON of `Evidence`. */
  evidence: string
  given_at: string
  expires_at: string | null
  replaced_at: string | null
  revoked_at: string | null
  revoked_reason: string | null
  revoked_call_id: string | null
  metadata: string
  created: string
  updated: string
}

/** Evidence of a consent. */
export interface Evidence {
  type: 'call' | 'form' | 'document' | 'import'
  call_id: string | null
  /** Time within the call [ms]. */
  offset_ms: number | null
  import_id: string | null
  url: string | null
  text: string | null
}

export const NO_EVIDENCE = { call_id: null, offset_ms: null, import_id: null, url: null, text: null } as const
