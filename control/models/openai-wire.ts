import type { AnswerForm, ChatMessage, ChatPart, ChatRequest } from './model.ts'

/** Settings of a request (https://platform.openai.com/docs/api-reference, "Chat" and "Responses"). */
export interface WireSettings {
  model: string
  temperature: number | null
  api: 'chat' | 'responses'
  /** Priority processing: more predictable and more expensive. */
  priority: boolean
}

/** Maximum length of a tool call's name, ID and arguments, which are journalled [characters]. */
const MAX_NAME = 128
const MAX_ARGUMENTS = 16_384

// ------------------------------------------------------------------ what is asked

export const requestBody = (settings: WireSettings, request: ChatRequest): object => ({
  model: settings.model,
  ...(settings.temperature !== null && { temperature: settings.temperature }),
  ...(settings.priority && { service_tier: 'priority' }),
  ...(settings.api === 'chat' ? chatBody(request) : responsesBody(request)),
})

const instructionsOf = ({ instructions, passages }: ChatRequest): string =>
  passages.length === 0 ? instructions : `${instructions}\n\nWhat you know:\n${passages.join('\n\n')}`

const chatBody = (request: ChatRequest): object => ({
  messages: [{ role: 'system', content: instructionsOf(request) }, ...request.messages.map(chatMessage)],
  ...(request.tools.length > 0 && { tools: request.tools.map(tool => ({ type: 'function', function: tool })) }),
  ...chatForm(request.form),
})

function chatForm(form: AnswerForm = 'streamed'): object {
  if (form === 'streamed') return { stream: true, stream_options: { include_usage: true } }
  return form === 'whole' ? {} : { response_format: { type: 'json_schema', json_schema: { ...form, strict: true } } }
}

function chatMessage(message: ChatMessage): object {
  switch (message.role) {
    case 'customer':
      return { role: 'user', content: message.text }
    case 'assistant':
      return { role: 'assistant', content: message.text }
    case 'call': {
      const called = { name: message.name, arguments: JSON.stringify(message.input) }
      return { role: 'assistant', content: null, tool_calls: [{ id: message.id, type: 'function', function: called }] }
    }
    case 'result':
      return { role: 'tool', tool_call_id: message.id, content: message.output }
  }
}

const responsesBody = (request: ChatRequest): object => ({
  instructions: instructionsOf(request),
  input: request.messages.map(responsesItem),
  ...(request.tools.length > 0 && { tools: request.tools.map(tool => ({ type: 'function', ...tool })) }),
  ...responsesForm(request.form),
  store: false,
})

function responsesForm(form: AnswerForm = 'streamed'): object {
  if (form === 'streamed') return { stream: true }
  return form === 'whole' ? {} : { text: { format: { type: 'json_schema', ...form, strict: true } } }
}

function responsesItem(message: ChatMessage): object {
  switch (message.role) {
    case 'call':
      return {
        type: 'function_call',
        call_id: message.id,
        name: message.name,
        arguments: JSON.stringify(message.input),
      }
    case 'result':
      return { type: 'function_call_output', call_id: message.id, output: message.output }
    default:
      return chatMessage(message)
  }
}

// ------------------------------------------------------------------ what is answered

// biome-ignore lint/suspicious/noExplicitAny: a provider's answer has been seen in many forms, so nothing is taken for granted
export type Json = any

type Events = AsyncIterable<Json> | Iterable<Json>

/** The parts of a streamed answer. */
export const streamParts = (api: WireSettings['api'], events: Events): AsyncGenerator<ChatPart> =>
  api === 'chat' ? chatParts(events) : responsesParts(events)

/** The parts of an answer in one piece: it is read as a stream of few events. */
export function answerParts(api: WireSettings['api'], answer: Json): AsyncGenerator<ChatPart> {
  if (api === 'chat') {
    const { message, finish_reason = 'stop' } = answer?.choices?.[0] ?? {}
    return chatParts([{ ...answer, choices: [{ delta: message, finish_reason }] }])
  }
  const items = listOf(answer?.output)
  const texts = items.flatMap(item => listOf(item?.content)).filter(part => part?.type === 'output_text')
  return responsesParts([
    ...texts.map(({ text }) => ({ type: 'response.output_text.delta', delta: text })),
    ...items.map(item => ({ type: 'response.output_item.done', item })),
    { type: answer?.status === 'failed' ? 'response.failed' : 'response.completed', response: answer },
  ])
}

const listOf = (value: Json): Json[] => (Array.isArray(value) ? value : [])

const GAVE_UP: ChatPart = { kind: 'failure', failure: { failure: 'unavailable', message: 'the provider gave up' } }

async function* chatParts(events: Events): AsyncGenerator<ChatPart> {
  const calls = new Map<number, { id: string; name: string; json: string }>()
  let [used, ended]: Json[] = []
  for await (const event of events) {
    // Also in the middle of an answer with status 200.
    if (event?.error) return yield GAVE_UP
    const { delta, finish_reason } = event?.choices?.[0] ?? {}
    ended = finish_reason ?? ended
    if (isText(delta?.content)) yield { kind: 'text', text: delta.content }
    for (const [position, part] of listOf(delta?.tool_calls).entries()) {
      const index = Number(part?.index ?? position)
      const open = calls.get(index) ?? { id: '', name: '', json: '' }
      open.id += typeof part?.id === 'string' ? part.id : ''
      open.name += part?.function?.name ?? ''
      open.json += part?.function?.arguments ?? ''
      calls.set(index, open)
    }
    // Some providers tell so far with each event.
    used = event?.usage ?? used
  }
  if (used) yield usage(used.prompt_tokens, used.completion_tokens)
  // What was being called when the answer broke off, or was cut at its length, is not known.
  if (calls.size > 0 && (!ended || ended === 'length')) yield GAVE_UP
  else for (const { id, name, json } of calls.values()) yield calling(id, name, json)
}

async function* responsesParts(events: Events): AsyncGenerator<ChatPart> {
  for await (const event of events) {
    switch (event?.type) {
      case 'response.output_text.delta':
        if (isText(event.delta)) yield { kind: 'text', text: event.delta }
        break
      case 'response.output_item.done':
        if (event.item?.type === 'function_call' && event.item.status !== 'incomplete') {
          yield calling(event.item.call_id ?? '', event.item.name ?? '', event.item.arguments ?? '')
        }
        break
      case 'response.completed':
      case 'response.incomplete':
        if (event.response?.usage) yield usage(event.response.usage.input_tokens, event.response.usage.output_tokens)
        break
      case 'response.failed':
      case 'error':
        return yield GAVE_UP
    }
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const usage = (input: unknown, output: unknown): ChatPart => ({
  kind: 'usage',
  inputTokens: Number(input) || 0,
  outputTokens: Number(output) || 0,
})

/** Arguments that are not an object, or too large, count as none: the tool's schema decides what is missing. */
function calling(id: unknown, name: unknown, json: unknown): ChatPart {
  let input: unknown = {}
  try {
    const text = String(json)
    if (text !== '' && text.length <= MAX_ARGUMENTS) input = JSON.parse(text)
  } catch {}
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  const called = { id: String(id).slice(0, MAX_NAME), name: String(name).slice(0, MAX_NAME) }
  return { kind: 'call', ...called, input: isObject ? (input as Record<string, unknown>) : {} }
}
