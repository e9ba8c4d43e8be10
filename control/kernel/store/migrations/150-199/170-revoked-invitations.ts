import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When an invitation was taken back. */
export const revokedInvitations: Migration = {
  up: db => addColumns(db, 'invitations', { revoked_at: 'text?' }),
}
