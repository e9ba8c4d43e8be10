import type {
  FlowModel,
  Judgement,
  JudgeRequest,
  ModelFailure,
  ModelLine,
  ModelReply,
  ModelSettings,
  ReplyRequest,
} from './model.ts'
import { isModelFailure } from './model.ts'

/** A provider that speaks OpenAI's HTTP API. */
export interface ModelProvider {
  /** Up to and with `/v1`. */
  baseUrl: string
  apiKey: string | null
  /** For one answer [ms]. */
  timeoutMs: number
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

interface Prompt {
  instructions: string
  lines: readonly ModelLine[]
}

const MAX_ANSWER_BYTES = 256 * 1024
const MAX_SAID = 5000

/**
 * A model behind the chat or the responses API. When the model fails, the fallback model is asked once. Answers are JSON; whatever
 * else comes back is `bad_answer`. Never throws. `signal` gives up what is under way.
 */
export function openAiModel(
  provider: ModelProvider,
  settings: ModelSettings,
  signal: AbortSignal,
  fetch: Fetch = globalThis.fetch,
): FlowModel {
  const ask = async (prompt: Prompt, wished: string | null): Promise<Record<string, unknown> | ModelFailure> => {
    const models = [wished ?? settings.model, ...(settings.fallbackModel === null ? [] : [settings.fallbackModel])]
    let failure: ModelFailure = { failure: 'unavailable', message: 'no model is named' }
    for (const model of models) {
      const answer = await askOnce(provider, settings, model, prompt, signal, fetch)
      if (!isModelFailure(answer)) return answer
      failure = answer
      if (signal.aborted) break
    }
    return failure
  }
  return {
    reply: async request => readReply(await ask(replyPrompt(request), request.model)),
    judge: async request => readJudgement(await ask(judgePrompt(request), null), request.intents.length),
  }
}

async function askOnce(
  provider: ModelProvider,
  settings: ModelSettings,
  model: string,
  prompt: Prompt,
  signal: AbortSignal,
  fetch: Fetch,
): Promise<Record<string, unknown> | ModelFailure> {
  const isChat = settings.api === 'chat'
  const timeout = AbortSignal.timeout(provider.timeoutMs)
  try {
    const response = await fetch(`${provider.baseUrl}/${isChat ? 'chat/completions' : 'responses'}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(provider.apiKey === null ? {} : { authorization: `Bearer ${provider.apiKey}` }),
      },
      body: JSON.stringify(isChat ? chatBody(model, settings, prompt) : responsesBody(model, settings, prompt)),
      redirect: 'error',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (!response.ok) {
      await response.body?.cancel()
      return { failure: 'unavailable', message: `the provider answered ${response.status}` }
    }
    return readObject(textOf(JSON.parse(await readText(response)), isChat))
  } catch (error) {
    if (error instanceof SyntaxError) return badAnswer('the answer is not JSON')
    return timeout.aborted
      ? { failure: 'timeout', message: `no answer within ${provider.timeoutMs} ms` }
      : { failure: 'unavailable', message: 'the provider cannot be reached' }
  }
}

const badAnswer = (message: string): ModelFailure => ({ failure: 'bad_answer', message })

const temperature = ({ temperature }: ModelSettings): object => (temperature === null ? {} : { temperature })

const chatBody = (model: string, settings: ModelSettings, { instructions, lines }: Prompt): object => ({
  model,
  ...temperature(settings),
  messages: [{ role: 'system', content: instructions }, ...lines.map(toMessage)],
  response_format: { type: 'json_object' },
})

const responsesBody = (model: string, settings: ModelSettings, { instructions, lines }: Prompt): object => ({
  model,
  ...temperature(settings),
  instructions,
  input: lines.map(toMessage),
  text: { format: { type: 'json_object' } },
  store: false,
})

const toMessage = ({ role, text }: ModelLine): object => ({
  role: role === 'customer' ? 'user' : 'assistant',
  content: text,
})

/** The text of an answer; a provider's answer has been seen in many forms, so nothing is taken for granted. */
function textOf(answer: unknown, isChat: boolean): string {
  const at = (value: unknown, ...path: (string | number)[]): unknown =>
    path.reduce<unknown>((part, name) => (part as Record<string | number, unknown> | null | undefined)?.[name], value)
  if (isChat) return String(at(answer, 'choices', 0, 'message', 'content') ?? '')
  const output = at(answer, 'output')
  const parts = (Array.isArray(output) ? output : []).flatMap(item => {
    const content = at(item, 'content')
    return Array.isArray(content) ? content : []
  })
  return parts.map(part => (at(part, 'type') === 'output_text' ? String(at(part, 'text') ?? '') : '')).join('')
}

function readObject(text: string): Record<string, unknown> | ModelFailure {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return badAnswer('the answer is no object')
  // Names a model may have made up must not look like our own failures.
  const { failure: _, ...rest } = value as Record<string, unknown>
  return rest
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new SyntaxError('too long')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function replyPrompt({ goal, instructions, language, history }: ReplyRequest): Prompt {
  const rules = [
    'You speak with a caller on the phone. Say one or two short sentences.',
    instructions,
    language === '' ? '' : `Speak this language: ${language}.`,
    `Your goal at this point of the call: ${goal}`,
    'Answer with a JSON object: {"say": what you say now, "done": true once the goal is reached, "value": what you found out, or null}.',
  ]
  return { instructions: rules.filter(rule => rule !== '').join('\n'), lines: history }
}

function judgePrompt({ text, intents, history }: JudgeRequest): Prompt {
  const list = intents.map(({ description, examples }, index) => {
    const said = examples.length === 0 ? '' : ` Callers say: ${examples.map(example => `"${example}"`).join(', ')}.`
    return `${index}: ${description}${said}`
  })
  const instructions = [
    'A caller on the phone has said a line. Decide which of these intents it expresses:',
    ...list,
    'Answer with a JSON object: {"intent": the number, or null when it expresses none of them}.',
  ].join('\n')
  const last: ModelLine = { role: 'customer', text }
  const isThere = history.at(-1)?.role === 'customer'
  return { instructions, lines: isThere ? history : [...history, last] }
}

function readReply(answer: Record<string, unknown> | ModelFailure): ModelReply | ModelFailure {
  if (isModelFailure(answer)) return answer
  if (typeof answer.say !== 'string') return badAnswer('the answer has no "say"')
  const { say, value } = answer
  return { text: say.slice(0, MAX_SAID), done: answer.done === true, value: scalarText(value) }
}

const scalarText = (value: unknown): string | null =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value).slice(0, MAX_SAID) : null

function readJudgement(answer: Record<string, unknown> | ModelFailure, intents: number): Judgement | ModelFailure {
  if (isModelFailure(answer)) return answer
  const { intent } = answer
  const isOne = typeof intent === 'number' && Number.isInteger(intent) && intent >= 0 && intent < intents
  return isOne || intent === null ? { intent } : badAnswer('the answer names no intent')
}
