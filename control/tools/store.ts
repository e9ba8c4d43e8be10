import { invalid, type Problem } from '../http/errors.ts'
import type { User, UsesOf } from '../http/references.ts'
import { newId } from '../kernel/ids.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type Definition, type Tool, toolSchema } from './schema.ts'
import { secretsIn } from './secrets-in.ts'
import type { ToolRow } from './tables.ts'

/** Maximum number of versions stored of one tool; older ones are deleted. */
export const MAX_VERSIONS = 100

/** A shared tool as assistants use it. */
export interface SharedTool extends Pick<ToolRow, 'id' | 'name' | 'kind'> {
  definition: Definition
}

/** The tools with these IDs, in this order, without deleted ones. */
export async function sharedTools(db: Db, tenant: Tenant, ids: readonly string[]): Promise<SharedTool[]> {
  if (ids.length === 0) return []
  const rows = await forTenant(db, tenant).select('tools').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(rows.map(row => [row.id, row]))
  return ids.flatMap(id => {
    const row = byId.get(id)
    return row === undefined ? [] : [{ id, name: row.name, kind: row.kind, definition: JSON.parse(row.definition) }]
  })
}

/** The tools that use secrets, by the secret's name. */
export async function secretUsers(db: Db, tenant: Tenant): Promise<ReadonlyMap<string, User[]>> {
  const naming = forTenant(db, tenant).select('tools').select(['id', 'name', 'secrets']).where('secrets', '!=', '[]')
  const users = new Map<string, User[]>()
  for (const { id, name, secrets } of await naming.orderBy('id').execute()) {
    for (const secret of JSON.parse(secrets) as string[]) {
      users.set(secret, [...(users.get(secret) ?? []), { object: 'tool', id, name }])
    }
  }
  return users
}

/** The tools that transfer calls to the object with this ID. */
export const toolsTransferringTo: UsesOf = async (db, tenant, id) => {
  const transfers = forTenant(db, tenant).select('tools').select(['id', 'name', 'definition'])
  const named = await transfers
    .where('kind', '=', 'transfer')
    // Limits how many have to be parsed.
    .where('definition', 'like', `%${id}%`)
    .orderBy('id')
    .execute()
  return named
    .filter(({ definition }) => (JSON.parse(definition) as Definition).target?.id === id)
    .map(tool => ({ object: 'tool', id: tool.id, name: tool.name }))
}

/** The columns that hold a definition. */
export const columnsOf = (definition: Definition) => ({
  definition: JSON.stringify(definition),
  secrets: JSON.stringify(definition.http === null ? [] : secretsIn(definition.http)),
})

/** Stores the definition as this version, and deletes the oldest ones. */
export async function keepVersion(
  trx: Trx,
  tenant: Tenant,
  { id, version, definition, updated }: Pick<ToolRow, 'id' | 'version' | 'definition' | 'updated'>,
): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await scoped.insert('tool_versions', {
    id: newId('tool_version'),
    tool_id: id,
    version,
    definition,
    created: updated,
  })
  const old = scoped.delete('tool_versions').where('tool_id', '=', id)
  await old.where('version', '<=', version - MAX_VERSIONS).execute()
}

/** The definition of a version; undefined: there is none any more. */
export async function definitionAt(
  db: Db,
  tenant: Tenant,
  toolId: string,
  version: number,
): Promise<Definition | undefined> {
  const row = await forTenant(db, tenant).findBy('tool_versions', { tool_id: toolId, version })
  return row === undefined ? undefined : JSON.parse(row.definition)
}

export const noVersion = (version: number): Problem => invalid('version', `The tool has no version ${version}.`)

export const toTool = (row: ToolRow): Tool => showRow(toolSchema, row, JSON.parse(row.definition) as Definition)
