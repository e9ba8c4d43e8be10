import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** Campaigns, whom they call, and each attempt to. */
export const campaigns: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const table = (name: string) => objectTable(db, name)
    await createWith(table('campaigns'), {
      name: 'text',
      status: 'text',
      settings: 'text',
      next_call_ms: 'integer',
      metadata: 'text',
      started_at: 'text?',
      ended_at: 'text?',
      created: 'text',
      updated: 'text',
    })
    await createWith(table('campaign_contacts'), {
      campaign_id: 'text',
      phone: 'text',
      name: 'text',
      timezone: 'text?',
      metadata: 'text',
      status: 'text',
      attempts: 'integer',
      next_attempt_at: 'text?',
      last_attempt_at: 'text?',
      last_result: 'text?',
      call_id: 'text?',
      created: 'text',
      updated: 'text',
    })
    await createWith(table('campaign_attempts'), {
      campaign_id: 'text',
      contact_id: 'text',
      phone: 'text',
      from_number: 'text?',
      number: 'integer',
      call_id: 'text',
      started_at: 'text',
      answered_at: 'text?',
      connected_at: 'text?',
      ended_at: 'text?',
      result: 'text?',
    })
    const index = (name: string, on: string, columns: string[], isUnique = false) =>
      addIndex(db, name, on, columns, { isUnique })
    await index('campaigns_tenant', 'campaigns', ['organisation_id', 'livemode', 'id'])
    await index('campaigns_status', 'campaigns', ['status'])
    await index('campaign_contacts_phone', 'campaign_contacts', ['campaign_id', 'phone'], true)
    await index('campaign_contacts_list', 'campaign_contacts', ['campaign_id', 'id'])
    await index('campaign_contacts_due', 'campaign_contacts', ['campaign_id', 'status', 'next_attempt_at'])
    await index('campaign_contacts_tenant', 'campaign_contacts', ['organisation_id', 'livemode', 'id'])
    await index('campaign_attempts_list', 'campaign_attempts', ['campaign_id', 'id'])
    await index('campaign_attempts_time', 'campaign_attempts', ['campaign_id', 'started_at'])
    await index('campaign_attempts_phone', 'campaign_attempts', ['organisation_id', 'livemode', 'phone', 'started_at'])
    await index('campaign_attempts_call', 'campaign_attempts', ['call_id'], true)
  },
}
