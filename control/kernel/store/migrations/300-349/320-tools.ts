import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

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
    await addIndex(db, 'secrets_name', 'secrets', byName, { isUnique: true })
    await addIndex(db, 'secrets_tenant', 'secrets', ['organisation_id', 'livemode', 'id'])
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
    await addIndex(db, 'tools_tenant', 'tools', ['organisation_id', 'livemode', 'id'])
    await table('tool_versions')
      .addColumn('tool_id', 'text', column => column.notNull())
      .addColumn('version', 'integer', column => column.notNull())
      .addColumn('definition', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    const ofTool = ['tool_id', 'version']
    await addIndex(db, 'tool_versions_tool', 'tool_versions', ofTool, { isUnique: true })
  },
}
