import type { FlowModel, ModelReply, ReplyListener, ReplyRequest } from '../../flows/engine/model.ts'
import { modelChooser } from '../../flows/model-choice.ts'
import { phrasesOf } from '../../kernel/phrases.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { ChatTool } from '../../models/chat-model.ts'
import type { ModelFailure } from '../../models/model.ts'
import type { ModelProvider } from '../../models/openai-ask.ts'
import type { HttpActionParts } from '../actions/http-action.ts'
import { type AssistantSettings, assistantSettings } from '../assistant-settings.ts'
import { providerModels } from './model-choice.ts'
import { type ReplyParts, reply, spokenInstructions } from './reply.ts'
import { ownTools, runTool, type ToolCall, type ToolResult } from './tools.ts'

export interface FlowModelParts {
  store: Store
  provider: (ModelProvider & { defaultModel: string }) | null
  passagesFor: ReplyParts['passagesFor']
  /** How the assistant's tools are asked; null: they are not, as in a simulation. */
  http: HttpActionParts | null
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

/** What speaks where no assistant is: the operator's model, without tools or a knowledge base. */
const NOBODY: Pick<AssistantSettings, 'prompt' | 'tools' | 'model'> = {
  prompt: '',
  tools: [],
  model: { model: 'default', fallback_model: null, temperature: null, api: 'chat' },
}

/**
 * The models of a tenant's flows. At nodes of type `ai` the assistant speaks as it does without a flow, sentence by sentence, with its
 * tools, its knowledge base and its fallback model; in a simulation the same, but for the tools, which are dry.
 */
export const flowModels =
  (parts: FlowModelParts) =>
  async (tenant: Tenant, assistantId: string | null, signal: AbortSignal): Promise<FlowModel> => {
    const { store, provider } = parts
    const base = await modelChooser(store, provider)(tenant, assistantId, signal)
    if (!tenant.livemode || provider === null) return base
    const settings = await assistantSettings(store.db, tenant, assistantId)
    return {
      judge: base.judge,
      reply: (request, listener) => nodeReply({ ...parts, provider }, { tenant, settings, signal }, request, listener),
    }
  }

interface Speaker {
  tenant: Tenant
  settings: AssistantSettings | null
  signal: AbortSignal
}

async function nodeReply(
  { store, provider, passagesFor, http }: FlowModelParts & { provider: NonNullable<FlowModelParts['provider']> },
  { tenant, settings, signal }: Speaker,
  request: ReplyRequest,
  listener: ReplyListener | undefined,
): Promise<ModelReply | ModelFailure> {
  const { prompt, tools, model } = settings ?? NOBODY
  const models = providerModels(provider, { ...model, model: request.model ?? model.model })
  const said: string[] = []
  const used: NonNullable<ModelReply['tools']>[number][] = []
  const heard = listener === undefined ? signal : AbortSignal.any([signal, listener.signal])
  const run = async (called: ToolCall): Promise<ToolResult> =>
    http === null
      ? { status: 'succeeded', output: 'done' }
      : runTool(http, { tools }, { ...called, key: `${listener?.key ?? ''}-${called.id}`, signal: heard })
  const made = await reply<{ value: string | null }>(
    { models, passagesFor, db: store.db },
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
      tools: [GOAL_REACHED, ...ownTools({ tools })],
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
  // Silenced by the listener it is an answer, as far as it came; given up by who asked it is none.
  if (signal.aborted) return { failure: 'unavailable', message: 'given up' }
  return { text: said.join(' '), done: made.after !== null, value: made.after?.value ?? null, tools: used }
}

const textOf = (value: unknown): string | null =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value).slice(0, MAX_VALUE) : null
