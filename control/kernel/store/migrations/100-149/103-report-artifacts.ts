import { type Kysely, type Migration, sql } from 'kysely'
import { tenantTable } from '../columns.ts'

/** The files that reports make lie in the database, in pieces: any node serves them, and a backup of it has them. */
export const reportArtifacts: Migration = {
  async up(db: Kysely<unknown>) {
    await tenantTable(db, 'report_artifacts')
      .addColumn('run_id', 'text', column => column.notNull())
      .addColumn('format', 'text', column => column.notNull())
      .addColumn('position', 'integer', column => column.notNull())
      .addColumn('size_bytes', 'integer', column => column.notNull())
      .addColumn('content', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('report_artifacts_key', ['run_id', 'format', 'position'])
      .execute()
    // Files of a single node are made again by a new run.
    await sql`update report_runs set csv = 0, pdf = 0`.execute(db)
  },
}
