import type { Tenant } from '../kernel/tenancy.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'conference.notes': NotesJob
  }
}

/** The notes of a conference session are to be written. */
export interface NotesJob {
  tenant: Tenant
  /** The session's. */
  call_id: string
}
