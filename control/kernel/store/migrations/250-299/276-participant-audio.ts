import type { Kysely, Migration } from 'kysely'

/** Audio settings of a participant, and the active speaker of a conference. */
export const participantAudio: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('participants').addColumn('audio', 'text').execute()
    await db.schema.alterTable('session_states').addColumn('active_speaker', 'text').execute()
  },
}
