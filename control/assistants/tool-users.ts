import { invalid, type Problem } from '../http/errors.ts'
import type { UsesOf } from '../http/references.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { sharedTools } from '../tools/store.ts'
import { END_CALL } from './assistant/tool-names.ts'
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
  const shared = await sharedTools(db, tenant, ids)
  // Offered in any case, under the description of a shared tool if there is one.
  const ending = shared.some(({ kind }) => kind === END_CALL) ? [] : [['', END_CALL]]
  const shown = [
    ...ending,
    ...tools.map(({ name }, i) => [`tools[${i}].name`, name]),
    ...handOvers.map(({ name }, i) => [`hand_overs[${i}].name`, transferName(name)]),
    ...shared.map(({ id, kind, name }) => [
      `tool_ids[${ids.indexOf(id)}]`,
      kind === 'transfer' ? transferName(name) : name,
    ]),
  ] as [param: string, name: string][]
  const names = shown.map(([, name]) => name)
  const twice = shown.find(([, name], i) => names.indexOf(name) < i)
  if (twice === undefined) return null
  return invalid(twice[0], `The assistant has another tool or hand-over that the model sees as ${twice[1]}.`)
}
