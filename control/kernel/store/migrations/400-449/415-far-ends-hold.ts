import { type Kysely, type Migration, sql } from 'kysely'
import { addColumns } from '../columns.ts'

/** Whether the far end of a leg holds: of every leg, not only of those that were rung. */
export const farEndsHold: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'participants', { holds: { default: 0 } })
    await sql`update participants set holds = 1 where id in (select leg_id from rings where holds = 1)`.execute(db)
    await db.schema.alterTable('rings').dropColumn('holds').execute()
  },
}
