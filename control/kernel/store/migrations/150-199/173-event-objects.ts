import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** Which object an event is about, for the list of an object's events. */
export const eventObjects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'events', { object_id: 'text?' })
    const read = (name: string) =>
      db.getExecutor().adapter instanceof PostgresAdapter
        ? sql.raw(`data::json -> 'object' ->> '${name}'`)
        : sql.raw(`json_extract(data, '$.object.${name}')`)
    const id = sql`coalesce(${read('id')}, ${read('user_id')}, ${read('call_id')})`
    await sql`update events set object_id = ${id}`.execute(db)
    await addIndex(db, 'events_of_object', 'events', ['organisation_id', 'livemode', 'object_id', 'id'])
  },
}
