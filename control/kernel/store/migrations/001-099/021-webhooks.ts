import type { Kysely, Migration } from 'kysely'
import { addIndex, objectTable } from '../columns.ts'

/** Webhook endpoints and their deliveries: the outbox and its log. */
export const webhooks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await objectTable(db, 'webhook_endpoints')
      .addColumn('url', 'text', column => column.notNull())
      .addColumn('description', 'text')
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('disabled_reason', 'text')
      .addColumn('event_types', 'text', column => column.notNull())
      .addColumn('api_version', 'text', column => column.notNull())
      .addColumn('metadata', 'text', column => column.notNull())
      .addColumn('algorithm', 'text', column => column.notNull())
      .addColumn('signing_key', 'text', column => column.notNull())
      .addColumn('public_key', 'text')
      .addColumn('previous_algorithm', 'text')
      .addColumn('previous_signing_key', 'text')
      .addColumn('previous_public_key', 'text')
      .addColumn('previous_expires_at', 'text')
      .addColumn('failing_since', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'webhook_endpoints_tenant', 'webhook_endpoints', ['organisation_id', 'livemode', 'id'])
    await objectTable(db, 'webhook_deliveries')
      .addColumn('endpoint_id', 'text', column => column.notNull())
      .addColumn('event_id', 'text', column => column.notNull())
      .addColumn('event_type', 'text', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('attempts', 'integer', column => column.notNull())
      .addColumn('step', 'integer', column => column.notNull())
      .addColumn('next_attempt_at', 'text')
      .addColumn('lease', 'text')
      .addColumn('leased_until', 'text')
      .addColumn('last_attempt_at', 'text')
      .addColumn('response_status', 'integer')
      .addColumn('response_body', 'text')
      .addColumn('duration_ms', 'integer')
      .addColumn('error', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
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
