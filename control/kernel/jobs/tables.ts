import type { Generated, Selectable } from 'kysely'

declare module '../store/tables.ts' {
  interface Database {
    jobs: JobTable
  }
}

/** Work to be done once, at some time, by any control process. Finished jobs have no row. */
interface JobTable {
  id: string
  kind: string
  /** Its owner; null: the operator. */
  organisation_id: string | null
  /** At most one waiting job of a kind has it; null: any number. */
  key: string | null
  /** JSON. */
  payload: string
  /** ISO-8601 UTC; null once it is given up. */
  due_at: string | null
  /** Attempts begun since it was enqueued. */
  attempts: number
  /** Grows when it is enqueued again under its key, so that a running attempt does not finish the new one. */
  version: number
  /** The running attempt, and until when nobody else may start one. */
  lease: string | null
  leased_until: string | null
  /** The node that attempts it, or did last. */
  node: Generated<string | null>
  last_error: string | null
  created: string
}

export type JobRow = Selectable<JobTable>
