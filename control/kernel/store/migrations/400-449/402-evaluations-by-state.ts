import { type Kysely, type Migration, sql } from 'kysely'
import { addIndex } from '../columns.ts'

/** The few evaluations that wait for somebody, or have been reviewed, are not looked for among all of them. */
export const evaluationsByState: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['status', 'review']) {
      await addIndex(db, `qa_evaluations_by_${column}`, 'qa_evaluations', ['organisation_id', 'livemode', column, 'id'])
    }
    await sql`create index qa_evaluations_reviewed on qa_evaluations (organisation_id, livemode, id) where reviews <> '[]'`.execute(
      db,
    )
  },
}
