import type { Static } from 'typebox'
import type { StreamsProblem } from '../capture-settings/streams-problem.ts'
import type { Context } from '../http/context.ts'
import type { Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { plainOf, plainRoutes } from '../http/plain-resource.ts'
import { type Exists, listReferences, referenceProblem, type UsesOf } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { firstUrlProblem, type ServerUrlProblem } from '../http/url-policy.ts'
import { newId } from '../kernel/ids.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import type { OfferedModels } from '../models/offered.ts'
import type { OfferedVoices } from '../voices/offered.ts'
import { handOverProblem } from './hand-overs.ts'
import {
  type Assistant,
  type AssistantSettings,
  assistantSchema,
  changeBody,
  createBody,
  DEFAULT_SETTINGS,
  settingsOf,
  toAssistant,
} from './schema.ts'
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

export function assistantRoutes(deps: AssistantDeps): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'assistants',
    api: operations('Assistants', 'assistants'),
    reply: assistantSchema,
    toObject: toAssistant,
  })
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
    const chosen = merge(DEFAULT_SETTINGS, sent)
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

const columns = (chosen: AssistantSettings) => ({ flow_id: chosen.flow_id, settings: JSON.stringify(chosen) })

async function refusal(
  deps: AssistantDeps,
  trx: Trx,
  context: Context,
  {
    sent,
    chosen,
    before,
  }: { sent: Pick<Static<typeof changeBody>, 'hand_overs'>; chosen: AssistantSettings; before?: AssistantSettings },
): Promise<Problem | null> {
  const had = before && references(deps, before)
  const refused = await referenceProblem(trx, context, references(deps, chosen), had)
  return refused ?? handOverProblem(trx, context, sent.hand_overs ?? [])
}

const references = (
  { exists }: AssistantDeps,
  { flow_id, callbacks, tool_ids, kb_document_ids: documents }: AssistantSettings,
) => [
  { param: 'flow_id', id: flow_id, kind: 'flow', exists: exists.flow },
  { param: 'callbacks.queue_id', id: callbacks.queue_id, kind: 'queue', exists: exists.queue },
  ...listReferences('tool_ids', tool_ids, 'tool', exists.tool),
  ...listReferences('kb_document_ids', documents, 'knowledge-base document', exists.kbDocument),
]
