import Type, { type Static } from 'typebox'
import { input, nullable, oneOf } from '../../kernel/schema.ts'
import { FLOW_KINDS, type FlowKind, TARGET_TYPES } from './node-type.ts'
import { describeNodeTypes } from './node-types.ts'

/**
 * A flow graph as clients write it. Shapes are checked by these schemas; what the graph
 * means (known types, reachable nodes) is checked by `validation.ts`, so that an unfinished draft can be saved.
 */

export const flowKind = oneOf([...FLOW_KINDS], {
  description: "voice drives an AI assistant; agent_script is a human agent's branching script; ivr is a phone menu.",
})

export type FlowValue = string | number | boolean | null

const flowValue = Type.Unsafe<FlowValue>({ type: ['string', 'number', 'boolean', 'null'], maxLength: 2000 })

const key = (description: string) => Type.String({ minLength: 1, maxLength: 64, description })
const text = (description: string, maxLength = 5000) => Type.String({ maxLength, description })
const name = (description: string) =>
  Type.String({ maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$', description: `${description}: letters, digits, _` })
const words = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 50, description })

export const variables = Type.Unsafe<Record<string, FlowValue>>({
  type: 'object',
  maxProperties: 100,
  propertyNames: { maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$' },
  additionalProperties: flowValue,
})

const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'starts_with', 'ends_with'] as const

const optional = Type.Optional

const conditionSchema = input({
  kind: Type.String({
    minLength: 1,
    maxLength: 64,
    description:
      'always, dtmf, match, expression, filled, no_response, no_match, outcome, schedule, intent, global, else',
  }),
  digits: optional(Type.String({ pattern: '^[0-9*#A-D]{1,20}$', description: 'dtmf, global: the keys pressed.' })),
  phrases: optional(words('match, global: phrases, of which one occurs in what the caller says or presses.')),
  pattern: optional(text('match, global: a regular expression over what the caller says or presses.', 500)),
  left: optional(name('expression: a variable')),
  op: optional(oneOf([...OPERATORS])),
  right: optional(flowValue),
  variable: optional(name('filled: this variable has a value')),
  value: optional(text('outcome: how the action, transfer or payment of the node went.', 64)),
  open: optional(Type.Boolean({ description: 'schedule: whether business hours are open.' })),
  description: optional(text('intent, global: what the caller wants, judged by the model.', 500)),
  examples: optional(words('intent, global: what callers with this intent say.')),
})

const transitionSchema = input({
  key: optional(key('Names the transition in paths and issues; default: the key of the node, a dot and its index.')),
  condition: conditionSchema,
  next: nullable(key('Key of the next node; null: not decided yet.')),
})

const target = input({
  type: oneOf([...TARGET_TYPES]),
  id: Type.String({ minLength: 1, maxLength: 255, description: 'ID, number or SIP URI.' }),
})

const nodeSchema = input({
  key: key('Unique in the graph.'),
  type: Type.String({ minLength: 1, maxLength: 64, description: describeNodeTypes() }),
  label: optional(text('Label for people.', 200)),
  script: optional(text('What is said; {{variable}} is replaced by its value.')),
  asset_id: optional(nullable(text('Audio asset to play instead of speaking the script.', 200))),
  ai: optional(
    input({ goal: optional(text('What the model should achieve.')), model: optional(text('Model name.', 100)) }),
  ),
  input: optional(
    input({
      modes: optional(Type.Array(oneOf(['speech', 'dtmf']), { minItems: 1, maxItems: 2 })),
      timeout_ms: optional(Type.Integer({ minimum: 500, maximum: 120_000 })),
      max_retries: optional(Type.Integer({ minimum: 0, maximum: 10 })),
      barge_in: optional(
        Type.Boolean({
          description:
            'Default true: keys and words end the prompt, and keys pressed before it count. false: it is heard to its end.',
        }),
      ),
      sensitive: optional(Type.Boolean({ description: 'The answer is shown to nobody.' })),
    }),
  ),
  save_as: optional(name('Variable that receives the answer')),
  set: optional(variables),
  action: optional(
    input({
      kind: optional(oneOf(['api', 'tool'])),
      name: optional(text('Which action, or which tool of the assistant.', 100)),
      url: optional(
        Type.String({
          pattern: '^https?://[^\\s]+$',
          maxLength: 2000,
          description: 'api: the input is sent by POST; outcome success, failed or timeout.',
        }),
      ),
      input: optional(variables),
      sample_output: optional(flowValue),
    }),
  ),
  target: optional(target),
  payment: optional(
    input({
      amount: optional(text('Amount, or {{variable}}. The payment line gets all three as JSON in `User-to-User`.', 64)),
      currency: optional(Type.String({ pattern: '^[A-Z]{3}$' })),
      description: optional(text('What the payment is for.', 200)),
    }),
  ),
  transitions: optional(Type.Array(transitionSchema, { maxItems: 50 })),
})

const variableSchema = input({
  name: name('Name used in scripts'),
  label: optional(text('For people.', 200)),
  sample: optional(flowValue),
  sensitive: optional(Type.Boolean({ description: 'Its value is redacted wherever it would appear.' })),
})

const settingsSchema = input({
  language: optional(text('Language code of the call.', 20)),
  instructions: optional(text('What the model is told at every node.')),
})

const MAX_NODES = 500

/** `FlowGraphParamsInput` of the specification. */
export const graphInput = input({
  nodes: Type.Array(nodeSchema, { maxItems: MAX_NODES }),
  kind: optional(flowKind),
  schema_version: optional(Type.Literal(1)),
  settings: optional(settingsSchema),
  variables: optional(Type.Array(variableSchema, { maxItems: 100 })),
})

/** A stored graph: no part is missing, and every transition has a key. */
export const graphSchema = Type.Object({
  kind: flowKind,
  schema_version: Type.Literal(1),
  settings: settingsSchema,
  variables: Type.Array(variableSchema),
  nodes: Type.Array(nodeSchema),
})

export type Condition = Static<typeof conditionSchema>
export type FlowNode = Static<typeof nodeSchema>
export type Transition = Static<typeof transitionSchema>
export type GraphInput = Static<typeof graphInput>
export type Graph = Static<typeof graphSchema>

/** The key by which paths, coverage and issues name the transition at `index` of a node. */
export const transitionKey = (node: FlowNode, index: number): string =>
  node.transitions?.[index]?.key ?? `${node.key}.${index}`

/** The smallest graph that can be published. */
export const emptyGraph = (kind: FlowKind): Graph => ({
  kind,
  schema_version: 1,
  settings: {},
  variables: [],
  nodes: [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'end' }] },
    { key: 'end', type: 'end' },
  ],
})

/**
 * The graph that is stored when `sent` is written over `stored`: settings merge, variables stay unless sent. Nodes are matched
 * by key: a label, and the recording of a script that did not change, stay although they are not sent again.
 */
export function mergeGraph(stored: Graph, sent: GraphInput): Graph {
  const before = new Map(stored.nodes.map(node => [node.key, node]))
  return {
    kind: stored.kind,
    schema_version: 1,
    settings: { ...stored.settings, ...sent.settings },
    variables: sent.variables ?? stored.variables,
    nodes: sent.nodes.map(node => ({ ...kept(before.get(node.key), node), ...node })),
  }
}

function kept(stored: FlowNode | undefined, sent: FlowNode): Partial<FlowNode> {
  if (stored === undefined || stored.type !== sent.type) return {}
  const { label, asset_id: assetId } = stored
  const recorded = assetId !== undefined && stored.script === sent.script
  return { ...(label === undefined ? {} : { label }), ...(recorded ? { asset_id: assetId } : {}) }
}
