import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** Secrets under a name, tools that assistants share, and what the tools were before. */
export const tools: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const table = (name: string) => tenantTable(db, name).addColumn('id', 'text', column => column.primaryKey())
    await table('secrets')
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('description', 'text', column => column.notNull())
      .addColumn('value', 'text', column => column.notNull())
      .addColumn('version', 'integer', column => column.notNull())
      .addColumn('metadata', 'text', column => column.notNull())
      .addColumn('rotated_at', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
    const byName = ['organisation_id', 'livemode', 'name']
    await db.schema.createIndex('secrets_name').unique().on('secrets').columns(byName).execute()
    await db.schema.createIndex('secrets_tenant').on('secrets').columns(['organisation_id', 'livemode', 'id']).execute()
    await table('tools')
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('version', 'integer', column => column.notNull())
      .addColumn('definition', 'text', column => column.notNull())
      .addColumn('secrets', 'text', column => column.notNull())
      .addColumn('metadata', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
    await db.schema.createIndex('tools_tenant').on('tools').columns(['organisation_id', 'livemode', 'id']).execute()
    await table('tool_versions')
      .addColumn('tool_id', 'text', column => column.notNull())
      .addColumn('version', 'integer', column => column.notNull())
      .addColumn('definition', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    const ofTool = ['tool_id', 'version']
    await db.schema.createIndex('tool_versions_tool').unique().on('tool_versions').columns(ofTool).execute()
  },
}
