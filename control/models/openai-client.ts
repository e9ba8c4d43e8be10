import { type OutgoingAnswer, type OutgoingRequest, send } from '../../media/protocol.ts'
import type { ChatModel, ChatPart, ChatRequest, ModelFailure } from './model.ts'
import { answerParts, type Json, requestBody, streamParts, type WireSettings } from './openai-wire.ts'
import { sseEvents } from './sse.ts'

/** A provider that speaks OpenAI's HTTP API. */
export interface ModelProvider {
  /** Base URL, including `/v1`. */
  baseUrl: string
  apiKey: string | null
}

type Send = (request: OutgoingRequest) => Promise<OutgoingAnswer>

/** Time limit of an answer, for which a caller waits [ms]. */
const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 1024 * 1024
/** Statuses with which providers refuse structured output. */
const REFUSALS = [400, 404, 415, 422, 501]

/**
 * The only client of OpenAI-compatible APIs: chat and responses API, streamed or whole, text or JSON of a schema. A model that refuses a
 * schema is asked without one, and in future at once. Requests and answers are not logged.
 */
export class OpenAiClient {
  readonly #provider: ModelProvider
  readonly #send: Send
  /** Models that do not support structured output. */
  readonly #plain = new Set<string>()

  constructor(provider: ModelProvider, sent: Send = send) {
    this.#provider = provider
    this.#send = sent
  }

  model(settings: WireSettings): ChatModel {
    return { name: settings.model, chat: (request, signal) => this.#chat(settings, request, signal) }
  }

  async *#chat(settings: WireSettings, request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatPart> {
    const { timeoutMs = TIMEOUT_MS } = request
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const answer = await this.#answer(settings, request, AbortSignal.any([signal, timeout]))
      if (!isOk(answer)) {
        answer.close()
        return yield failed('unavailable', `the provider answered ${answer.status}`)
      }
      if (isStreamed(request)) yield* streamParts(settings.api, sseEvents(answer.body, MAX_ANSWER_BYTES))
      else yield* answerParts(settings.api, await jsonOf(answer.body, MAX_ANSWER_BYTES))
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof SyntaxError) yield failed('bad_answer', 'the answer is not JSON')
      else if (timeout.aborted) yield failed('timeout', `no answer within ${timeoutMs} ms`)
      else yield failed('unavailable', 'the provider cannot be reached')
    }
  }

  /** Sends the request, and again as a plain one if structured output is refused. */
  async #answer(settings: WireSettings, request: ChatRequest, signal: AbortSignal): Promise<OutgoingAnswer> {
    const plain = { ...request, form: 'whole' } as const
    if (typeof request.form !== 'object') return this.#post(settings, request, signal)
    if (this.#plain.has(settings.model)) return this.#post(settings, plain, signal)
    const structured = await this.#post(settings, request, signal)
    if (!REFUSALS.includes(structured.status)) return structured
    structured.close()
    const answer = await this.#post(settings, plain, signal)
    // Otherwise something else in the request was refused.
    if (isOk(answer)) this.#plain.add(settings.model)
    return answer
  }

  #post(settings: WireSettings, request: ChatRequest, signal: AbortSignal): Promise<OutgoingAnswer> {
    const { baseUrl, apiKey } = this.#provider
    return this.#send({
      url: `${baseUrl}/${settings.api === 'chat' ? 'chat/completions' : 'responses'}`,
      headers: {
        'content-type': 'application/json',
        ...(isStreamed(request) && { accept: 'text/event-stream' }),
        ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(requestBody(settings, request), whole),
      signal,
    })
  }
}

/** Half of a surrogate pair, as customers' servers may send it in JSON, would make a provider refuse the whole request. */
const whole = (_name: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value)

const isStreamed = ({ form = 'streamed' }: ChatRequest): boolean => form === 'streamed'

const isOk = ({ status }: OutgoingAnswer): boolean => status >= 200 && status < 300

const failed = (failure: ModelFailure['failure'], message: string): ChatPart => ({
  kind: 'failure',
  failure: { failure, message },
})

/** Throws a SyntaxError for longer answers and for invalid JSON. */
export async function jsonOf(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Json> {
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > maxBytes) throw new SyntaxError('too long')
    text += decoder.decode(chunk, { stream: true })
  }
  return JSON.parse(text + decoder.decode())
}
