import { compileFlow } from '../../flows/engine/compiled-flow.ts'
import { holds } from '../../flows/engine/conditions.ts'
import type { FlowEffects } from '../../flows/engine/effects.ts'
import { runFlow } from '../../flows/engine/engine.ts'
import type { FlowNode, Graph } from '../../flows/engine/graph.ts'
import { type FlowState, newState } from '../../flows/engine/state.ts'
import { fill } from '../../flows/engine/template.ts'
import { jsonCopy } from '../../kernel/json-copy.ts'

/** Progress of an agent's script. Plain JSON, which is stored in the session's row. */
export interface ScriptState {
  nodeKey: string | null
  flow: FlowState
  /** Earlier steps, newest last, to go back to. */
  before: FlowState[]
  /** The message that shows the step. */
  seq: number | null
}

/** A step as the desktop shows it. */
interface ShownStep {
  node_key: string
  label: string
  text: string
  choices: { key: string; label: string; next: string | null }[]
}

/** `said`: the customer's words. `choice`: an exit that the agent clicks; null: the only one, or the default. */
export type ScriptMove =
  | { kind: 'start' }
  | { kind: 'said'; text: string }
  | { kind: 'choice'; key: string | null }
  | { kind: 'back' }

const MAX_BACK = 30

/** Moves a script; null: it stays. Performs no actions: what a step asks for is up to the agent. */
export async function moveScript(
  graph: Graph,
  state: ScriptState | null,
  move: ScriptMove,
): Promise<ScriptState | null> {
  if (move.kind === 'start') return run(graph, { nodeKey: null, flow: newState({}), before: [], seq: null }, null)
  if (state === null) return null
  if (move.kind === 'back') return back(state)
  const compiled = compileFlow(graph)
  const node = compiled.nodes.get(state.nodeKey ?? '')
  if (node === undefined) return null
  const exits = compiled.exits.get(node.key) ?? []
  if (move.kind === 'said') {
    const facts = {
      input: { kind: 'speech' as const, text: move.text },
      variables: state.flow.variables,
      outcome: null,
      isOpen: true,
    }
    const isHeard = [...exits, ...compiled.globals].some(
      ({ transition: { condition } }) =>
        (condition.kind === 'match' || condition.kind === 'global') && holds(condition, facts),
    )
    return isHeard ? run(graph, entered(state, state.flow), move.text) : null
  }
  const exit = move.key === null ? (exits.find(isFallback) ?? exits[0]) : exits.find(({ key }) => key === move.key)
  const next = compiled.nodes.get(exit?.transition.next ?? '')
  if (next === undefined) return null
  const flow: FlowState = {
    ...jsonCopy(state.flow),
    phase: 'entering',
    nodeKey: next.key,
    retries: 0,
    nodesSinceInput: 0,
  }
  return run(graph, entered(state, flow), null)
}

const isFallback = ({ transition: { condition } }: { transition: { condition: { kind: string } } }): boolean =>
  condition.kind === 'always' || condition.kind === 'else' || condition.kind === 'no_match'

/** The step that is left is kept to go back to. */
const entered = (state: ScriptState, flow: FlowState): ScriptState => ({
  ...state,
  flow: jsonCopy(flow),
  before: [...state.before, state.flow].slice(-MAX_BACK),
})

function back(state: ScriptState): ScriptState | null {
  const flow = state.before.at(-1)
  return flow === undefined ? null : { ...state, flow, nodeKey: flow.nodeKey, before: state.before.slice(0, -1) }
}

async function run(graph: Graph, state: ScriptState, said: string | null): Promise<ScriptState> {
  let input = said
  const flow = jsonCopy(state.flow)
  const effects: FlowEffects = {
    dryRun: true,
    model: { judge: async () => ({ failure: 'unavailable', message: 'a script is not judged' }) },
    say: async () => {},
    play: async () => {},
    converse: async () => ({ failure: 'unavailable', message: 'a script does not speak' }),
    collect: async () => {
      const text = input
      input = null
      return text === null ? null : { kind: 'speech', text }
    },
    perform: async () => ({ status: 'succeeded', outcome: 'success', output: null }),
    isOpen: async () => true,
  }
  for await (const _ of runFlow(compileFlow(graph), flow, effects));
  return { ...state, flow, nodeKey: flow.phase === 'ended' ? null : flow.nodeKey }
}

/** The step as the desktop shows it; null: the script is over. */
export function shownStep(graph: Graph, { nodeKey, flow }: ScriptState): ShownStep | null {
  const compiled = compileFlow(graph)
  const node = compiled.nodes.get(nodeKey ?? '')
  if (node === undefined) return null
  const exits = compiled.exits.get(node.key) ?? []
  return {
    node_key: node.key,
    label: node.label ?? '',
    text: String(fill(node.script ?? '', flow.variables)),
    choices: exits
      .filter(({ transition }) => transition.next !== null)
      .map(({ key, transition: { condition, next } }) => ({
        key,
        label:
          condition.phrases?.[0] ?? condition.description ?? labelOf(compiled.nodes.get(next ?? '')) ?? condition.kind,
        next,
      })),
  }
}

const labelOf = (node: FlowNode | undefined): string | undefined => node?.label ?? node?.key
