import { type Kysely, type Migration, sql } from 'kysely'

/** Nodes of an older version go on with the database: what 412 has renamed and 415 has moved is there for them too. */
export const olderNodes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const legs = db.schema.alterTable('participants')
    await legs.addColumn('admitted', 'integer', column => column.notNull().defaultTo(0)).execute()
    const rings = db.schema.alterTable('rings')
    await rings.addColumn('holds', 'integer', column => column.notNull().defaultTo(0)).execute()
    const isRunning = sql`call_id in (select id from calls where ended_at is null)`
    await sql`update participants set admitted = 1 where (pin_proved = 1 or let_in = 1) and ${isRunning}`.execute(db)
  },
}
