import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, tenantTable } from '../columns.ts'

/** Secrets under a name, tools that assistants share, and what the tools were before. */
export const tools: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const table = (name: string) => tenantTable(db, name).addColumn('id', 'text', column => column.primaryKey())
    await createWith(table('secrets'), {
      name: 'text',
      description: 'text',
      value: 'text',
      version: 'integer',
      metadata: 'text',
      rotated_at: 'text?',
      created: 'text',
      updated: 'text',
    })
    const byName = ['organisation_id', 'livemode', 'name']
    await addIndex(db, 'secrets_name', 'secrets', byName, { isUnique: true })
    await addIndex(db, 'secrets_tenant', 'secrets', ['organisation_id', 'livemode', 'id'])
    await createWith(table('tools'), {
      name: 'text',
      kind: 'text',
      version: 'integer',
      definition: 'text',
      secrets: 'text',
      metadata: 'text',
      created: 'text',
      updated: 'text',
    })
    await addIndex(db, 'tools_tenant', 'tools', ['organisation_id', 'livemode', 'id'])
    await createWith(table('tool_versions'), {
      tool_id: 'text',
      version: 'integer',
      definition: 'text',
      created: 'text',
    })
    const ofTool = ['tool_id', 'version']
    await addIndex(db, 'tool_versions_tool', 'tool_versions', ofTool, { isUnique: true })
  },
}
