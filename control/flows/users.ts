import type { Exists, UsesOf } from '../http/references.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { callerFault } from './caller-fault.ts'
import type { FlowRow } from './tables.ts'

/** The assistants that use a flow. */
export const assistantsLedBy: UsesOf = async (db, tenant, flowId) => {
  const rows = await forTenant(db, tenant)
    .select('assistants')
    .select(['id', 'name'])
    .where('flow_id', '=', flowId)
    .execute()
  return rows.map(({ id, name }) => ({ object: 'assistant', id, name }))
}

/** The copilot profiles whose script a flow is. */
export const profilesScriptedBy: UsesOf = async (db, tenant, flowId) => {
  const profiles = forTenant(db, tenant).select('copilot_profiles').select(['id', 'name'])
  const rows = await profiles.where('flow_id', '=', flowId).execute()
  return rows.map(({ id, name }) => ({ object: 'copilot_profile', id, name }))
}

/** The assistant of each of these flows, by flow ID; of several, the oldest. */
export async function assistantsOf(db: Db, tenant: Tenant, flowIds: readonly string[]): Promise<Map<string, string>> {
  if (flowIds.length === 0) return new Map()
  const rows = await forTenant(db, tenant)
    .select('assistants')
    .select(['id', 'flow_id'])
    .where('flow_id', 'in', flowIds)
    .orderBy('id', 'desc')
    .execute()
  return new Map(rows.map(row => [row.flow_id ?? '', row.id]))
}

export const assistantOf = async (db: Db, tenant: Tenant, flowId: string): Promise<string | null> =>
  (await assistantsOf(db, tenant, [flowId])).get(flowId) ?? null

/** Whether a flow exists and has none of these faults. */
const flowWithout =
  (fault: (flow: FlowRow) => string | null): Exists =>
  async (db, tenant, id) => {
    const flow = await forTenant(db, tenant).find('flows', id)
    return flow !== undefined && (fault(flow) ?? true)
  }

/** Whether a flow may lead callers. */
export const callerFlow = flowWithout(callerFault)

/** Whether a call can be led to a flow now. */
export const publishedFlow = flowWithout(
  flow => callerFault(flow) ?? (flow.published_version === null ? 'has not been published' : null),
)

/** Whether a flow may be the script of a human agent. */
export const agentScript = flowWithout(({ status, kind }) => {
  if (status === 'archived') return 'is archived'
  return kind === 'agent_script' ? null : `is of kind ${kind}; a script is of kind agent_script`
})

/** Whether a flow was ever published as this version. */
export async function hasVersion(db: Db, tenant: Tenant, flowId: string, version: number): Promise<boolean> {
  const versions = forTenant(db, tenant).select('flow_versions').select('id')
  const found = await versions.where('flow_id', '=', flowId).where('version', '=', version).executeTakeFirst()
  return found !== undefined
}

/** Which of these audio assets exist. */
export async function knownAssets(db: Db, tenant: Tenant, ids: readonly string[]): Promise<Set<string>> {
  const rows = await forTenant(db, tenant).select('audio_assets').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map(row => row.id))
}
