import type { UsesOf } from '../http/references.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { Graph } from './engine/graph.ts'
import type { FlowRow } from './tables.ts'

/** The flows whose draft or published version plays an audio asset. */
export const flowsUsing: UsesOf = async (db, tenant, assetId) => {
  const rows = forTenant(db, tenant)
  // Limits how much has to be parsed; the graph then shows whether a node really plays the asset.
  const mention = `%${assetId}%`
  const versions = await rows.select('flow_versions').selectAll().where('graph', 'like', mention).execute()
  const published = new Map(versions.map(row => [versionName(row.flow_id, row.version), row.graph]))
  const flowIds = versions.map(row => row.flow_id)
  const flows = await rows
    .select('flows')
    .selectAll()
    .where(where => where.or([where('draft', 'like', mention), where('id', 'in', flowIds)]))
    .execute()
  const graphsOf = (flow: FlowRow): (string | undefined)[] => [
    flow.draft,
    published.get(versionName(flow.id, flow.published_version)),
  ]
  return flows
    .filter(flow => graphsOf(flow).some(graph => graph !== undefined && plays(JSON.parse(graph), assetId)))
    .map(({ id, name }) => ({ object: 'flow', id, name }))
}

const versionName = (flowId: string, version: number | null): string => `${flowId}/${version}`

const plays = (graph: Graph, assetId: string): boolean => graph.nodes.some(node => node.asset_id === assetId)
