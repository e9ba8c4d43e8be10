import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'

/**
 * The transaction of each event, by which they are followed on PostgreSQL (`kernel/events/order.ts`); those that are there already come first. On
 * SQLite their IDs tell the order.
 */
export const eventOrder: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return
    await sql`alter table events add column written_by bigint not null default 0`.execute(db)
    await sql`alter table events alter column written_by set default (pg_current_xact_id()::text::bigint)`.execute(db)
    await sql`create index events_written on events (organisation_id, livemode, written_by, id)`.execute(db)
  },
}
