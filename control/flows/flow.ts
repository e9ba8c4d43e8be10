import type { Static } from 'typebox'
import { captureOf, changedCapture } from '../capture-settings/settings.ts'
import type { StreamsProblem } from '../capture-settings/streams-problem.ts'
import type { Context } from '../http/context.ts'
import { copyName } from '../http/copy-name.ts'
import { conflict, invalid, isProblem, missing, type Problem, problem } from '../http/errors.ts'
import type { UsesOf } from '../http/references.ts'
import { firstUrlProblem, type ServerUrlProblem } from '../http/url-policy.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { OfferedModels } from '../models/offered.ts'
import { emptyGraph, type FlowNode, type Graph, type GraphInput, mergeGraph } from './engine/graph.ts'
import type { FlowKind } from './engine/node-type.ts'
import { type Issue, isNamed, isValid, targetKey, validateGraph } from './engine/validation.ts'
import { type FlowObject, type FlowVersionObject, flowSchema, flowVersionSchema } from './flow-schema.ts'
import type { changeBody, createBody, draftBody, duplicateBody, publishBody, validateBody } from './schema.ts'
import type { FlowRow, FlowVersionRow } from './tables.ts'
import { templateOf } from './templates/routes.ts'
import { assistantOf } from './users.ts'

export interface FlowDeps {
  store: Store
  now: () => Date
  /** Which of these audio assets exist. */
  knownAssets: (db: Db, tenant: Tenant, ids: readonly string[]) => Promise<ReadonlySet<string>>
  /** Which of these targets exist, as `targetKey`s. */
  knownTargets: (
    db: Db,
    tenant: Tenant,
    targets: readonly NonNullable<FlowNode['target']>[],
  ) => Promise<ReadonlySet<string>>
  /** Checks the URLs of actions. */
  urlProblem: ServerUrlProblem
  /** The assistants and copilot profiles that use a flow, which then cannot be archived or deleted. */
  usesOf: UsesOf
  streamsProblem: StreamsProblem
  models: OfferedModels
}

type FlowWithGraph = FlowObject & { graph: Graph }

export const graphOf = (row: Pick<FlowRow, 'draft'>): Graph => JSON.parse(row.draft)

export async function createFlow(
  deps: FlowDeps,
  context: Context,
  body: Static<typeof createBody>,
): Promise<FlowWithGraph | Problem> {
  const template = body.template_id === undefined ? null : templateOf(body.template_id)
  if (isProblem(template)) return template
  if (template !== null && body.graph !== undefined) {
    return invalid('template_id', 'A flow has either a graph or a template, not both.')
  }
  const kind = body.kind ?? template?.kind ?? body.graph?.kind ?? 'voice'
  if (template !== null && template.kind !== kind) return invalid('kind', `The template is of kind ${template.kind}.`)
  const sent = template?.graph ?? body.graph
  const refused = kindProblem(kind, body.graph) ?? (await asksProblem(deps, body.graph))
  if (refused !== null) return refused
  const graph = sent === undefined ? emptyGraph(kind) : mergeGraph(emptyGraph(kind), sent)
  const row = newRow(deps, context, {
    name: body.name,
    description: body.description ?? template?.description ?? '',
    template_id: template?.id ?? null,
    kind,
    draft: graph,
    capture: changedCapture(null, body),
  })
  const unfit = await deps.streamsProblem(body.streams)
  if (unfit !== null) return unfit
  return context.transaction(async trx => {
    await forTenant(trx, context).insert('flows', row)
    return { ...toFlow(row, null), graph }
  })
}

function newRow(
  { now }: FlowDeps,
  context: Context,
  flow: Pick<FlowRow, 'name' | 'description' | 'kind' | 'template_id' | 'capture'> & { draft: Graph },
): FlowRow {
  const at = now().toISOString()
  return {
    ...flow,
    draft: JSON.stringify(flow.draft),
    id: newId('flow'),
    ...ownedBy(context),
    status: 'draft',
    published_version: null,
    latest_version: 0,
    draft_rev: 1,
    created: at,
    updated: at,
  }
}

/** Why the graph's kind is wrong: if it is sent, it must be the flow's. */
function kindProblem(kind: string, graph: GraphInput | undefined): Problem | null {
  if (graph?.kind === undefined || graph.kind === kind) return null
  return invalid('graph.kind', `The flow is of kind ${kind}.`)
}

/** Why the servers or models that nodes contact are not allowed. */
const asksProblem = async (
  { urlProblem, models }: FlowDeps,
  graph: GraphInput | undefined,
): Promise<Problem | null> => {
  for (const [index, { ai }] of (graph?.nodes ?? []).entries()) {
    const unknown = models.problem(`graph.nodes[${index}].ai.model`, ai?.model)
    if (unknown !== null) return unknown
  }
  return firstUrlProblem(
    urlProblem,
    (graph?.nodes ?? []).flatMap(({ action }, index) =>
      action?.url === undefined ? [] : [{ url: action.url, param: `graph.nodes[${index}].action.url` }],
    ),
  )
}

export async function getFlow(deps: FlowDeps, context: Context, id: string): Promise<FlowWithGraph | Problem> {
  const row = await forTenant(deps.store.db, context).find('flows', id)
  return row === undefined ? missing('flow', id) : withGraph(deps.store.db, context, row)
}

async function withGraph(db: Db, tenant: Tenant, row: FlowRow): Promise<FlowWithGraph> {
  return { ...(await shown(db, tenant, row)), graph: graphOf(row) }
}

export async function shown(db: Db, tenant: Tenant, row: FlowRow): Promise<FlowObject> {
  return toFlow(row, await assistantOf(db, tenant, row.id))
}

/** Changes what is captured of the flow's calls. It is not part of a version, so it applies from the next call on. */
export async function changeFlow(
  deps: FlowDeps,
  context: Context,
  id: string,
  body: Static<typeof changeBody>,
): Promise<FlowObject | Problem> {
  const unfit = await deps.streamsProblem(body.streams)
  if (unfit !== null) return unfit
  return context.withRow('flows', 'flow', id, async (trx, row) => {
    const change = { capture: changedCapture(row.capture, body), updated: deps.now().toISOString() }
    await forTenant(trx, context).change('flows', id, change)
    return shown(trx, context, { ...row, ...change })
  })
}

const stale = (row: FlowRow): Problem =>
  conflict('draft_stale', `The draft has changed since; its draft_rev is ${row.draft_rev}.`)

/** Why an archived flow cannot be changed; null: it is not archived. */
export const archivedProblem = (row: Pick<FlowRow, 'status'>): Problem | null =>
  row.status === 'archived' ? conflict('archived', 'The flow is archived; unarchive it first.') : null

export async function writeDraft(
  deps: FlowDeps,
  context: Context,
  id: string,
  body: Static<typeof draftBody>,
): Promise<FlowWithGraph | Problem> {
  const misled = await asksProblem(deps, body.graph)
  if (misled !== null) return misled
  return context.withRow('flows', 'flow', id, async (trx, row) => {
    const flows = forTenant(trx, context)
    const refused = archivedProblem(row) ?? kindProblem(row.kind, body.graph)
    if (refused !== null) return refused
    const change = {
      name: body.name ?? row.name,
      description: body.description ?? row.description,
      draft: JSON.stringify(mergeGraph(graphOf(row), body.graph)),
      draft_rev: body.base_rev + 1,
      updated: deps.now().toISOString(),
    }
    const write = flows.update('flows').set(change).where('id', '=', id).where('draft_rev', '=', body.base_rev)
    if ((await write.executeTakeFirst()).numUpdatedRows === 0n) return stale(row)
    return withGraph(trx, context, { ...row, ...change })
  })
}

export async function publishFlow(
  deps: FlowDeps,
  context: Context,
  id: string,
  body: Static<typeof publishBody>,
): Promise<FlowObject | Problem> {
  return context.withRow('flows', 'flow', id, async (trx, row) => {
    const refused = archivedProblem(row)
    if (refused !== null) return refused
    if (body.base_rev !== undefined && body.base_rev !== row.draft_rev) return stale(row)
    const issues = await issuesOf(deps, trx, context, graphOf(row), { flowId: row.id })
    if (!isValid(issues)) return unpublishable(issues)
    return publishRow(deps, trx, context, row)
  })
}

const unpublishable = (issues: Issue[]): Problem =>
  problem('resource_conflict', 'The draft has errors and cannot be published.', {
    details: { reason: 'graph_invalid', issues: issues.filter(({ severity }) => severity === 'error') },
  })

async function publishRow(deps: FlowDeps, trx: Trx, context: Context, row: FlowRow): Promise<FlowObject | Problem> {
  const flows = forTenant(trx, context)
  const [at, version] = [deps.now().toISOString(), row.latest_version + 1]
  const change = { status: 'published' as const, published_version: version, latest_version: version, updated: at }
  // Both columns, so that of two simultaneous requests one publishes what it has validated, and the other is refused.
  const write = flows
    .update('flows')
    .set(change)
    .where('id', '=', row.id)
    .where('draft_rev', '=', row.draft_rev)
    .where('latest_version', '=', row.latest_version)
  if ((await write.executeTakeFirst()).numUpdatedRows === 0n) return stale(row)
  await flows.insert('flow_versions', {
    id: newId('flow_version'),
    flow_id: row.id,
    version,
    graph: row.draft,
    created: at,
  })
  const object = await shown(trx, context, { ...row, ...change })
  const before = await shown(trx, context, row)
  await appendEvent(trx, context, { type: 'flow.published', at, object, before })
  return object
}

export async function duplicateFlow(
  deps: FlowDeps,
  context: Context,
  id: string,
  body: Static<typeof duplicateBody>,
): Promise<FlowObject | Problem> {
  return context.withRow('flows', 'flow', id, async (trx, original) => {
    const { description, kind, template_id } = original
    const row = newRow(deps, context, {
      capture: original.capture,
      name: body.name ?? copyName(original.name),
      description,
      template_id,
      kind,
      draft: graphOf(original),
    })
    await forTenant(trx, context).insert('flows', row)
    return toFlow(row, null)
  })
}

export async function validateFlow(deps: FlowDeps, context: Context, body: Static<typeof validateBody>) {
  const { flow_id: flowId, graph } = body
  const row = flowId === undefined ? undefined : await forTenant(deps.store.db, context).find('flows', flowId)
  if (flowId !== undefined && row === undefined) return invalid('flow_id', `No such flow: ${flowId}`)
  const stored = row === undefined ? emptyGraph(graph.kind ?? 'voice') : graphOf(row)
  const merged = { ...mergeGraph(stored, graph), kind: graph.kind ?? stored.kind }
  const issues = await issuesOf(deps, deps.store.db, context, merged, { kind: row?.kind, flowId: row?.id })
  return { object: 'flow_validation' as const, livemode: context.livemode, valid: isValid(issues), issues }
}

/** `flowId`: the flow of the graph, which may lead to itself before it is published. */
async function issuesOf(
  deps: FlowDeps,
  db: Db,
  tenant: Tenant,
  graph: Graph,
  { kind = graph.kind, flowId }: { kind?: FlowKind | undefined; flowId?: string | undefined } = {},
): Promise<Issue[]> {
  const named = graph.nodes.flatMap(node => (typeof node.asset_id === 'string' ? [node.asset_id] : []))
  const assets = named.length === 0 ? new Set<string>() : await deps.knownAssets(db, tenant, [...new Set(named)])
  const aims = graph.nodes.flatMap(({ target }) => (target !== undefined && isNamed(target) ? [target] : []))
  const targets = new Set(await deps.knownTargets(db, tenant, aims))
  if (flowId !== undefined && kind !== 'agent_script') targets.add(targetKey({ type: 'flow', id: flowId }))
  return validateGraph(graph, { kind, assets, targets })
}

export const toFlow = (row: FlowRow, assistantId: string | null): FlowObject =>
  showRow(flowSchema, row, {
    assistant_id: assistantId,
    node_count: graphOf(row).nodes.length,
    ...captureOf(row.capture),
  })

export function toFlowVersion(row: FlowVersionRow): FlowVersionObject {
  const graph: Graph = JSON.parse(row.graph)
  return showRow(flowVersionSchema, row, { node_count: graph.nodes.length, graph })
}
