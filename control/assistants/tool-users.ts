import { invalid, type Problem } from '../http/errors.ts'
import type { UsesOf } from '../http/references.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { sharedTools } from '../tools/store.ts'
import { transferName } from './assistant/tools.ts'
import { type AssistantSettings, settingsOf } from './schema.ts'

/** The assistants that have a tool. */
export const assistantsWithTool: UsesOf = async (db, tenant, toolId) => {
  const rows = await forTenant(db, tenant)
    .select('assistants')
    .select(['id', 'name', 'settings'])
    // Limits how many rows have to be parsed.
    .where('settings', 'like', `%${toolId}%`)
    .orderBy('id')
    .execute()
  return rows
    .filter(row => settingsOf(row).tool_ids.includes(toolId))
    .map(({ id, name }) => ({ object: 'assistant', id, name }))
}

/** 400 if the model would see two tools with the same name. */
export async function toolNamesProblem(
  db: Db,
  tenant: Tenant,
  { tools, tool_ids: ids, hand_overs: handOvers }: Pick<AssistantSettings, 'tools' | 'tool_ids' | 'hand_overs'>,
): Promise<Problem | null> {
  const seen = new Set([...tools.map(({ name }) => name), ...handOvers.map(({ name }) => transferName(name))])
  for (const { id, kind, name } of await sharedTools(db, tenant, ids)) {
    const shown = kind === 'transfer' ? transferName(name) : name
    if (seen.has(shown)) {
      const message = `The assistant has another tool or hand-over that the model sees as ${shown}.`
      return invalid(`tool_ids[${ids.indexOf(id)}]`, message)
    }
    seen.add(shown)
  }
  return null
}
