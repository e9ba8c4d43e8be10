import type { Kysely, Migration } from 'kysely'

/** Streams and recordings that run: looked for after every reconnect, among all that ever ran. */
export const runningAudio: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createIndex('media_streams_running')
      .on('media_streams')
      .columns(['ended_reason', 'call_id'])
      .execute()
    await db.schema.createIndex('recordings_running').on('recordings').columns(['status', 'call_id']).execute()
  },
}
