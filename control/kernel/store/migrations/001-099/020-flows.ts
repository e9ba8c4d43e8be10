import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** Flows, their published versions, and simulations of a quarter of an hour. */
export const flows: Migration = {
  async up(db: Kysely<unknown>) {
    await createWith(objectTable(db, 'flows'), {
      name: 'text',
      description: 'text',
      kind: 'text',
      status: 'text',
      published_version: 'integer?',
      latest_version: 'integer',
      draft_rev: 'integer',
      draft: 'text',
      template_id: 'text?',
      created: 'text',
      updated: 'text',
    })
    await addIndex(db, 'flows_by_tenant', 'flows', ['organisation_id', 'livemode', 'id'])
    await versionsAndSimulations(db)
  },
}

async function versionsAndSimulations(db: Kysely<unknown>): Promise<void> {
  const ofFlow = (name: string) =>
    objectTable(db, name).addColumn('flow_id', 'text', column =>
      column.notNull().references('flows.id').onDelete('cascade'),
    )
  await createWith(ofFlow('flow_versions').addUniqueConstraint('flow_versions_once', ['flow_id', 'version']), {
    version: 'integer',
    graph: 'text',
    created: 'text',
  })
  await createWith(ofFlow('flow_simulations'), {
    version: 'integer?',
    graph: 'text',
    state: 'text',
    ended: 'integer',
    busy_until: 'text?',
    expires_at: 'text',
  })
  await addIndex(db, 'flow_simulations_expiry', 'flow_simulations', ['expires_at'])
  await addIndex(db, 'flow_simulations_by_flow', 'flow_simulations', ['flow_id'])
}
