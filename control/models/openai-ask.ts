import type { ModelFailure, ModelLine } from './model.ts'

/** A provider that speaks OpenAI's HTTP API. */
export interface ModelProvider {
  /** Up to and with `/v1`. */
  baseUrl: string
  apiKey: string | null
  /** For one answer [ms]. */
  timeoutMs: number
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What an answer is to be: any JSON object, or one of this JSON schema ("structured output"). */
export type AnswerFormat = 'text' | 'object' | { name: string; schema: object }

export interface Question {
  model: string
  temperature: number | null
  api: 'chat' | 'responses'
  instructions: string
  lines: readonly ModelLine[]
  format: AnswerFormat
}

/** `refused`: the provider has taken the question for a wrong one, as those do that know no structured output. */
export type AskFailure = ModelFailure & { refused?: boolean }

const MAX_ANSWER_BYTES = 256 * 1024
const REFUSALS = [400, 404, 415, 422, 501]

/** The text that a model answers to one question. Never throws. */
export async function askText(
  provider: ModelProvider,
  question: Question,
  signal: AbortSignal,
  fetch: Fetch = globalThis.fetch,
): Promise<{ text: string } | AskFailure> {
  const isChat = question.api === 'chat'
  const timeout = AbortSignal.timeout(provider.timeoutMs)
  try {
    const response = await fetch(`${provider.baseUrl}/${isChat ? 'chat/completions' : 'responses'}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(provider.apiKey === null ? {} : { authorization: `Bearer ${provider.apiKey}` }),
      },
      body: JSON.stringify(isChat ? chatBody(question) : responsesBody(question)),
      redirect: 'error',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (!response.ok) {
      await response.body?.cancel()
      const { status } = response
      const message = `the provider answered ${status}`
      return { failure: 'unavailable', message, ...(REFUSALS.includes(status) && { refused: true }) }
    }
    return { text: textOf(JSON.parse(await readText(response)), isChat) }
  } catch (error) {
    if (error instanceof SyntaxError) return { failure: 'bad_answer', message: 'the answer is not JSON' }
    return timeout.aborted
      ? { failure: 'timeout', message: `no answer within ${provider.timeoutMs} ms` }
      : { failure: 'unavailable', message: 'the provider cannot be reached' }
  }
}

const chatBody = ({ model, temperature, instructions, lines, format }: Question): object => ({
  model,
  ...(temperature === null ? {} : { temperature }),
  messages: [{ role: 'system', content: instructions }, ...lines.map(toMessage)],
  ...(format === 'text'
    ? {}
    : format === 'object'
      ? { response_format: { type: 'json_object' } }
      : { response_format: { type: 'json_schema', json_schema: { ...format, strict: true } } }),
})

const responsesBody = ({ model, temperature, instructions, lines, format }: Question): object => ({
  model,
  ...(temperature === null ? {} : { temperature }),
  instructions,
  input: lines.map(toMessage),
  ...(format === 'text'
    ? {}
    : format === 'object'
      ? { text: { format: { type: 'json_object' } } }
      : { text: { format: { type: 'json_schema', ...format, strict: true } } }),
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

/** The JSON object of an answer, in whatever a model has wrapped it. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  } catch {
    return undefined
  }
}
