import type { Kysely, Migration } from 'kysely'
import { addIndex, objectTable } from '../columns.ts'

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
    await addIndex(db, 'flows_by_tenant', 'flows', ['organisation_id', 'livemode', 'id'])
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
  await addIndex(db, 'flow_simulations_expiry', 'flow_simulations', ['expires_at'])
  await addIndex(db, 'flow_simulations_by_flow', 'flow_simulations', ['flow_id'])
}
