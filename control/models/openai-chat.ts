import type { ChatMessage, ChatModel, ChatPart, ChatRequest } from './chat-model.ts'
import type { ModelFailure } from './model.ts'
import type { Fetch, ModelProvider } from './openai-ask.ts'
import { sseEvents } from './sse.ts'

export interface ChatSettings {
  model: string
  temperature: number | null
  api: 'chat' | 'responses'
}

const MAX_ANSWER_BYTES = 1024 * 1024
/** Of a tool that the model asks for: its name and ID, and its arguments, which are journalled [characters]. */
const MAX_NAME = 128
const MAX_ARGUMENTS = 16_384

/**
 * A model that streams over the chat or the responses API (https://platform.openai.com/docs/api-reference, "Chat streaming" and
 * "Responses streaming"). What it is given and what it says is not logged.
 */
export function openAiChat(
  provider: ModelProvider,
  settings: ChatSettings,
  fetch: Fetch = globalThis.fetch,
): ChatModel {
  const isChat = settings.api === 'chat'
  return {
    name: settings.model,
    async *chat(request, signal) {
      const timeout = AbortSignal.timeout(provider.timeoutMs)
      try {
        const response = await fetch(`${provider.baseUrl}/${isChat ? 'chat/completions' : 'responses'}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'text/event-stream',
            ...(provider.apiKey === null ? {} : { authorization: `Bearer ${provider.apiKey}` }),
          },
          body: JSON.stringify(isChat ? chatBody(settings, request) : responsesBody(settings, request)),
          redirect: 'error',
          signal: AbortSignal.any([signal, timeout]),
        })
        if (!response.ok || response.body === null) {
          await response.body?.cancel()
          return yield failure('unavailable', `the provider answered ${response.status}`)
        }
        const events = sseEvents(response.body, MAX_ANSWER_BYTES)
        yield* isChat ? chatParts(events) : responsesParts(events)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof SyntaxError) yield failure('bad_answer', 'the answer is no stream of JSON')
        else if (timeout.aborted) yield failure('timeout', `no answer within ${provider.timeoutMs} ms`)
        else yield failure('unavailable', 'the provider cannot be reached')
      }
    },
  }
}

const failure = (kind: ModelFailure['failure'], message: string): ChatPart => ({
  kind: 'failure',
  failure: { failure: kind, message },
})

const instructionsOf = ({ instructions, passages }: ChatRequest): string =>
  passages.length === 0 ? instructions : `${instructions}\n\nWhat you know:\n${passages.join('\n\n')}`

const temperature = ({ temperature }: ChatSettings): object => (temperature === null ? {} : { temperature })

const chatBody = (settings: ChatSettings, request: ChatRequest): object => ({
  model: settings.model,
  ...temperature(settings),
  messages: [{ role: 'system', content: instructionsOf(request) }, ...request.messages.map(chatMessage)],
  ...(request.tools.length === 0 ? {} : { tools: request.tools.map(tool => ({ type: 'function', function: tool })) }),
  stream: true,
  stream_options: { include_usage: true },
})

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

const responsesBody = (settings: ChatSettings, request: ChatRequest): object => ({
  model: settings.model,
  ...temperature(settings),
  instructions: instructionsOf(request),
  input: request.messages.map(responsesItem),
  ...(request.tools.length === 0 ? {} : { tools: request.tools.map(tool => ({ type: 'function', ...tool })) }),
  stream: true,
  store: false,
})

function responsesItem(message: ChatMessage): object {
  switch (message.role) {
    case 'customer':
      return { role: 'user', content: message.text }
    case 'assistant':
      return { role: 'assistant', content: message.text }
    case 'call':
      return {
        type: 'function_call',
        call_id: message.id,
        name: message.name,
        arguments: JSON.stringify(message.input),
      }
    case 'result':
      return { type: 'function_call_output', call_id: message.id, output: message.output }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a provider's answer has been seen in many forms, so nothing is taken for granted
type Json = any

async function* chatParts(events: AsyncIterable<Json>): AsyncGenerator<ChatPart> {
  const calls = new Map<number, { id: string; name: string; json: string }>()
  for await (const event of events) {
    const delta = event?.choices?.[0]?.delta
    if (typeof delta?.content === 'string' && delta.content !== '') yield { kind: 'text', text: delta.content }
    for (const part of Array.isArray(delta?.tool_calls) ? delta.tool_calls : []) {
      const index = Number(part?.index ?? 0)
      const open = calls.get(index) ?? { id: '', name: '', json: '' }
      open.id += typeof part?.id === 'string' ? part.id : ''
      open.name += part?.function?.name ?? ''
      open.json += part?.function?.arguments ?? ''
      calls.set(index, open)
    }
    if (event?.usage) yield usage(event.usage.prompt_tokens, event.usage.completion_tokens)
  }
  for (const { id, name, json } of calls.values()) yield calling(id, name, json)
}

async function* responsesParts(events: AsyncIterable<Json>): AsyncGenerator<ChatPart> {
  for await (const event of events) {
    switch (event?.type) {
      case 'response.output_text.delta':
        if (typeof event.delta === 'string' && event.delta !== '') yield { kind: 'text', text: event.delta }
        break
      case 'response.output_item.done':
        if (event.item?.type === 'function_call') {
          yield calling(event.item.call_id ?? '', event.item.name ?? '', event.item.arguments ?? '')
        }
        break
      case 'response.completed':
        yield usage(event.response?.usage?.input_tokens, event.response?.usage?.output_tokens)
        break
      case 'response.failed':
      case 'error':
        yield failure('unavailable', 'the provider gave up')
        return
    }
  }
}

const usage = (input: unknown, output: unknown): ChatPart => ({
  kind: 'usage',
  inputTokens: Number(input) || 0,
  outputTokens: Number(output) || 0,
})

/** Arguments that are no object, or too many, are none: the tool's schema decides what is missing. */
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
