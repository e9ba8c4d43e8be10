import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Tokens of pages and guests of links are deleted in pieces, the oldest first: each piece is found without looking through all others. */
export const forgottenByAge: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addIndex(db, 'client_tokens_expiry', 'client_tokens', ['expires_at'])
    await addIndex(db, 'browser_guests_created', 'browser_guests', ['created'])
  },
}
