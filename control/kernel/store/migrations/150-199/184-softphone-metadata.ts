import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Fields of a token's softphone: which one it resumes, and the customer's metadata for the calls that it places. */
export const softphoneMetadata: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'client_tokens', { device: 'text?' })
    await addColumns(db, 'browser_sessions', { metadata: { default: '{}' } })
  },
}
