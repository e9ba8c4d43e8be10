import type { Tenant } from '../kernel/tenancy.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'conference.notes': NotesJob
  }
}

/** Job: the notes of a conference session are to be written. */
export interface NotesJob {
  tenant: Tenant
  /** The session's call ID. */
  call_id: string
}
