import Type, { type Static } from 'typebox'
import { captureFields, NO_CAPTURE } from '../capture-settings/settings.ts'
import { storedSettings } from '../http/merge.ts'
import { apiObject, input, nullable, objectName, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { callTarget } from '../tools/schema.ts'
import type { AssistantRow } from './tables.ts'

const model = {
  model: Type.String({ minLength: 1, maxLength: 200 }),
  fallback_model: nullable(Type.String({ minLength: 1, maxLength: 200 })),
  temperature: Type.Number({ minimum: 0, maximum: 2 }),
  api: oneOf(['chat', 'responses']),
}
const voice = {
  voice: Type.String({ maxLength: 200, description: 'Name of the voice; empty: the default of the language.' }),
  speed: Type.Number({ minimum: 0.5, maximum: 2 }),
}
const turn = {
  silence_ms: Type.Integer({
    minimum: 200,
    maximum: 5000,
    description: "Silence after which the caller's turn is over.",
  }),
  no_response_ms: Type.Integer({ minimum: 1000, maximum: 60_000, description: 'Wait before asking again.' }),
  interruptible: Type.Boolean({ description: 'The caller may interrupt the assistant.' }),
}
const callbacks = {
  enabled: Type.Boolean({ description: 'The assistant may book callbacks for its callers.' }),
  queue_id: nullable(
    Type.String({
      maxLength: 200,
      description:
        "The queue whose `callbacks` settings apply. Null: the first queue of `hand_overs`, else the organisation's settings.",
    }),
  ),
}
const tool = input({
  name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'As the model sees it.' }),
  description: Type.String({ maxLength: 2000, default: '' }),
  url: Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 2000, description: 'The input is sent to it by POST.' }),
  parameters: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    default: {},
    description: 'JSON Schema of the input.',
  }),
})

const handOver = input({
  name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,40}$', description: 'The model sees it as `transfer_to_<name>`.' }),
  description: Type.String({
    maxLength: 500,
    default: '',
    description: 'For whom it is, and when to use it. The model reads this.',
  }),
  target: callTarget,
})

const fields = {
  prompt: Type.String({ maxLength: 50_000 }),
  greeting: Type.String({ maxLength: 2000, description: 'Said first; empty: the caller speaks first.' }),
  language: Type.String({ pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}$', description: 'For example `he`, `en-GB`.' }),
  tools: Type.Array(tool, {
    maxItems: 50,
    description:
      'HTTP tools of this assistant alone. A tool with secrets, headers or versions is a shared tool (`tool_ids`).',
  }),
  tool_ids: Type.Array(Type.String({ maxLength: 200 }), {
    maxItems: 50,
    uniqueItems: true,
    description: 'Tools shared with other assistants. A call uses the versions that were current when it began.',
  }),
  hand_overs: Type.Array(handOver, { maxItems: 20, description: 'Where the assistant may transfer its calls.' }),
  kb_document_ids: Type.Array(Type.String({ maxLength: 200 }), {
    maxItems: 1000,
    uniqueItems: true,
    description: 'Documents the assistant may answer from; empty: all.',
  }),
  flow_id: nullable(Type.String({ maxLength: 200, description: 'Flow that leads its calls.' })),
  ...captureFields,
}
const settings = {
  ...fields,
  model: Type.Object(model),
  voice: Type.Object(voice),
  turn: Type.Object(turn),
  callbacks: Type.Object(callbacks),
}
const settingsSchema = Type.Object(settings)
export type AssistantSettings = Static<typeof settingsSchema>
/** An HTTP tool of this assistant alone. */
export type AssistantTool = AssistantSettings['tools'][number]
/** A target to which an assistant may hand calls over, and how the model knows it. */
export type HandOver = AssistantSettings['hand_overs'][number]

export const assistantSchema = apiObject('assistant', {
  name: Type.String(),
  ...settings,
  created: timestamp(),
  updated: timestamp(),
})
export type Assistant = Static<typeof assistantSchema>

const name = objectName()
const parts = {
  ...fields,
  model: partialInput(model),
  voice: partialInput(voice),
  turn: partialInput(turn),
  callbacks: partialInput(callbacks),
}
export const createBody = input({ name, ...partialInput(parts).properties })
export const changeBody = partialInput({ name, ...parts })

/** Defaults of an assistant. */
export const DEFAULT_SETTINGS: AssistantSettings = {
  prompt: '',
  greeting: '',
  language: 'en',
  tools: [],
  tool_ids: [],
  hand_overs: [],
  kb_document_ids: [],
  flow_id: null,
  ...NO_CAPTURE,
  model: { model: 'default', fallback_model: null, temperature: 0.4, api: 'chat' },
  voice: { voice: '', speed: 1 },
  turn: { silence_ms: 700, no_response_ms: 8000, interruptible: true },
  callbacks: { enabled: true, queue_id: null },
}

export const settingsOf = (row: Pick<AssistantRow, 'settings'>): AssistantSettings =>
  storedSettings(DEFAULT_SETTINGS, row.settings)

export const toAssistant = (row: AssistantRow): Assistant => showRow(assistantSchema, row, settingsOf(row))
