import { isProblem, missing } from '../http/errors.ts'
import { listOf, listQuery, page, pageOf } from '../http/list.ts'
import { deleteRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { EVENT_STREAM } from '../http/wire/event-stream.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { archiveFlow, unarchiveFlow } from './archive.ts'
import {
  changeFlow,
  createFlow,
  duplicateFlow,
  getFlow,
  publishFlow,
  toFlow,
  toFlowVersion,
  validateFlow,
  writeDraft,
} from './flow.ts'
import { flowSchema, flowVersionSchema, flowWithGraphSchema } from './flow-schema.ts'
import {
  changeBody,
  createBody,
  draftBody,
  duplicateBody,
  flowListQuery,
  flowSimulationSchema,
  flowValidationSchema,
  publishBody,
  simulateBody,
  validateBody,
} from './schema.ts'
import { type SimulateDeps, simulateFlow } from './simulate.ts'
import { flowTemplateRoutes } from './templates/routes.ts'
import { assistantsOf } from './users.ts'

const api = operations('Flows', 'flows')
const write = { reply: flowSchema, errors: [409] as number[] } as const

export function flowRoutes(deps: SimulateDeps): Route[] {
  return [
    ...flowOperations(deps),
    ...draftOperations(deps),
    ...archiveOperations(deps),
    ...trialOperations(deps),
    ...flowTemplateRoutes(),
  ]
}

function flowOperations(deps: SimulateDeps): Route[] {
  const { store, usesOf } = deps
  return [
    api.post({
      ...write,
      path: '/flows',
      id: 'createFlow',
      summary: 'Create a flow',
      description: "An unpublished draft with your graph or a template's. Without either, it has a start and an end.",
      body: createBody,
      status: 201,
      reply: flowWithGraphSchema,
      handler: (context, { body }) => createFlow(deps, context, body),
    }),
    api.get({
      path: '/flows',
      id: 'listFlows',
      summary: 'List flows',
      query: flowListQuery,
      reply: listOf(flowSchema),
      handler: async (context, { query }) => {
        const asked = { db: store.db, tenant: context, where: { kind: query.kind, status: query.status } }
        const list = await pageOf({ ...asked, table: 'flows' }, query, '/v1/flows', row => row)
        if (isProblem(list)) return list
        const ids = list.data.map(row => row.id)
        const assistants = await assistantsOf(store.db, context, ids)
        return { ...list, data: list.data.map(row => toFlow(row, assistants.get(row.id) ?? null)) }
      },
    }),
    api.get({
      path: '/flows/:id',
      id: 'getFlow',
      summary: 'Retrieve a flow and the graph of its draft',
      reply: flowWithGraphSchema,
      handler: (context, { params }) => getFlow(deps, context, params.id),
    }),
    api.patch({
      path: '/flows/:id',
      id: 'updateFlow',
      summary: "Change what is kept of a flow's calls",
      description:
        'The graph is changed by way of the draft. Applies to calls that begin from now on, in every version.',
      body: changeBody,
      reply: flowSchema,
      handler: (context, { params, body }) => changeFlow(deps, context, params.id, body),
    }),
    api.post({
      ...write,
      path: '/flows/:id/duplicate',
      id: 'duplicateFlow',
      summary: "Create a flow from this flow's draft",
      description: 'The copy is unpublished, and no assistant uses it.',
      body: duplicateBody,
      status: 201,
      handler: (context, { params, body }) => duplicateFlow(deps, context, params.id, body),
    }),
    {
      ...deleteRoute(
        { table: 'flows', object: 'flow', path: '/flows', api },
        {
          description: '409 while an assistant or a copilot profile uses it; `details.used_by` lists them.',
          usesOf,
          before: async (trx, context, { id }) => {
            await forTenant(trx, context).delete('flow_simulations').where('flow_id', '=', id).execute()
            await forTenant(trx, context).delete('flow_versions').where('flow_id', '=', id).execute()
            return null
          },
        },
      ),
      summary: 'Delete a flow and its versions',
    },
  ]
}

function draftOperations(deps: SimulateDeps): Route[] {
  return [
    api.put({
      ...write,
      path: '/flows/:id/draft',
      id: 'writeFlowDraft',
      summary: 'Write the draft',
      description:
        'Replaces the nodes. Settings merge; variables are kept unless sent. Nodes are matched by key: a label, and the recording of an unchanged script, are kept unless sent. 409 (`draft_stale`) if `base_rev` is not the current `draft_rev`.',
      body: draftBody,
      reply: flowWithGraphSchema,
      handler: (context, { params, body }) => writeDraft(deps, context, params.id, body),
    }),
    api.post({
      ...write,
      path: '/flows/:id/publish',
      id: 'publishFlow',
      summary: 'Publish the draft as the version that calls run',
      description: '409 (`graph_invalid`) while it has errors; `details.issues` lists them. Emits `flow.published`.',
      body: publishBody,
      handler: (context, { params, body }) => publishFlow(deps, context, params.id, body),
    }),
    api.get({
      path: '/flows/:id/versions',
      id: 'listFlowVersions',
      summary: 'List published versions',
      query: listQuery,
      reply: listOf(flowVersionSchema),
      handler: async (context, { params, query }) => {
        const rows = forTenant(deps.store.db, context)
        if ((await rows.find('flows', params.id)) === undefined) return missing('flow', params.id)
        const versions = rows.select('flow_versions').selectAll().where('flow_id', '=', params.id)
        return page(versions, query, `/v1/flows/${params.id}/versions`, toFlowVersion)
      },
    }),
  ]
}

function archiveOperations(deps: SimulateDeps): Route[] {
  return [
    api.post({
      ...write,
      path: '/flows/:id/archive',
      id: 'archiveFlow',
      summary: 'Archive a flow',
      description:
        'It can still be read, simulated, duplicated and deleted, but not changed, published, referenced or called. 409 while an assistant, a copilot profile or an inbound route uses it; `details.used_by` lists them. Calls that it leads continue. Emits `flow.archived`.',
      handler: (context, { params }) => archiveFlow(deps, context, params.id),
    }),
    api.post({
      ...write,
      path: '/flows/:id/unarchive',
      id: 'unarchiveFlow',
      summary: 'Unarchive a flow',
      description:
        'It becomes `published` if it was ever published, else `draft`. 409 (`not_archived`) if it is not archived. Emits `flow.unarchived`.',
      handler: (context, { params }) => unarchiveFlow(deps, context, params.id),
    }),
  ]
}

function trialOperations(deps: SimulateDeps): Route[] {
  return [
    api.post({
      path: '/flows/validate',
      id: 'validateFlow',
      summary: 'Check a graph without saving it',
      description: 'A malformed graph answers 400 (`graph_malformed`).',
      scope: 'flows:read',
      body: validateBody,
      reply: flowValidationSchema,
      errors: [409],
      handler: (context, { body }) => validateFlow(deps, context, body),
    }),
    api.post({
      ...write,
      path: '/flows/:id/simulate',
      id: 'simulateFlow',
      summary: 'Run a text-only call through a flow',
      description:
        'Actions are dry runs; with a test key, models are mocks. `Accept: text/event-stream` sends `sim.started`, `sim.node`, `sim.turn` and `sim.action` as they happen, then `sim.done` with the JSON answer. Closing the connection stops the simulation. A simulation can be continued for 15 minutes after its last turn.',
      body: simulateBody,
      reply: flowSimulationSchema,
      streamType: EVENT_STREAM,
      handler: (context, { params, body, headers }) => simulateFlow(deps, context, params.id, body, headers.accept),
    }),
  ]
}
