import { type Kysely, type Migration, sql } from 'kysely'
import { addColumns } from '../columns.ts'

/** Nodes of an older version go on with the database: what 412 has renamed and 415 has moved is there for them too. */
export const olderNodes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'participants', { admitted: { default: 0 } })
    await addColumns(db, 'rings', { holds: { default: 0 } })
    const isRunning = sql`call_id in (select id from calls where ended_at is null)`
    await sql`update participants set admitted = 1 where (pin_proved = 1 or let_in = 1) and ${isRunning}`.execute(db)
  },
}
