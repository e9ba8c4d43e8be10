import type { Db } from '../../store.ts'
import type { Tenant } from '../../tenancy.ts'
import type { HttpActionParts } from '../actions/http-action.ts'
import type { AssistantSettings } from '../assistant-settings.ts'
import { type ChatMessage, type ChatModel, chatWithFallback, END_CALL } from './chat-model.ts'
import type { Phrases } from './phrases.ts'
import { SentenceCutter } from './sentences.ts'
import { handOverOf, runTool, shownInput, toolsOf } from './tools.ts'
import type { AfterTurn } from './turn.ts'

/** A caller hears nothing for longer than this only with a line in between [ms]. */
const FILLER_AFTER_MS = 1000
/** A model that has no word by then is too slow for a call [ms]. */
const FIRST_PART_MS = 4000
/** Times that a model may ask for tools before it must say something. */
const MAX_ROUNDS = 4

export interface ReplyParts extends HttpActionParts {
  /** The assistant's model, and the one for when that fails. */
  models: readonly ChatModel[]
  /** Passages of the knowledge base that fit, best first. */
  passagesFor: (db: Db, tenant: Tenant, documentIds: string[], question: string) => Promise<string[]>
  db: Db
}

/** What a reply does as it is made. */
export interface ReplyHooks {
  say: (sentence: string) => Promise<void>
  firstToken: () => void
  model: (name: string) => void
  tokens: (input: number, output: number) => void
  tool: (entry: {
    name: string
    input: ReturnType<typeof shownInput>
    output: string
    status: 'succeeded' | 'failed'
  }) => void
}

export interface ReplyRequest {
  tenant: Tenant
  settings: AssistantSettings
  phrases: Phrases
  messages: readonly ChatMessage[]
  /** Names the turn to servers of tools. */
  key: string
  signal: AbortSignal
}

/** What came of a reply: what follows it, and what of tools the model is to remember. `failed`: no model answered. */
export interface Reply {
  after: AfterTurn | null
  messages: ChatMessage[]
  failed: string | null
}

/** Makes the assistant's next words, sentence by sentence, with the tools that the model asks for in between. */
export async function reply(parts: ReplyParts, request: ReplyRequest, hooks: ReplyHooks): Promise<Reply> {
  const { tenant, settings, signal } = request
  const question = request.messages.filter(message => message.role === 'customer').at(-1)
  const passages =
    question?.role === 'customer'
      ? await parts.passagesFor(parts.db, tenant, settings.kb_document_ids, question.text)
      : []
  const added: ChatMessage[] = []
  for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round++) {
    const made = await oneAnswer(parts, request, passages, added, hooks)
    if (made.failed !== null) return { after: null, messages: added, failed: made.failed }
    const after = followUpOf(settings, made.calls)
    if (after !== null || made.calls.length === 0) return { after, messages: added, failed: null }
    if (made.said !== '') added.push({ role: 'assistant', text: made.said })
    for (const call of made.calls) {
      const result = await toolWithFiller(parts, request, call, hooks, made.said === '' && round === 0)
      hooks.tool({ name: call.name, input: shownInput(call.input), ...result })
      added.push({ role: 'call', ...call }, { role: 'result', id: call.id, output: result.output })
    }
  }
  return { after: null, messages: added, failed: signal.aborted ? null : 'the model only asks for tools' }
}

interface Call {
  id: string
  name: string
  input: Record<string, unknown>
}

async function oneAnswer(
  parts: ReplyParts,
  { settings, messages, signal }: ReplyRequest,
  passages: readonly string[],
  added: readonly ChatMessage[],
  hooks: ReplyHooks,
): Promise<{ said: string; calls: Call[]; failed: string | null }> {
  const cutter = new SentenceCutter()
  const calls: Call[] = []
  let said = ''
  const request = {
    instructions: instructionsOf(settings),
    messages: [...messages, ...added],
    tools: toolsOf(settings),
    passages,
  }
  const options = { signal, firstPartMs: FIRST_PART_MS, used: hooks.model }
  for await (const part of chatWithFallback(parts.models, request, options)) {
    if (signal.aborted) break
    if (part.kind === 'failure') {
      // With words said, they are the answer.
      if (said === '') return { said, calls, failed: part.failure.message }
      break
    }
    if (part.kind === 'usage') hooks.tokens(part.inputTokens, part.outputTokens)
    else hooks.firstToken()
    if (part.kind === 'call') calls.push({ id: part.id, name: part.name, input: part.input })
    if (part.kind !== 'text') continue
    said += part.text
    for (const sentence of cutter.push(part.text)) await hooks.say(sentence)
  }
  const rest = signal.aborted ? null : cutter.flush()
  if (rest !== null) await hooks.say(rest)
  return { said: said.trim(), calls, failed: null }
}

function followUpOf(settings: AssistantSettings, calls: readonly Call[]): AfterTurn | null {
  for (const { name } of calls) {
    if (name === END_CALL) return { kind: 'end', reason: 'assistant_ended' }
    if (handOverOf(settings, name) !== undefined) return { kind: 'hand_over', name }
  }
  return null
}

/** A tool that takes its time is not waited for in silence. */
async function toolWithFiller(
  parts: ReplyParts,
  { tenant, settings, phrases, key, signal }: ReplyRequest,
  { id, name, input }: Call,
  { say }: ReplyHooks,
  mayFill: boolean,
) {
  const running = runTool(parts, tenant, settings, { name, input, key: `${key}-${id}`, signal })
  let timer: NodeJS.Timeout | undefined
  const slow = new Promise<'slow'>(resolve => {
    timer = setTimeout(() => resolve('slow'), FILLER_AFTER_MS)
  })
  const first = await Promise.race([running, slow])
  clearTimeout(timer)
  if (first !== 'slow') return first
  if (mayFill && !signal.aborted) await say(phrases.filler)
  return running
}

function instructionsOf({ prompt, language }: AssistantSettings): string {
  return [
    'You speak with a caller on the phone. Answer in one to three short sentences, in plain words that can be spoken: no lists, no formatting.',
    'What the caller says was transcribed and may hold mistakes. Say goodbye before you end the call.',
    prompt,
    language === '' ? '' : `Speak this language: ${language}.`,
  ]
    .filter(line => line !== '')
    .join('\n')
}
