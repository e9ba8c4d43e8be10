import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable, sharedTable, tenantTable } from '../columns.ts'

/** Organisations, keys, the event log, idempotency, settings. */
export const frame: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(sharedTable(db, 'organisations'), {
      id: 'text key',
      name: 'text',
      timezone: 'text',
      pci_enabled: 'integer',
      pci_mask_dtmf: 'integer',
      pci_max_seconds: 'integer',
      live_stream_secret: 'text',
      test_stream_secret: 'text',
      created: 'text',
      updated: 'text',
    })
    await createWith(objectTable(db, 'api_keys'), {
      name: 'text',
      hash: 'text unique',
      hint: 'text',
      scopes: 'text?',
      api_version: 'text',
      expires_at: 'text?',
      created: 'text',
    })
    await createWith(objectTable(db, 'events'), {
      type: 'text',
      timestamp: 'text',
      api_version: 'text',
      data: 'text',
      request_id: 'text?',
      idempotency_key: 'text?',
      call_id: 'text?',
    })
    await addIndex(db, 'events_tenant', 'events', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'events_call', 'events', ['call_id', 'id'])
    await tenantTable(db, 'idempotency_keys')
      .addColumn('method', 'text', column => column.notNull())
      .addColumn('path', 'text', column => column.notNull())
      .addColumn('key', 'text', column => column.notNull())
      .addColumn('fingerprint', 'text', column => column.notNull())
      .addColumn('status', 'integer')
      .addColumn('body', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('idempotency_keys_pk', ['organisation_id', 'livemode', 'method', 'path', 'key'])
      .execute()
    await addIndex(db, 'idempotency_created', 'idempotency_keys', ['created'])
    await createWith(sharedTable(db, 'settings'), {
      name: 'text key',
      value: 'text',
    })
  },
}
