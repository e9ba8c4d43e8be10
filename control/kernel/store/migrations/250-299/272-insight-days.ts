import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'
import { tenantTable } from '../columns.ts'

/**
 * Insights of whole days, by agent, queue and profile. Triggers delete a day whenever anything about its calls changes; missing days are
 * counted from the calls.
 */
export const insightDays: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const table = (name: string) => tenantTable(db, name).addColumn('day', 'text', column => column.notNull())
    await table('insight_days')
      .addColumn('version', 'integer', column => column.notNull())
      .addColumn('built', 'text')
      .addColumn('timezone', 'text')
      .addPrimaryKeyConstraint('insight_days_pk', ['organisation_id', 'livemode', 'day'])
      .execute()
    await table('insight_tallies')
      .addColumn('local_day', 'text', column => column.notNull())
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('queue_id', 'text', column => column.notNull())
      .addColumn('profile_id', 'text', column => column.notNull())
      .addColumn('tally', 'text', column => column.notNull())
      .addColumn('themes', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('insight_tallies_pk', [
        'organisation_id',
        'livemode',
        'day',
        'local_day',
        'user_id',
        'queue_id',
        'profile_id',
      ])
      .execute()
    const isServer = db.getExecutor().adapter instanceof PostgresAdapter
    for (const statement of isServer ? POSTGRES : SQLITE) await sql.raw(statement).execute(db)
  },
}

type Row = 'new' | 'old'

/** How a row of each table tells the day of its call. */
const DAYS = {
  calls: (row: Row) => `substr(${row}.created, 1, 10)`,
  call_summaries: (row: Row) => `(select substr(calls.created, 1, 10) from calls where calls.id = ${row}.id)`,
  qa_evaluations: (row: Row) => `(select substr(calls.created, 1, 10) from calls where calls.id = ${row}.call_id)`,
}
type Table = keyof typeof DAYS

/** Columns that count; a call has many others, which change often. */
const COUNTED: Record<Table, string> = {
  calls: 'created, kind, user_id, queue_id, answered_at, ended_at, duration_ms',
  call_summaries: 'counted, summary, corrected, figures',
  qa_evaluations: 'score, criteria',
}

const forgetting = (table: Table, row: Row): string => {
  const which = `organisation_id = ${row}.organisation_id and livemode = ${row}.livemode and day = ${DAYS[table](row)}`
  return `update insight_days set version = version + 1, built = null where ${which};
    delete from insight_tallies where ${which};`
}

const CHANGES = [
  ['insert', ['new']],
  ['update', ['old', 'new']],
  ['delete', ['old']],
] as const

const TABLES = Object.keys(DAYS) as Table[]

const on = (table: Table, change: string): string =>
  change === 'update' ? `update of ${COUNTED[table]} on ${table}` : `${change} on ${table}`

const SQLITE = TABLES.flatMap(table =>
  CHANGES.map(
    ([change, rows]) => `create trigger insights_${table}_${change} after ${on(table, change)} begin
      ${rows.map(row => forgetting(table, row)).join('\n')}
    end`,
  ),
)

const POSTGRES = TABLES.flatMap(table =>
  CHANGES.flatMap(([change, rows]) => [
    `create function insights_${table}_${change}() returns trigger language plpgsql as $$ begin
      ${rows.map(row => forgetting(table, row)).join('\n')}
      return null;
    end $$`,
    `create trigger insights_${table}_${change} after ${on(table, change)}
      for each row execute function insights_${table}_${change}()`,
  ]),
)
