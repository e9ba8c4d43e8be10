import type { Kysely, Migration } from 'kysely'

/** What is done with the audio of a participant, and who of a conference speaks. */
export const participantAudio: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('participants').addColumn('audio', 'text').execute()
    await db.schema.alterTable('session_states').addColumn('active_speaker', 'text').execute()
  },
}
