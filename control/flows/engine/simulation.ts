import { takeEntry } from '../../../media/protocol.ts'
import { type CompiledFlow, compileFlow } from './compiled-flow.ts'
import type { CallerInput } from './conditions.ts'
import { type Coverage, coverageOf } from './coverage.ts'
import type { ActionRequest, ActionResult, CollectRequest, FlowEffects } from './effects.ts'
import { runFlow } from './engine.ts'
import type { Graph } from './graph.ts'
import type { FlowModel } from './model.ts'
import { typeOf } from './node-types.ts'
import type { EndReason, FlowState } from './state.ts'
import type { ActionEntry, FlowStep, PathEntry, TurnEntry } from './steps.ts'
import { type FlowVariables, redact } from './template.ts'

/** The caller's input in one request (specification, endpoint 4). */
export interface SimulatedCaller {
  messages?: readonly string[] | undefined
  dtmf?: string | undefined
  message?: string | undefined
  no_response?: boolean | undefined
  /** Whether business hours are open; absent: they are. */
  open?: boolean | undefined
  /** Outcomes of actions, by node key; all others succeed. */
  outcomes?: Readonly<Record<string, string>> | undefined
}

/** Results of a request: the parts of a FlowSimulation that come from the engine. */
export interface SimulationReport {
  turns: TurnEntry[]
  path: PathEntry[]
  actions: ActionEntry[]
  ended: boolean
  end_reason: EndReason | null
  current_node_key: string | null
  variables: FlowVariables
  coverage: Coverage
}

/**
 * Continues a simulated call: yields what happens, and returns all of it. `state` is changed in place. Both the JSON answer and the event
 * stream come from here.
 */
export async function* simulate(
  graph: Graph,
  state: FlowState,
  caller: SimulatedCaller,
  model: FlowModel,
): AsyncGenerator<FlowStep, SimulationReport> {
  const flow = compileFlow(graph)
  const report = { turns: [] as TurnEntry[], path: [] as PathEntry[], actions: [] as ActionEntry[] }
  for await (const step of runFlow(flow, state, dryEffects(caller, model))) {
    if (step.step === 'node') report.path.push(step.entry)
    else if (step.step === 'turn') report.turns.push(step.entry)
    else report.actions.push(step.entry)
    yield step
  }
  return { ...report, ...snapshot(flow, state) }
}

/** The variables that a simulation begins with. */
export const sampleVariables = (graph: Graph): FlowVariables =>
  Object.fromEntries(graph.variables.map(({ name, sample }) => [name, sample ?? null]))

const snapshot = (flow: CompiledFlow, state: FlowState) => ({
  ended: state.phase === 'ended',
  end_reason: state.endReason,
  current_node_key: state.nodeKey,
  variables: redact(state.variables, flow.sensitive),
  coverage: coverageOf(flow, state.visitedNodes, state.takenTransitions),
})

/** Effects that reach nobody: the caller is a script, and actions have the outcome that the request says. */
function dryEffects(caller: SimulatedCaller, model: FlowModel): FlowEffects {
  const next = callerScript(caller)
  return {
    dryRun: true,
    model,
    say: async () => {},
    play: async () => {},
    converse: request => model.reply(request),
    collect: async request => next(request),
    perform: async request => dryResult(request, caller.outcomes),
    isOpen: async () => caller.open ?? true,
  }
}

function dryResult({ node }: ActionRequest, outcomes: SimulatedCaller['outcomes'] = {}): ActionResult {
  const well = typeOf(node)?.action?.simulated ?? 'success'
  const outcome = Object.hasOwn(outcomes, node.key) ? (outcomes[node.key] ?? well) : well
  if (outcome !== well) return { status: 'failed', outcome, output: null }
  return { status: 'succeeded', outcome, output: node.action?.sample_output ?? null }
}

/** Returns the caller's inputs one by one, in the order of the specification: messages, keys, the last message, silence. */
function callerScript(caller: SimulatedCaller): (request: CollectRequest) => CallerInput | null {
  const lines = [...(caller.messages ?? [])]
  let keys = caller.dtmf ?? ''
  let last = caller.message ?? null
  let silent = caller.no_response === true
  return request => {
    const line = lines.shift()
    if (line !== undefined) return { kind: 'speech', text: line }
    if (keys !== '') {
      const { entry, rest } = takeEntry(keys, request.options)
      keys = rest
      return { kind: 'dtmf', digits: entry }
    }
    if (last !== null) {
      const text = last
      last = null
      return { kind: 'speech', text }
    }
    if (!silent) return null
    silent = false
    return { kind: 'no_response' }
  }
}
