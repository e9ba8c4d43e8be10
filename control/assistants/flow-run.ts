import type { CallProgramRow } from '../calls/programs/tables.ts'
import { compileFlow } from '../flows/engine/compiled-flow.ts'
import type { FlowValue, Graph } from '../flows/engine/graph.ts'
import { redact } from '../flows/engine/template.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { FlowProgress } from './flow-play.ts'

/** The flow's current node and variables in a call, without sensitive values. An assistant has neither. */
export async function flowPosition(
  db: Db,
  vault: Vault,
  tenant: Tenant,
  row: CallProgramRow,
): Promise<{ current_node_key: string | null; variables: Record<string, FlowValue> }> {
  const nowhere = { current_node_key: null, variables: {} }
  if (row.kind !== 'flow' || row.state === null || row.flow_id === null || row.flow_version === null) return nowhere
  const ofCall = { flow_id: row.flow_id, version: row.flow_version }
  const version = await forTenant(db, tenant).findBy('flow_versions', ofCall)
  // The flow was deleted, and so it is not known which of its variables are sensitive.
  if (version === undefined) return nowhere
  const { flow }: FlowProgress = JSON.parse(vault.open(row.state, row.id))
  const { sensitive } = compileFlow(JSON.parse(version.graph) as Graph)
  return { current_node_key: flow.nodeKey, variables: redact(flow.variables, sensitive) }
}
