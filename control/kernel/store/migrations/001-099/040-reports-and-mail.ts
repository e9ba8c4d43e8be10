import { type Kysely, type Migration, sql } from 'kysely'
import { addColumns, addIndex, type Columns, createWith, objectTable } from '../columns.ts'

const RUN: Columns = {
  report_id: 'text',
  status: 'text',
  trigger: 'text',
  period_from: 'text',
  period_to: 'text',
  started_at: 'text',
  finished_at: 'text?',
  error: 'text?',
  csv: 'integer',
  pdf: 'integer',
  recipients: 'text',
  deliveries: 'text',
}

/** A run is there before it is over: `finished_at` may be null, which SQLite cannot alter in place. */
async function unfinishedRuns(db: Kysely<unknown>): Promise<void> {
  await createWith(objectTable(db, 'report_runs_new'), RUN)
  const columns = sql.raw(['id', 'organisation_id', 'livemode', ...Object.keys(RUN)].join(', '))
  await sql`insert into report_runs_new (${columns}) select ${columns} from report_runs`.execute(db)
  await db.schema.dropTable('report_runs').execute()
  await db.schema.alterTable('report_runs_new').renameTo('report_runs').execute()
  const tenant = ['organisation_id', 'livemode']
  await addIndex(db, 'report_runs_by_id', 'report_runs', [...tenant, 'id'])
  await addIndex(db, 'report_runs_by_report_id_id', 'report_runs', [...tenant, 'report_id', 'id'])
  await addIndex(db, 'report_runs_finished', 'report_runs', ['finished_at'])
}

/** Reports that run by themselves, invitations that can be accepted, and who has been told of a version's sunset. */
export const reportsAndMail: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await unfinishedRuns(db)
    await addColumns(db, 'reports', { schedule: 'text?', schedule_timezone: 'text?', next_run_at: 'text?' })
    await addIndex(db, 'reports_next_run', 'reports', ['next_run_at'])
    await addIndex(db, 'calls_by_created', 'calls', ['organisation_id', 'livemode', 'created', 'id'])
    await addColumns(db, 'invitations', { token_hash: 'text?', accepted_at: 'text?' })
    await addIndex(db, 'invitations_token', 'invitations', ['token_hash'], { isUnique: true })
    await db.schema
      .createTable('sunset_notices')
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('version', 'text', column => column.notNull())
      .addColumn('months', 'integer', column => column.notNull())
      .addColumn('email', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('sunset_notices_pk', ['organisation_id', 'version', 'months', 'email'])
      .execute()
  },
}
