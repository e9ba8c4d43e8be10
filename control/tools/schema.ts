import Type, { type Static } from 'typebox'
import {
  apiObject,
  input,
  jsonObject,
  metadata,
  metadataChange,
  nullable,
  oneOf,
  partialInput,
  timestamp,
} from '../kernel/schema.ts'
import { TOOL_KINDS } from './built-in.ts'

const texts = (limits: { pairs: number; name: string; nameLength: number; length: number }, description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: limits.pairs,
    propertyNames: { maxLength: limits.nameLength, pattern: limits.name },
    additionalProperties: { type: 'string', maxLength: limits.length },
    description,
  })

const http = {
  method: oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: Type.String({
    pattern: '^https?://[^\\s{}/?#]+([/?#][^\\s]*)?$',
    maxLength: 2000,
    description: '`{{parameter}}` is allowed after the host; secrets are not allowed.',
  }),
  headers: texts(
    { pairs: 30, name: '^[A-Za-z][A-Za-z0-9-]*$', nameLength: 64, length: 2000 },
    '`{{parameter}}` and `{{secret:NAME}}` are filled in.',
  ),
  body: nullable(
    jsonObject(
      'Placeholders in its texts are filled in. A text that is only `{{parameter}}` becomes the value, with its type. Null: the parameters that are not used elsewhere; for GET and DELETE, in the query.',
    ),
  ),
  body_format: oneOf(['json', 'form']),
  timeout_ms: Type.Integer({ minimum: 500, maximum: 20_000, description: 'Time-out of one attempt.' }),
  retries: Type.Integer({
    minimum: 0,
    maximum: 3,
    description:
      'After no answer, 429 or 5xx. All attempts together take 30 s at most and share one `Idempotency-Key`.',
  }),
  response: texts(
    { pairs: 20, name: '^[A-Za-z][A-Za-z0-9_]*$', nameLength: 64, length: 200 },
    'What the model gets: names, each with a JSONPath (RFC 9535) into the answer. Empty: the whole answer.',
  ),
}
/** Possible targets of a transfer. */
export const callTarget = input({
  type: oneOf(['queue', 'user', 'number', 'assistant', 'flow', 'room']),
  id: Type.String({ minLength: 1, maxLength: 255, description: 'An ID, a number in E.164, or a SIP URI.' }),
})
const payment = {
  currency: Type.String({ pattern: '^[A-Z]{3}$' }),
  number: nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: "The payment line; null: the organisation's first payment number.",
    }),
  ),
}
const knowledge = {
  document_ids: Type.Array(Type.String({ maxLength: 200 }), {
    maxItems: 100,
    uniqueItems: true,
    description: "Documents to search; empty: the assistant's, else all.",
  }),
}

const description = Type.String({
  maxLength: 2000,
  description: 'What it does and when to use it. The model reads this.',
})
const parameters = jsonObject("JSON Schema of the model's arguments.")

/** The versioned fields. Each kind has only its own part; the others are null. */
const definition = {
  description,
  parameters,
  http: nullable(Type.Object(http)),
  target: nullable(callTarget),
  payment: nullable(Type.Object(payment)),
  knowledge: nullable(Type.Object(knowledge)),
}
const definitionSchema = Type.Object(definition)
export type Definition = Static<typeof definitionSchema>
export type HttpSettings = NonNullable<Definition['http']>

const name = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,50}$',
  description:
    'Name that the model sees; it sees a transfer as `transfer_to_NAME`. Other built-in kinds are named as their kind. It cannot be changed.',
})

export const toolSchema = apiObject('tool', {
  name,
  kind: oneOf(TOOL_KINDS),
  version: Type.Integer({ description: 'Incremented when its behaviour changes.' }),
  ...definition,
  secrets: Type.Array(Type.String(), { description: 'The secrets that it uses.' }),
  metadata,
  created: timestamp(),
  updated: timestamp(),
})
export type Tool = Static<typeof toolSchema>

export const toolVersionSchema = apiObject('tool_version', {
  tool_id: Type.String(),
  version: Type.Integer(),
  ...definition,
  created: timestamp(),
})

const parts = {
  description,
  parameters,
  http: partialInput(http),
  target: callTarget,
  payment: partialInput(payment),
  knowledge: partialInput(knowledge),
  metadata,
}
export const createBody = input({
  kind: Type.Optional(oneOf(TOOL_KINDS, { description: 'Absent: http.' })),
  name: Type.Optional(name),
  ...partialInput(parts).properties,
})
export const changeBody = partialInput({ ...parts, metadata: metadataChange })
export type SentParts = Static<typeof changeBody>

const version = Type.Integer({ minimum: 1, maximum: 1_000_000 })
export const restoreBody = input({ version })
export const testBody = partialInput({
  mode: oneOf(['dry', 'real'], { description: 'dry, the default: nothing is sent.' }),
  arguments: jsonObject('The arguments that a model would give.'),
  version,
  call: input({
    call_id: Type.Optional(Type.String({ maxLength: 200 })),
    caller: Type.Optional(Type.String({ maxLength: 255 })),
    called: Type.Optional(Type.String({ maxLength: 255 })),
  }),
})

export const toolTestSchema = Type.Object({
  object: Type.Literal('tool_test'),
  tool_id: Type.String(),
  livemode: Type.Boolean(),
  version: Type.Integer(),
  mode: oneOf(['dry', 'real']),
  status: Type.String({ description: 'succeeded, failed' }),
  request: nullable(
    Type.Object({
      method: Type.String(),
      url: Type.String(),
      headers: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
      body: nullable(Type.String()),
    }),
  ),
  output: nullable(Type.String({ description: 'What the model would get; null for a dry test.' })),
  http_status: nullable(Type.Integer()),
  attempts: Type.Integer(),
  duration_ms: Type.Integer(),
})
export type ToolTest = Static<typeof toolTestSchema>
