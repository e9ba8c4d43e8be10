import type { Kysely, Migration } from 'kysely'

/** Usage is counted by when things began. */
export const usage: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const table of ['calls', 'media_streams', 'recordings', 'callbacks']) {
      await db.schema
        .createIndex(`${table}_created`)
        .on(table)
        .columns(['organisation_id', 'livemode', 'created'])
        .execute()
    }
  },
}
