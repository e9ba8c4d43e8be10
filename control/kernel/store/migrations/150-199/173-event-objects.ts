import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'

/** Which object an event is about, for the list of an object's events. */
export const eventObjects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('events').addColumn('object_id', 'text').execute()
    const read = (name: string) =>
      db.getExecutor().adapter instanceof PostgresAdapter
        ? sql.raw(`data::json -> 'object' ->> '${name}'`)
        : sql.raw(`json_extract(data, '$.object.${name}')`)
    const id = sql`coalesce(${read('id')}, ${read('user_id')}, ${read('call_id')})`
    await sql`update events set object_id = ${id}`.execute(db)
    await db.schema
      .createIndex('events_of_object')
      .on('events')
      .columns(['organisation_id', 'livemode', 'object_id', 'id'])
      .execute()
  },
}
