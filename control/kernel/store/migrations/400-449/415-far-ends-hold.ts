import { type Kysely, type Migration, sql } from 'kysely'

/** Whether the far end of a leg holds: of every leg, not only of those that were rung. */
export const farEndsHold: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const legs = db.schema.alterTable('participants')
    await legs.addColumn('holds', 'integer', column => column.notNull().defaultTo(0)).execute()
    await sql`update participants set holds = 1 where id in (select leg_id from rings where holds = 1)`.execute(db)
    await db.schema.alterTable('rings').dropColumn('holds').execute()
  },
}
