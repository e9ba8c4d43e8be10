import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** Webhook endpoints and their deliveries: the outbox and its log. */
export const webhooks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'webhook_endpoints'), {
      url: 'text',
      description: 'text?',
      status: 'text',
      disabled_reason: 'text?',
      event_types: 'text',
      api_version: 'text',
      metadata: 'text',
      algorithm: 'text',
      signing_key: 'text',
      public_key: 'text?',
      previous_algorithm: 'text?',
      previous_signing_key: 'text?',
      previous_public_key: 'text?',
      previous_expires_at: 'text?',
      failing_since: 'text?',
      created: 'text',
      updated: 'text',
    })
    await addIndex(db, 'webhook_endpoints_tenant', 'webhook_endpoints', ['organisation_id', 'livemode', 'id'])
    await createWith(objectTable(db, 'webhook_deliveries'), {
      endpoint_id: 'text',
      event_id: 'text',
      event_type: 'text',
      status: 'text',
      attempts: 'integer',
      step: 'integer',
      next_attempt_at: 'text?',
      lease: 'text?',
      leased_until: 'text?',
      last_attempt_at: 'text?',
      response_status: 'integer?',
      response_body: 'text?',
      duration_ms: 'integer?',
      error: 'text?',
      created: 'text',
      updated: 'text',
    })
    await indexes(db)
  },
}

async function indexes(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, columns: string[]) => addIndex(db, name, 'webhook_deliveries', columns)
  await index('webhook_deliveries_tenant', ['organisation_id', 'livemode', 'id'])
  await index('webhook_deliveries_due', ['status', 'next_attempt_at'])
  await index('webhook_deliveries_endpoint', ['endpoint_id', 'status', 'id'])
  await index('webhook_deliveries_event', ['event_id', 'endpoint_id'])
  await index('webhook_deliveries_closed', ['status', 'updated'])
  await addIndex(db, 'events_time', 'events', ['organisation_id', 'livemode', 'timestamp', 'id'])
}
