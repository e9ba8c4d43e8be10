import type { ChatModel, ChatPart, ChatRequest, ModelFailure } from './model.ts'
import { answerParts, type Json, requestBody, streamParts, type WireSettings } from './openai-wire.ts'
import { sseEvents } from './sse.ts'

/** A provider that speaks OpenAI's HTTP API. */
export interface ModelProvider {
  /** Up to and with `/v1`. */
  baseUrl: string
  apiKey: string | null
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A caller waits no longer for an answer [ms]. */
const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 1024 * 1024
/** What providers answer that know no structured output. */
const REFUSALS = [400, 404, 415, 422, 501]

/**
 * The one client of OpenAI-compatible addresses: chat and responses API, streamed or in one piece, free words or JSON of a schema. Where
 * a model refuses a schema it is asked without, and from then on at once. What it is given and what it says is not logged.
 */
export class OpenAiClient {
  readonly #provider: ModelProvider
  readonly #fetch: Fetch
  /** Models that know no structured output. */
  readonly #plain = new Set<string>()

  constructor(provider: ModelProvider, fetch: Fetch = globalThis.fetch) {
    this.#provider = provider
    this.#fetch = fetch
  }

  model(settings: WireSettings): ChatModel {
    return { name: settings.model, chat: (request, signal) => this.#chat(settings, request, signal) }
  }

  async *#chat(settings: WireSettings, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatPart> {
    const { timeoutMs = TIMEOUT_MS } = request
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const response = await this.#answer(settings, request, AbortSignal.any([signal, timeout]))
      if (!response.ok || response.body === null) {
        await response.body?.cancel()
        return yield failed('unavailable', `the provider answered ${response.status}`)
      }
      if (isStreamed(request)) yield* streamParts(settings.api, sseEvents(response.body, MAX_ANSWER_BYTES))
      else yield* answerParts(settings.api, await jsonOf(response.body))
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof SyntaxError) yield failed('bad_answer', 'the answer is not JSON')
      else if (timeout.aborted) yield failed('timeout', `no answer within ${timeoutMs} ms`)
      else yield failed('unavailable', 'the provider cannot be reached')
    }
  }

  /** As a plain question where structured output is refused. */
  async #answer(settings: WireSettings, request: ChatRequest, signal: AbortSignal): Promise<Response> {
    const plain = { ...request, form: 'whole' } as const
    if (typeof request.form !== 'object') return this.#post(settings, request, signal)
    if (this.#plain.has(settings.model)) return this.#post(settings, plain, signal)
    const structured = await this.#post(settings, request, signal)
    if (!REFUSALS.includes(structured.status)) return structured
    await structured.body?.cancel()
    const answer = await this.#post(settings, plain, signal)
    // Else it was something else of the question that was refused.
    if (answer.ok) this.#plain.add(settings.model)
    return answer
  }

  #post(settings: WireSettings, request: ChatRequest, signal: AbortSignal): Promise<Response> {
    const { baseUrl, apiKey } = this.#provider
    return this.#fetch(`${baseUrl}/${settings.api === 'chat' ? 'chat/completions' : 'responses'}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(isStreamed(request) && { accept: 'text/event-stream' }),
        ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(requestBody(settings, request)),
      // What callers say, and the key, go to nobody else.
      redirect: 'error',
      signal,
    })
  }
}

const isStreamed = ({ form = 'streamed' }: ChatRequest): boolean => form === 'streamed'

const failed = (failure: ModelFailure['failure'], message: string): ChatPart => ({
  kind: 'failure',
  failure: { failure, message },
})

async function jsonOf(body: AsyncIterable<Uint8Array>): Promise<Json> {
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new SyntaxError('too long')
    text += decoder.decode(chunk, { stream: true })
  }
  return JSON.parse(text + decoder.decode())
}
