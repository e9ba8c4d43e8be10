import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Why a leg ended, as whoever ended it said (Q.850, Reason): of the call, and of each who was rung for it. */
export const legCauses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'calls', { cause: 'text?' })
    await addColumns(db, 'participants', { cause: 'text?' })
  },
}
