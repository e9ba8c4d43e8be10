import { type Kysely, type Migration, sql } from 'kysely'
import { addColumns } from '../columns.ts'

/** `admitted` said two things of a leg: 1, that it needs no PIN, or was dialled from within its room; 2, that it has waited there. */
export const letIn: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('participants').renameColumn('admitted', 'pin_proved').execute()
    await addColumns(db, 'participants', { let_in: { default: 0 } })
    const isDialled = sql`call_id in (select id from calls where direction = 'outbound')`
    await sql`update participants set let_in = 1 where pin_proved = 2 or (pin_proved = 1 and ${isDialled})`.execute(db)
    await sql`update participants set pin_proved = case when ${isDialled} then 0 else 1 end where let_in = 1`.execute(
      db,
    )
  },
}
