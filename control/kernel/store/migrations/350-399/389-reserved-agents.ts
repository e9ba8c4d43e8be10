import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** Until when an agent looks at a contact, or has it called; whose claim and whose call it is, by an index. */
export const reservedAgents: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'agent_statuses', { reserved_until: 'text?' })
    await addIndex(db, 'campaign_contacts_claimed', 'campaign_contacts', ['claimed_by'], { skipsNull: true })
    await addIndex(db, 'campaign_attempts_agent', 'campaign_attempts', ['user_id', 'ended_at'], { skipsNull: true })
  },
}
