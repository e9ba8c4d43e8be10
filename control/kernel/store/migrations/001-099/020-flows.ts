import type { Kysely, Migration } from 'kysely'
import { objectTable } from '../columns.ts'

/** Flows, their published versions, and simulations of a quarter of an hour. */
export const flows: Migration = {
  async up(db: Kysely<unknown>) {
    await objectTable(db, 'flows')
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('description', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('published_version', 'integer')
      .addColumn('latest_version', 'integer', column => column.notNull())
      .addColumn('draft_rev', 'integer', column => column.notNull())
      .addColumn('draft', 'text', column => column.notNull())
      .addColumn('template_id', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
    await db.schema.createIndex('flows_by_tenant').on('flows').columns(['organisation_id', 'livemode', 'id']).execute()
    await versionsAndSimulations(db)
  },
}

async function versionsAndSimulations(db: Kysely<unknown>): Promise<void> {
  await objectTable(db, 'flow_versions')
    .addColumn('flow_id', 'text', column => column.notNull().references('flows.id').onDelete('cascade'))
    .addColumn('version', 'integer', column => column.notNull())
    .addColumn('graph', 'text', column => column.notNull())
    .addColumn('created', 'text', column => column.notNull())
    .addUniqueConstraint('flow_versions_once', ['flow_id', 'version'])
    .execute()
  await objectTable(db, 'flow_simulations')
    .addColumn('flow_id', 'text', column => column.notNull().references('flows.id').onDelete('cascade'))
    .addColumn('version', 'integer')
    .addColumn('graph', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('ended', 'integer', column => column.notNull())
    .addColumn('busy_until', 'text')
    .addColumn('expires_at', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('flow_simulations_expiry').on('flow_simulations').columns(['expires_at']).execute()
  await db.schema.createIndex('flow_simulations_by_flow').on('flow_simulations').columns(['flow_id']).execute()
}
