import type { Kysely, Migration } from 'kysely'

/** Until when an agent looks at a contact, or has it called; whose claim and whose call it is, by an index. */
export const reservedAgents: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent_statuses').addColumn('reserved_until', 'text').execute()
    const index = (name: string, on: string, columns: string[]) =>
      db.schema
        .createIndex(name)
        .on(on)
        .columns(columns)
        .where(columns[0] as never, 'is not', null)
        .execute()
    await index('campaign_contacts_claimed', 'campaign_contacts', ['claimed_by'])
    await index('campaign_attempts_agent', 'campaign_attempts', ['user_id', 'ended_at'])
  },
}
