import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** Recordings can be paused and encrypted, and what is kept of calls ends with its time. */
export const keptData: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'recordings', { paused: { default: 0 }, encrypted: { default: 0 } })
    await addColumns(db, 'voicemails', { encrypted: { default: 0 } })
    await addColumns(db, 'organisations', { encrypt_recordings: { default: 0 }, retention: 'text?' })
    const due = (table: string, column: string): Promise<void> =>
      addIndex(db, `${table}_kept`, table, ['organisation_id', column])
    await due('recordings', 'created')
    await due('transcripts', 'created')
    await due('voicemails', 'created')
    await due('calls', 'ended_at')
  },
}
