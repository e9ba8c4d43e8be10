import type { ToolUse } from '../../flows/engine/model.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { chatWithFallback } from '../../models/fallback.ts'
import type { ChatMessage, ChatModel, ChatTool } from '../../models/model.ts'
import { redactedLines } from '../../organisation/redaction/redactor.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import { SentenceCutter } from '../conversation/sentences.ts'
import type { PassageFinder } from './passage-finder.ts'
import { shownInput, type ToolCall, type ToolResult } from './tools.ts'

/** How long a tool may run before the caller hears a filler sentence [ms]. */
const FILLER_AFTER_MS = 1000
/** A model that has answered nothing by then is too slow for a call [ms]. */
const FIRST_PART_MS = 4000
/** How often a model may call tools before it must say something. */
const MAX_ROUNDS = 4
/** Maximum number of tool calls in one answer; further ones are ignored. */
const MAX_CALLS = 8
/** Maximum length of a model's answer [characters]: some three minutes of speech. The rest is neither spoken nor paid for. */
const MAX_SAID = 3000

export interface ReplyParts {
  /** The assistant's model, and its fallback model. */
  models: readonly ChatModel[]
  /** Passages of the knowledge base that fit, best first. */
  passagesFor: PassageFinder
  db: Db
}

/** Callbacks of a reply in progress. */
interface ReplyHooks {
  say: (sentence: string) => Promise<void>
  firstToken: () => void
  model: (name: string) => void
  tokens: (input: number, output: number) => void
  /** `messages`: what the model is to remember of it. */
  tool: (used: ToolUse, messages: readonly ChatMessage[]) => void
}

interface ReplyRequest<After> {
  tenant: Tenant
  instructions: string
  /** The documents of the knowledge base to search; empty: all; null: it is not searched. */
  documentIds: string[] | null
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
  /** How the turn ends if the model calls this tool; null: the tool is run. */
  conclude: (call: ToolCall) => After | null
  run: (call: ToolCall) => Promise<ToolResult>
  /** Said while a tool takes long to run. */
  filler: string
  signal: AbortSignal
}

/** The outcome of a reply: the next step. `failed`: no model answered. */
interface Reply<After> {
  after: After | null
  failed: string | null
}

/** Generates the assistant's next turn, sentence by sentence, and runs the tools that the model asks for in between. */
export async function reply<After>(
  parts: ReplyParts,
  request: ReplyRequest<After>,
  hooks: ReplyHooks,
): Promise<Reply<After>> {
  const { tenant, documentIds, signal } = request
  const redact = await redactorOf(parts.db, tenant)
  const shown = { ...request, messages: redactedLines(redact, request.messages) }
  const question = shown.messages.filter(message => message.role === 'customer').at(-1)
  const known =
    question?.role === 'customer' && documentIds !== null
      ? await parts.passagesFor(parts.db, tenant, documentIds, question.text)
      : { passages: [] }
  const added: ChatMessage[] = []
  for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round++) {
    const made = await oneAnswer(parts, shown, known, added, hooks)
    if (made.failed !== null) return { after: null, failed: made.failed }
    const after = made.calls.map(request.conclude).find(one => one !== null) ?? null
    if (after !== null || made.calls.length === 0) return { after, failed: null }
    if (made.said !== '') added.push({ role: 'assistant', text: made.said })
    const mayFill = made.said === '' && round === 0
    for (const call of made.calls) {
      if (signal.aborted) break
      const { shown: input = call.input, ...result } = await toolWithFiller(request, call, hooks, mayFill)
      const { id, name } = call
      const told: ChatMessage[] = [
        { role: 'call', id, name, input },
        { role: 'result', id, output: result.output },
      ]
      hooks.tool({ name, input: shownInput(input), ...result }, told)
      added.push(...told)
    }
  }
  return { after: null, failed: signal.aborted ? null : 'the model only asks for tools' }
}

async function oneAnswer(
  parts: ReplyParts,
  { instructions, tools, messages, signal }: ReplyRequest<unknown>,
  known: Awaited<ReturnType<PassageFinder>>,
  added: readonly ChatMessage[],
  hooks: ReplyHooks,
): Promise<{ said: string; calls: ToolCall[]; failed: string | null }> {
  const cutter = new SentenceCutter()
  const calls: ToolCall[] = []
  let said = ''
  const request = { instructions, messages: [...messages, ...added], tools, ...known }
  const options = { signal, firstPartMs: FIRST_PART_MS, used: hooks.model }
  for await (const part of chatWithFallback(parts.models, request, options)) {
    if (signal.aborted) break
    if (part.kind === 'failure') {
      // If the model has already said something, that is the answer.
      if (said === '') return { said, calls, failed: part.failure.message }
      break
    }
    if (part.kind === 'usage') hooks.tokens(part.inputTokens, part.outputTokens)
    else hooks.firstToken()
    if (part.kind === 'call' && calls.length < MAX_CALLS) {
      calls.push({ id: part.id, name: part.name, input: part.input })
    }
    if (part.kind !== 'text') continue
    said += part.text
    for (const sentence of cutter.push(part.text)) await hooks.say(sentence)
    if (said.length > MAX_SAID) break
  }
  const rest = signal.aborted ? null : cutter.flush()
  if (rest !== null) await hooks.say(rest)
  return { said: said.trim(), calls, failed: null }
}

/** Runs a tool. If it takes long, the caller hears a filler sentence meanwhile. */
async function toolWithFiller(
  { run, filler, signal }: ReplyRequest<unknown>,
  call: ToolCall,
  { say }: ReplyHooks,
  mayFill: boolean,
): Promise<ToolResult> {
  const running = run(call)
  let timer: NodeJS.Timeout | undefined
  const slow = new Promise<'slow'>(resolve => {
    timer = setTimeout(() => resolve('slow'), FILLER_AFTER_MS)
  })
  const first = await Promise.race([running, slow])
  clearTimeout(timer)
  if (first !== 'slow') return first
  if (mayFill && !signal.aborted) await say(filler)
  return running
}

/** Instructions for every model that speaks on the phone; empty lines are left out. */
export const spokenInstructions = (language: string, ...lines: string[]): string =>
  [
    'You speak with a caller on the phone. Answer in one to three short sentences, in plain words that can be spoken: no lists, no formatting.',
    'What the caller says was transcribed and may hold mistakes.',
    ...lines,
    language === '' ? '' : `Speak this language: ${language}.`,
  ]
    .filter(line => line !== '')
    .join('\n')
