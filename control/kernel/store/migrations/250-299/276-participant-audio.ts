import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Audio settings of a participant, and the active speaker of a conference. */
export const participantAudio: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'participants', { audio: 'text?' })
    await addColumns(db, 'session_states', { active_speaker: 'text?' })
  },
}
