import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Which agent looks at a contact before it is called. */
export const campaignClaims: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'campaign_contacts', { claimed_by: 'text?', claimed_until: 'text?', skip_reason: 'text?' })
    await addColumns(db, 'campaign_attempts', { user_id: 'text?' })
  },
}
