import type { Generated, Selectable } from 'kysely'

declare module '../store/tables.ts' {
  interface Database extends JobTables {}
}

export interface JobTables {
  jobs: JobTable
}

/** Work that is to be done once, at some time, by whichever control process gets to it. Done jobs have no row. */
export interface JobTable {
  id: string
  kind: string
  /** Whose it is; null: the operator's. */
  organisation_id: string | null
  /** At most one waiting job of a kind has it; null: any number. */
  key: string | null
  /** JSON. */
  payload: string
  /** ISO-8601 UTC; null once it is given up. */
  due_at: string | null
  /** Attempts begun since it was enqueued. */
  attempts: number
  /** Grows when it is enqueued again under its key, so that the attempt under way does not take the new one for done. */
  version: number
  /** Whose attempt is running, and until when nobody else may begin one. */
  lease: string | null
  leased_until: string | null
  /** Whose process attempts it, or was the last to. */
  node: Generated<string | null>
  last_error: string | null
  created: string
}

export type JobRow = Selectable<JobTable>
