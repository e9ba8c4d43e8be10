import type { Kysely, Migration } from 'kysely'

/** When an invitation was taken back. */
export const revokedInvitations: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('invitations').addColumn('revoked_at', 'text').execute()
  },
}
