import type { Tenant } from '../tenancy.ts'

/** The notes of a conference session are to be written. */
export interface NotesJob {
  tenant: Tenant
  /** The session's. */
  call_id: string
}
