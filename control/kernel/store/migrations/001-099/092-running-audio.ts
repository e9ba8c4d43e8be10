import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Streams and recordings that run: looked for after every reconnect, among all that ever ran. */
export const runningAudio: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addIndex(db, 'media_streams_running', 'media_streams', ['ended_reason', 'call_id'])
    await addIndex(db, 'recordings_running', 'recordings', ['status', 'call_id'])
  },
}
