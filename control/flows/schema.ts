import Type from 'typebox'
import { captureFields } from '../capture-settings/settings.ts'
import { listParameters } from '../http/list.ts'
import { input, nullable, objectName, oneOf, partialInput } from '../kernel/schema.ts'
import { flowKind, graphInput, variables } from './engine/graph.ts'
import { ISSUE_SEVERITY } from './engine/validation.ts'
import { actionSchema, pathEntrySchema, scalarsSchema, turnSchema } from './step-schema.ts'

const name = objectName()
const description = Type.String({ maxLength: 2000 })
const optional = Type.Optional

export const flowListQuery = input({
  ...listParameters,
  kind: optional(flowKind),
  status: optional(oneOf(['draft', 'published', 'archived'])),
})

export const createBody = input({
  name,
  description: optional(description),
  kind: optional(flowKind),
  graph: optional(graphInput),
  template_id: optional(
    Type.String({ maxLength: 200, description: 'Start with the graph of this template; not with `graph`.' }),
  ),
  ...partialInput(captureFields).properties,
})

export const changeBody = partialInput(captureFields)

export const draftBody = input({
  base_rev: Type.Integer({
    minimum: 1,
    maximum: 2_147_483_647,
    description: 'The `draft_rev` on which the change is based.',
  }),
  graph: graphInput,
  name: optional(name),
  description: optional(description),
})

export const publishBody = input({
  base_rev: optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Publish only if the draft still has this `draft_rev`.',
    }),
  ),
})

export const duplicateBody = input({
  name: optional(objectName('Default: the name with "(copy)".')),
})

export const validateBody = input({
  graph: graphInput,
  flow_id: optional(
    Type.String({ maxLength: 200, description: 'Validate it as the draft of this flow; default: independently.' }),
  ),
})

export const simulateBody = input({
  messages: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), {
      maxItems: 100,
      description: 'Caller lines, one per turn.',
    }),
  ),
  message: optional(Type.String({ minLength: 1, maxLength: 2000, description: 'One more line, after `messages`.' })),
  dtmf: optional(
    Type.String({ pattern: '^[0-9*#A-D]{1,100}$', description: 'Keys, sent after `messages` and before `message`.' }),
  ),
  no_response: optional(Type.Boolean({ description: 'The caller stays silent at the end.' })),
  sim_id: optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Continue this simulation; default: a new one.' }),
  ),
  variables: optional(variables),
  open: optional(Type.Boolean({ description: 'Whether business hours are open during this request; default true.' })),
  outcomes: optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      maxProperties: 100,
      propertyNames: { maxLength: 64 },
      additionalProperties: { type: 'string', maxLength: 64 },
      description:
        'Results of actions, transfers and payments in this request, by the key of their node, for example `busy`; default: success.',
    }),
  ),
  version: optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Published version to simulate; default: the draft.',
    }),
  ),
})

export const flowValidationSchema = Type.Object({
  object: Type.Literal('flow_validation'),
  livemode: Type.Boolean(),
  valid: Type.Boolean({ description: 'There are no errors: the graph can be published.' }),
  issues: Type.Array(
    Type.Object({
      code: Type.String({ description: Object.keys(ISSUE_SEVERITY).join(', ') }),
      severity: Type.String({ description: 'error, warning, task' }),
      message: Type.String(),
      node_key: nullable(Type.String()),
      transition_key: nullable(Type.String()),
      field: nullable(Type.String()),
    }),
  ),
})

export const flowSimulationSchema = Type.Object({
  object: Type.Literal('flow_simulation'),
  id: Type.String({ description: 'Send it as `sim_id` to continue.' }),
  flow_id: Type.String(),
  livemode: Type.Boolean(),
  resumed: Type.Boolean(),
  turns: Type.Array(turnSchema),
  path: Type.Array(pathEntrySchema),
  actions: Type.Array(actionSchema),
  ended: Type.Boolean(),
  end_reason: nullable(
    Type.String({
      description: 'end_node, transfer, voicemail, callback, caller_hangup, no_response_limit, loop_limit, error',
    }),
  ),
  current_node_key: nullable(Type.String()),
  variables: scalarsSchema,
  coverage: Type.Object({
    node_pct: Type.Number(),
    transition_pct: Type.Number(),
    visited_node_keys: Type.Array(Type.String()),
    unvisited_node_keys: Type.Array(Type.String()),
    node_count: Type.Integer(),
    transition_count: Type.Integer(),
  }),
})
