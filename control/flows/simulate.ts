import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { envelope, invalid, isProblem, missing, type Problem, problem } from '../http/errors.ts'
import type { RawAnswer } from '../http/route.ts'
import { eventStream, type StreamEvent, wantsEventStream } from '../http/wire/event-stream.ts'
import { limitsOfKey, type OpenStreams } from '../http/wire/open-streams.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { Graph } from './engine/graph.ts'
import type { FlowModel } from './engine/model.ts'
import { sampleVariables, simulate } from './engine/simulation.ts'
import { newState } from './engine/state.ts'
import { type FlowDeps, graphOf } from './flow.ts'
import type { flowSimulationSchema, simulateBody } from './schema.ts'
import {
  beginSimulation,
  keepSimulation,
  releaseSimulation,
  resumeSimulation,
  type Simulation,
} from './simulation-store.ts'
import type { FlowRow } from './tables.ts'
import { assistantOf } from './users.ts'

export interface SimulateDeps extends FlowDeps {
  streams: OpenStreams
  /** The model of the flow's assistant; a mock in test mode. `signal` aborts requests. */
  modelFor: (context: Context, assistantId: string | null, signal: AbortSignal) => Promise<FlowModel>
  /** Base of `doc_url` in a streamed error. */
  publicUrl: string
}

type Body = Static<typeof simulateBody>
type FlowSimulation = Static<typeof flowSimulationSchema>

/** Maximum duration of a simulation with a JSON answer [ms]. */
const MAX_JSON_RUN_MS = 60_000

/** `POST /flows/{id}/simulate`: one generator, collected into JSON or streamed. */
export async function simulateFlow(
  deps: SimulateDeps,
  context: Context,
  id: string,
  body: Body,
  accept: string | string[] | undefined,
): Promise<FlowSimulation | RawAnswer | Problem> {
  const isStreamed = wantsEventStream(accept)
  const place = isStreamed ? await deps.streams.take(limitsOfKey(context)) : null
  if (isProblem(place)) return place
  let handedOver = false
  try {
    const row = await forTenant(deps.store.db, context).find('flows', id)
    if (row === undefined) return missing('flow', id)
    const simulation = await takeUp(deps, context, row, body)
    if (isProblem(simulation)) return simulation
    const gone = new AbortController()
    const run = { deps, context, row, body, simulation, gone: gone.signal, isStreamed }
    if (!isStreamed) return await drained({ ...run, gone: AbortSignal.timeout(MAX_JSON_RUN_MS) })
    handedOver = true
    return eventStream(streamed(run), () => {
      gone.abort()
      place?.leave()
    })
  } finally {
    if (!handedOver) place?.leave()
  }
}

async function takeUp(
  { store, now }: SimulateDeps,
  context: Context,
  row: FlowRow,
  body: Body,
): Promise<Simulation | Problem> {
  if (body.sim_id !== undefined) {
    const found = await resumeSimulation(store, context, row.id, body.sim_id, now())
    if (isProblem(found)) return found
    if (body.version !== undefined && body.version !== found.version) {
      await releaseSimulation(store, context, found.id)
      return invalid('version', 'The simulation runs another version.')
    }
    const variables = { ...found.state.variables, ...body.variables }
    return { ...found, state: { ...found.state, variables } }
  }
  const graph = body.version === undefined ? graphOf(row) : await publishedGraph(store, context, row.id, body.version)
  if (isProblem(graph)) return graph
  const state = newState({ ...sampleVariables(graph), ...body.variables })
  return beginSimulation(store, context, row.id, { version: body.version ?? null, graph, state }, now())
}

async function publishedGraph(
  store: SimulateDeps['store'],
  context: Context,
  flowId: string,
  version: number,
): Promise<Graph | Problem> {
  const row = await forTenant(store.db, context).findBy('flow_versions', { flow_id: flowId, version })
  if (row === undefined) return problem('resource_missing', `No such version: ${version}`, { param: 'version' })
  return JSON.parse(row.graph)
}

interface Run {
  deps: SimulateDeps
  context: Context
  row: FlowRow
  body: Body
  simulation: Simulation
  /** Aborted when nobody waits for the answer any more. */
  gone: AbortSignal
  /** A streamed answer is not stored for idempotent retries. */
  isStreamed: boolean
}

/**
 * The events of one request, `sim.done` last, and the simulation's fate: it can be continued; it has ended, because the client
 * closed the connection; or it is unchanged, because we failed.
 */
async function* events({
  deps,
  context,
  row,
  body,
  simulation,
  gone,
  isStreamed,
}: Run): AsyncGenerator<StreamEvent, void> {
  const { store, now } = deps
  const resumed = body.sim_id !== undefined
  let outcome: 'stopped' | 'failed' | 'kept' = 'stopped'
  try {
    const { id } = simulation
    yield { event: 'sim.started', data: { sim_id: id, resumed, kind: row.kind } }
    const assistantId = await assistantOf(store.db, context, row.id)
    const model = await deps.modelFor(context, assistantId, gone)
    const steps = simulate(simulation.graph, simulation.state, body, model)
    let next = await steps.next()
    for (; next.done !== true; next = await steps.next()) {
      yield { event: `sim.${next.value.step}`, data: next.value.entry }
    }
    const head = { object: 'flow_simulation' as const, id, flow_id: row.id, livemode: context.livemode, resumed }
    const done: FlowSimulation = { ...head, ...next.value }
    await store.transaction(async trx => {
      await keepSimulation(trx, context, simulation, now())
      if (!isStreamed) await context.keep(trx, done)
    })
    outcome = 'kept'
    yield { event: 'sim.done', data: done }
  } catch (error) {
    outcome = 'failed'
    throw error
  } finally {
    if (outcome === 'stopped') {
      simulation.state.phase = 'ended'
      simulation.state.endReason = 'caller_hangup'
      await keepSimulation(store.db, context, simulation, now())
    }
    if (outcome === 'failed') await releaseSimulation(store, context, simulation.id)
  }
}

async function drained(run: Run): Promise<FlowSimulation> {
  let last: StreamEvent | undefined
  for await (const event of events(run)) last = event
  return (last !== undefined && 'data' in last ? last.data : {}) as FlowSimulation
}

/** Once the stream has begun, a failure cannot have a status, so it is the last event. */
async function* streamed(run: Run): AsyncGenerator<StreamEvent, void> {
  const { context, deps } = run
  try {
    yield* events(run)
  } catch (error) {
    context.log.error({ err: error }, 'simulation failed')
    const failure = problem('internal_error', 'Something failed on our side.')
    yield { event: 'error', data: envelope(failure, context.requestId, deps.publicUrl) }
  }
}
