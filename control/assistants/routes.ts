import Type, { type Static } from 'typebox'
import { captureFields, NO_CAPTURE } from '../capture-settings/settings.ts'
import type { StreamsProblem } from '../capture-settings/streams-problem.ts'
import type { Context } from '../http/context.ts'
import type { Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { type Plain, plainRoutes } from '../http/plain-resource.ts'
import { type Exists, listReferences, referenceProblem, type UsesOf } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { firstUrlProblem, type ServerUrlProblem } from '../http/url-policy.ts'
import { newId } from '../kernel/ids.ts'
import { apiObject, input, nullable, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import type { OfferedModels } from '../models/offered.ts'
import { callTarget } from '../tools/schema.ts'
import type { OfferedVoices } from '../voices/offered.ts'
import { handOverProblem } from './hand-overs.ts'
import type { AssistantRow } from './tables.ts'
import { toolNamesProblem } from './tool-users.ts'

interface AssistantDeps {
  store: Store
  now: () => Date
  exists: { flow: Exists; queue: Exists; kbDocument: Exists; tool: Exists }
  /** Checks the URLs of tools. */
  urlProblem: ServerUrlProblem
  /** Why an assistant cannot be deleted. */
  usesOf: UsesOf
  streamsProblem: StreamsProblem
  voices: OfferedVoices
  models: OfferedModels
}

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
type Settings = Static<typeof settingsSchema>

const assistantSchema = apiObject('assistant', {
  name: Type.String(),
  ...settings,
  created: timestamp(),
  updated: timestamp(),
})
type Assistant = Static<typeof assistantSchema>

const name = Type.String({ minLength: 1, maxLength: 200 })
const parts = {
  ...fields,
  model: partialInput(model),
  voice: partialInput(voice),
  turn: partialInput(turn),
  callbacks: partialInput(callbacks),
}
const createBody = input({ name, ...partialInput(parts).properties })
const changeBody = partialInput({ name, ...parts })

/** Defaults of an assistant. */
export const ASSISTANT_DEFAULTS: Settings = {
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

export function assistantRoutes(deps: AssistantDeps): Route[] {
  const plain: Plain<'assistants', typeof assistantSchema> = {
    store: deps.store,
    table: 'assistants',
    object: 'assistant',
    path: '/assistants',
    api: operations('Assistants', 'assistants'),
    reply: assistantSchema,
    toObject: toAssistant,
  }
  return plainRoutes(
    plain,
    { createBody, create: create(deps), changeBody, change: change(deps) },
    {
      description: '409 while a queue or an open callback uses it; `details.used_by` lists them.',
      usesOf: deps.usesOf,
    },
  )
}

/** Checks names against what the installation offers. A stored older name stays valid until it is changed. */
const offerProblem = (
  { voices, models }: AssistantDeps,
  { voice, model }: Pick<Static<typeof changeBody>, 'voice' | 'model'>,
): Problem | null =>
  voices.problem('voice.voice', voice?.voice) ??
  models.problem('model.model', model?.model) ??
  models.problem('model.fallback_model', model?.fallback_model)

const create =
  (deps: AssistantDeps) =>
  async (context: Context, body: Static<typeof createBody>): Promise<Assistant | Problem> => {
    const { name, ...sent } = body
    const misled = offerProblem(deps, sent) ?? (await addressProblem(deps, sent))
    if (misled !== null) return misled
    const chosen = merge(ASSISTANT_DEFAULTS, sent)
    const at = deps.now().toISOString()
    return context.transaction(async trx => {
      const refused =
        (await refusal(deps, trx, context, { sent, chosen })) ?? (await toolNamesProblem(trx, context, chosen))
      if (refused !== null) return refused
      const row = { id: newId('assistant'), name, ...columns(chosen), created: at, updated: at }
      await forTenant(trx, context).insert('assistants', row)
      return toAssistant({ ...row, ...ownedBy(context) })
    })
  }

const change =
  (deps: AssistantDeps) =>
  async (context: Context, id: string, body: Static<typeof changeBody>): Promise<Assistant | Problem> => {
    const { name, ...sent } = body
    const misled = offerProblem(deps, sent) ?? (await addressProblem(deps, sent))
    if (misled !== null) return misled
    return context.withRow('assistants', 'assistant', id, async (trx, row) => {
      const before = settingsOf(row)
      const chosen = merge(before, sent)
      const refused =
        (await refusal(deps, trx, context, { sent, chosen, before })) ?? (await toolNamesProblem(trx, context, chosen))
      if (refused !== null) return refused
      const changed = { name: name ?? row.name, ...columns(chosen), updated: deps.now().toISOString() }
      await forTenant(trx, context).change('assistants', id, changed)
      return toAssistant({ ...row, ...changed })
    })
  }

/** Checks the URLs of streams and tools. */
const addressProblem = async (
  { streamsProblem, urlProblem }: AssistantDeps,
  { streams, tools = [] }: Pick<Static<typeof changeBody>, 'streams' | 'tools'>,
): Promise<Problem | null> =>
  (await streamsProblem(streams)) ??
  firstUrlProblem(
    urlProblem,
    tools.map(({ url }, index) => ({ url, param: `tools[${index}].url` })),
  )

const columns = (chosen: Settings) => ({ flow_id: chosen.flow_id, settings: JSON.stringify(chosen) })

async function refusal(
  deps: AssistantDeps,
  trx: Trx,
  context: Context,
  {
    sent,
    chosen,
    before,
  }: { sent: Pick<Static<typeof changeBody>, 'hand_overs'>; chosen: Settings; before?: Settings },
): Promise<Problem | null> {
  const had = before && references(deps, before)
  const refused = await referenceProblem(trx, context, references(deps, chosen), had)
  return refused ?? handOverProblem(trx, context, sent.hand_overs ?? [])
}

const references = (
  { exists }: AssistantDeps,
  { flow_id, callbacks, tool_ids, kb_document_ids: documents }: Settings,
) => [
  { param: 'flow_id', id: flow_id, kind: 'flow', exists: exists.flow },
  { param: 'callbacks.queue_id', id: callbacks.queue_id, kind: 'queue', exists: exists.queue },
  ...listReferences('tool_ids', tool_ids, 'tool', exists.tool),
  ...listReferences('kb_document_ids', documents, 'knowledge-base document', exists.kbDocument),
]

/** Rows of older versions lack newer fields. */
const settingsOf = (row: AssistantRow): Settings => ({
  ...NO_CAPTURE,
  tool_ids: ASSISTANT_DEFAULTS.tool_ids,
  hand_overs: ASSISTANT_DEFAULTS.hand_overs,
  callbacks: ASSISTANT_DEFAULTS.callbacks,
  ...(JSON.parse(row.settings) as Omit<Settings, 'hand_overs' | 'callbacks' | 'tool_ids'>),
})

const toAssistant = (row: AssistantRow): Assistant => showRow(assistantSchema, row, { ...settingsOf(row) })
