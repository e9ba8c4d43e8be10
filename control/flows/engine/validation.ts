import { compileSpoken } from '../../kernel/pattern.ts'
import { unusedFields, unusedOfCondition } from '../unused-fields.ts'
import { compileFlow } from './compiled-flow.ts'
import { CONDITION_KINDS, FALLBACKS } from './conditions.ts'
import { cyclesWithoutInput, reachable } from './cycles.ts'
import { type FlowNode, type Graph, type Transition, transitionKey } from './graph.ts'
import type { FlowKind } from './node-type.ts'
import { typeOf } from './node-types.ts'
import { BUILT_IN, namesIn } from './template.ts'

/** The severity of each code. */
export const ISSUE_SEVERITY = {
  no_start: 'error',
  multiple_starts: 'error',
  dead_end: 'error',
  unreachable_node: 'error',
  unknown_next: 'error',
  duplicate_key: 'error',
  unknown_node_type: 'error',
  unknown_condition_kind: 'error',
  missing_field: 'error',
  missing_asset: 'error',
  missing_target: 'error',
  wrong_target: 'error',
  unknown_variable: 'error',
  kind_mismatch: 'error',
  infinite_loop: 'error',
  no_fallback: 'warning',
  sensitive_unmasked: 'warning',
  unused_field: 'warning',
  missing_recording: 'task',
} as const

export type IssueCode = keyof typeof ISSUE_SEVERITY

export interface Issue {
  code: IssueCode
  severity: 'error' | 'warning' | 'task'
  message: string
  /** Null: the whole graph. */
  node_key: string | null
  transition_key: string | null
  field: string | null
}

/** What the graph is validated against. */
interface Surroundings {
  /** The kind of the flow that the graph is for. */
  kind: FlowKind
  /** IDs of the audio assets that exist. */
  assets: ReadonlySet<string>
  /** `targetKey`s of existing targets. */
  targets: ReadonlySet<string>
}

export const targetKey = ({ type, id }: { type: string; id: string }): string => `${type} ${id}`

/** Whether a target is given by an ID, not by a variable, so that its existence can be checked before a call. */
export const isNamed = ({ type, id }: NonNullable<FlowNode['target']>): boolean =>
  type !== 'number' && type !== 'sip' && namesIn(id).length === 0

type Where = { node?: FlowNode; transition?: string; field?: string }

const issue = (code: IssueCode, message: string, { node, transition, field }: Where = {}): Issue => ({
  code,
  severity: ISSUE_SEVERITY[code],
  message,
  node_key: node?.key ?? null,
  transition_key: transition ?? null,
  field: field ?? null,
})

/** What prevents publishing, then warnings, then tasks. */
export function validateGraph(graph: Graph, around: Surroundings): Issue[] {
  const order = ['error', 'warning', 'task']
  return [
    ...wholeGraph(graph, around),
    ...graph.nodes.flatMap(node => [
      ...nodeIssues(node, graph, around),
      ...(node.transitions ?? []).flatMap((transition, index) =>
        transitionIssues(node, transition, transitionKey(node, index), graph),
      ),
    ]),
    ...variableIssues(graph),
  ].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
}

/** No errors: it can be published. */
export const isValid = (issues: readonly Issue[]): boolean => issues.every(({ severity }) => severity !== 'error')

function wholeGraph(graph: Graph, { kind }: Surroundings): Issue[] {
  const starts = graph.nodes.filter(node => node.type === 'start')
  const flow = compileFlow(graph)
  const found = [
    ...(graph.kind === kind ? [] : [issue('kind_mismatch', `The flow is of kind ${kind}.`, { field: 'kind' })]),
    ...(starts.length === 0 ? [issue('no_start', 'The graph has no node of type start.')] : []),
    ...starts.slice(1).map(node => issue('multiple_starts', 'The graph already has a start.', { node })),
    ...repeated(graph.nodes.map(node => node.key)).map(index => {
      const node = graph.nodes[index] as FlowNode
      return issue('duplicate_key', `Another node has the key ${node.key}.`, { node, field: 'key' })
    }),
  ]
  const seen = reachable(flow)
  const unseen = starts.length === 0 ? [] : [...flow.nodes.values()].filter(node => !seen.has(node.key))
  return [
    ...found,
    ...unseen.map(node => issue('unreachable_node', 'This node cannot be reached from the start.', { node })),
    ...cyclesWithoutInput(flow).map(node =>
      issue('infinite_loop', 'This node is in a loop that never waits for the caller.', { node }),
    ),
  ]
}

/** The positions of repeated words. */
const repeated = (words: readonly string[]): number[] =>
  words.flatMap((word, index) => (words.indexOf(word) < index ? [index] : []))

function nodeIssues(node: FlowNode, graph: Graph, { assets, targets }: Surroundings): Issue[] {
  const type = typeOf(node)
  if (type === undefined) {
    return [issue('unknown_node_type', `There is no node type ${node.type}.`, { node, field: 'type' })]
  }
  const transitions = node.transitions ?? []
  const isWrongKind = type.kinds !== undefined && !type.kinds.includes(graph.kind)
  const asset = node.asset_id ?? null
  const speaks = type.behaviour === 'speak' || type.behaviour === 'listen'
  const kinds = transitions.map(({ condition }) => condition.kind)
  const judges = kinds.length > 0 && !kinds.some(kind => FALLBACKS.includes(kind))
  return [
    ...(isWrongKind
      ? [issue('kind_mismatch', `${node.type} has no place in a flow of kind ${graph.kind}.`, { node, field: 'type' })]
      : []),
    ...(type.needs ?? []).filter(need => !has(node, need)).map(need => missingField(node, need)),
    ...(asset !== null && !assets.has(asset)
      ? [issue('missing_asset', `There is no audio asset ${asset}.`, { node, field: 'asset_id' })]
      : []),
    ...(node.target !== undefined && isNamed(node.target) && !targets.has(targetKey(node.target))
      ? [
          issue('missing_target', `There is no ${node.target.type} ${node.target.id} that could take a call.`, {
            node,
            field: 'target.id',
          }),
        ]
      : []),
    ...wrongTarget(node),
    ...unusedFields(node).map(field =>
      issue('unused_field', `A node of type ${node.type} does not use ${field}.`, { node, field }),
    ),
    ...(transitions.length === 0 && type.final === undefined
      ? [issue('dead_end', 'Nothing follows this node.', { node, field: 'transitions' })]
      : []),
    ...(judges && type.final === undefined
      ? [issue('no_fallback', 'No node follows if none of its conditions matches.', { node })]
      : []),
    ...(graph.kind === 'ivr' && speaks && asset === null && node.script !== undefined && node.script !== ''
      ? [issue('missing_recording', 'The script has no recording; it will be spoken.', { node, field: 'asset_id' })]
      : []),
    ...repeated(transitions.map((_, index) => transitionKey(node, index))).map(index => {
      const transition = transitionKey(node, index)
      return issue('duplicate_key', `Another transition has the key ${transition}.`, { node, transition, field: 'key' })
    }),
  ]
}

function wrongTarget(node: FlowNode): Issue[] {
  const { targets } = typeOf(node) ?? {}
  const { target } = node
  if (target === undefined || targets === undefined || targets.includes(target.type)) return []
  const message = `A node of type ${node.type} cannot lead to a ${target.type}, only to: ${targets.join(', ')}.`
  return [issue('wrong_target', message, { node, field: 'target.type' })]
}

const missingField = (node: FlowNode, need: string, transition?: string): Issue => {
  const words = need.replaceAll('|', ' or ')
  const field = `${transition === undefined ? '' : 'condition.'}${need.split('|')[0]}`
  const subject = transition === undefined ? `A node of type ${node.type}` : 'The condition'
  return issue('missing_field', `${subject} needs ${words}.`, {
    node,
    field,
    ...(transition === undefined ? {} : { transition }),
  })
}

/** Whether one of the fields that `need` names has a value. */
function has(holder: object, need: string): boolean {
  return need.split('|').some(path => {
    const value = path
      .split('.')
      .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], holder)
    if (value === undefined || value === null || value === '') return value === null && path === 'right'
    return !Array.isArray(value) || value.length > 0
  })
}

function transitionIssues(node: FlowNode, { condition, next }: Transition, key: string, graph: Graph): Issue[] {
  const at = { node, transition: key }
  const kind = Object.hasOwn(CONDITION_KINDS, condition.kind) ? CONDITION_KINDS[condition.kind] : undefined
  const pattern = condition.pattern === undefined ? null : compileSpoken(condition.pattern)
  return [
    ...(next === null
      ? [issue('dead_end', 'This transition leads nowhere.', { ...at, field: 'next' })]
      : graph.nodes.some(other => other.key === next)
        ? []
        : [issue('unknown_next', `There is no node ${next}.`, { ...at, field: 'next' })]),
    ...(kind === undefined
      ? [
          issue('unknown_condition_kind', `There is no condition kind ${condition.kind}.`, {
            ...at,
            field: 'condition.kind',
          }),
        ]
      : []),
    ...(kind?.needs ?? []).filter(need => !has(condition, need)).map(need => missingField(node, need, key)),
    ...unusedOfCondition(condition).map(field =>
      issue('unused_field', `A condition of kind ${condition.kind} does not use ${field}.`, {
        ...at,
        field: `condition.${field}`,
      }),
    ),
    ...(typeof pattern === 'string'
      ? [issue('missing_field', `The pattern is not valid: ${pattern}.`, { ...at, field: 'condition.pattern' })]
      : []),
  ]
}

function variableIssues(graph: Graph): Issue[] {
  const flow = compileFlow(graph)
  const made = graph.nodes.flatMap(node => [
    ...(node.save_as === undefined ? [] : [node.save_as]),
    ...Object.keys(node.set ?? {}),
  ])
  const known = new Set([...BUILT_IN, ...graph.variables.map(variable => variable.name), ...made])
  return graph.nodes.flatMap(node =>
    uses(node).flatMap(({ name, field, transition, shown }) => [
      ...(known.has(name) ? [] : [issue('unknown_variable', `No node sets ${name}.`, { node, field, ...transition })]),
      ...(shown && flow.sensitive.has(name)
        ? [issue('sensitive_unmasked', `${name} is sensitive and leaves the call here.`, { node, field })]
        : []),
    ]),
  )
}

interface Use {
  name: string
  field: string
  transition?: { transition: string }
  /** Whether the value is spoken or sent away. */
  shown: boolean
}

/** Every place of a node that names a variable. */
function uses(node: FlowNode): Use[] {
  const inText = (field: string, script: unknown): Use[] =>
    typeof script === 'string' ? namesIn(script).map(name => ({ name, field, shown: true })) : []
  return [
    ...inText('script', node.script),
    ...inText('ai.goal', node.ai?.goal),
    ...Object.entries(node.action?.input ?? {}).flatMap(([name, value]) => inText(`action.input.${name}`, value)),
    ...Object.entries(node.set ?? {}).flatMap(([name, value]) =>
      inText(`set.${name}`, value).map(use => ({ ...use, shown: false })),
    ),
    ...inText('payment.amount', node.payment?.amount),
    ...inText('payment.description', node.payment?.description),
    ...inText('target.id', node.target?.id),
    ...(node.transitions ?? []).flatMap(({ condition }, index) => {
      const transition = { transition: transitionKey(node, index) }
      const named = { left: condition.left, variable: condition.variable }
      return Object.entries(named).flatMap(([field, name]) =>
        name === undefined ? [] : [{ name, field: `condition.${field}`, transition, shown: false }],
      )
    }),
  ]
}
