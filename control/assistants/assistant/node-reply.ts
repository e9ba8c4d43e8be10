import { cutTo } from '../../../media/protocol.ts'
import { asksNotToBeCalled } from '../../consents/refusals.ts'
import { mockModel } from '../../flows/engine/mock-model.ts'
import {
  type FlowModel,
  type ModelReply,
  noModel,
  type ReplyListener,
  type ReplyRequest,
} from '../../flows/engine/model.ts'
import { judgedBy } from '../../flows/judge.ts'
import { phrasesOf } from '../../kernel/phrases.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { Models } from '../../models/choice.ts'
import type { ChatTool, ModelFailure } from '../../models/model.ts'
import { redactedLines } from '../../organisation/redaction/redactor.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import type { CallValues, ToolParts } from '../../tools/use-http.ts'
import { assistantSettings, type LiveSettings } from '../assistant-settings.ts'
import { builtInCalled, searchKnowledge } from './built-in-tools.ts'
import { type ReplyParts, reply, spokenInstructions } from './reply.ts'
import { SEARCH_KNOWLEDGE } from './tool-names.ts'
import { keyOfUse, ownTools, runTool, type ToolCall, type ToolResult } from './tools.ts'

interface FlowModelParts {
  store: Store
  models: Models
  passagesFor: ReplyParts['passagesFor']
  /** What HTTP tools need; null: they are not called, as in a simulation. */
  http: ToolParts | null
}

const MAX_VALUE = 2000

const GOAL_REACHED: ChatTool = {
  name: 'goal_reached',
  description: 'Ends this part of the call, once its goal is reached.',
  parameters: {
    type: 'object',
    properties: { value: { type: 'string', description: 'What was found out, if that was the goal.' } },
  },
}

/** The speaker of `ai` nodes without an assistant: the operator's model, without tools or knowledge base. */
const NOBODY: Pick<LiveSettings, 'prompt' | 'tools' | 'shared' | 'kb_document_ids'> & { model: null } = {
  prompt: '',
  tools: [],
  shared: [],
  kb_document_ids: [],
  model: null,
}

/**
 * The models of a tenant's flows. At `ai` nodes the assistant speaks as it does without a flow: sentence by sentence, with its tools,
 * knowledge base and fallback model. A simulation is the same, but calls no tools.
 */
export const flowModels =
  (parts: FlowModelParts) =>
  async (
    tenant: Tenant,
    assistantId: string | null,
    signal: AbortSignal,
    parties: CallValues = {},
  ): Promise<FlowModel> => {
    if (!tenant.livemode) return confirming(mockModel)
    const settings = await assistantSettings(parts.store.db, tenant, assistantId)
    const judges = parts.models.for(tenant, settings?.model ?? null)
    if (judges.length === 0) return noModel
    return confirming({
      judge: async ({ text, history, intents }) => {
        const redact = await redactorOf(parts.store.db, tenant)
        const shown = { text: redact(text), history: redactedLines(redact, history), intents }
        return judgedBy(judges, shown, signal)
      },
      reply: (request, listener) => nodeReply(parts, { tenant, settings, signal, parties }, request, listener),
    })
  }

/** A caller who asks not to be called again hears a confirmation, whatever the model does, because the number is already on the list. */
const confirming = (model: FlowModel): FlowModel => ({
  ...model,
  reply: async (request, listener) => {
    const last = request.history.at(-1)
    if (last?.role !== 'customer' || !asksNotToBeCalled(last.text)) return model.reply(request, listener)
    const text = phrasesOf(request.language).notCalledAgain
    await listener?.say(text)
    return { text, done: false, value: null }
  },
})

interface Speaker {
  tenant: Tenant
  settings: LiveSettings | null
  signal: AbortSignal
  parties: CallValues
}

async function nodeReply(
  { store, models, passagesFor, http }: FlowModelParts,
  { tenant, settings, signal, parties }: Speaker,
  request: ReplyRequest,
  listener: ReplyListener | undefined,
): Promise<ModelReply | ModelFailure> {
  const { prompt, tools, model, kb_document_ids: documentIds, shared: all } = settings ?? NOBODY
  // What the other built-in tools do, a flow does by nodes of its own.
  const shared = all.filter(({ kind }) => kind === 'http' || kind === SEARCH_KNOWLEDGE)
  const said: string[] = []
  const used: NonNullable<ModelReply['tools']>[number][] = []
  const heard = listener === undefined ? signal : AbortSignal.any([signal, listener.signal])
  const run = async (called: ToolCall): Promise<ToolResult> => {
    if (http === null) return { status: 'succeeded', output: 'done' }
    const builtIn = builtInCalled({ shared }, called.name)
    if (builtIn !== undefined) {
      return searchKnowledge({ db: store.db, passagesFor }, tenant, builtIn, { input: called.input, documentIds })
    }
    const key = keyOfUse(parties.call_id ?? '', `${request.history.length}.${used.length}`, called)
    return runTool(http, { tools, shared }, { ...called, tenant, call: parties, key, signal: heard })
  }
  const made = await reply<{ value: string | null }>(
    { models: models.for(tenant, { model: request.model }, model), passagesFor, db: store.db },
    {
      tenant,
      instructions: spokenInstructions(
        request.language,
        prompt,
        request.instructions,
        `Your goal at this point of the call: ${request.goal}`,
        `Ask for ${GOAL_REACHED.name} as soon as the goal is reached; do not mention it.`,
      ),
      documentIds: settings?.kb_document_ids ?? null,
      messages: request.history,
      tools: [GOAL_REACHED, ...ownTools({ tools, shared })],
      conclude: ({ name, input }) => (name === GOAL_REACHED.name ? { value: textOf(input.value) } : null),
      run,
      filler: phrasesOf(request.language).filler,
      signal: heard,
    },
    {
      say: async sentence => {
        said.push(sentence)
        await listener?.say(sentence)
      },
      firstToken: () => listener?.firstToken(),
      model: name => listener?.model(name),
      tokens: (input, output) => listener?.tokens(input, output),
      tool: use => used.push(use),
    },
  )
  if (made.failed !== null) return { failure: 'unavailable', message: made.failed }
  // If the caller interrupts, the part so far is the answer; if the request is cancelled, there is none.
  if (signal.aborted) return { failure: 'unavailable', message: 'given up' }
  return { text: said.join(' '), done: made.after !== null, value: made.after?.value ?? null, tools: used }
}

const textOf = (value: unknown): string | null =>
  ['string', 'number', 'boolean'].includes(typeof value) ? cutTo(String(value), MAX_VALUE) : null
