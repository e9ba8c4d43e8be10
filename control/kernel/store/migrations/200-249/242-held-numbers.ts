import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** A possible beginning of a number that is not kept: sealed until it is known. */
export const heldNumbers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'copilot_sessions', { held: 'text?' })
    await addColumns(db, 'transcript_segments', { held: 'text?' })
  },
}
