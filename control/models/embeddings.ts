import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type OutgoingAnswer, type OutgoingRequest, send } from '../../media/protocol.ts'
import type { TokenCounts } from './model.ts'
import { jsonOf, type ModelProvider } from './openai-client.ts'
import type { Json } from './openai-wire.ts'

/** Maximum numbers: texts per request, requests at a time, and waiting texts. Further texts are not requested. */
const MAX_BATCH = 96
const MAX_REQUESTS = 4
const MAX_WAITING = 2000
/** Time limit: later results are useless for a conversation [ms]. */
const TIMEOUT_MS = 2500
/** A provider that has failed is asked again after this time [ms]. */
const REST_MS = 10_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const MAX_DIMENSIONS = 8192
const MAX_TEXT = 2000
const CACHE_BYTES = 96 * 1024 * 1024

/** The tenant that pays for the request. */
export interface Payer {
  key: string
  paid: (model: string, tokens: TokenCounts) => void
}

interface Waiting {
  key: string
  text: string
  payer: Payer
}

type EmbeddingProvider = ModelProvider & { model: string }

/**
 * Embeddings of texts, as vectors of length 1, from an OpenAI-compatible `/embeddings` URL. Callers that cannot wait get the known ones,
 * and the rest is fetched for later. Texts are cached only by hash, and never logged.
 */
export class Embeddings {
  readonly #provider: EmbeddingProvider
  readonly #send: (request: OutgoingRequest) => Promise<OutgoingAnswer>
  readonly #now: () => number
  readonly #timeoutMs: number
  readonly #known = new LRUCache<string, Float32Array>({
    maxSize: CACHE_BYTES,
    sizeCalculation: vector => vector.byteLength + 100,
  })
  readonly #waiting: Waiting[] = []
  /** By hash of a requested text: resolves once it is known or has failed. */
  readonly #asked = new Map<string, { done: Promise<void>; settle: () => void }>()
  #requests = 0
  #isBegun = false
  #restsUntil = 0
  readonly #given = new AbortController()

  constructor(
    provider: EmbeddingProvider,
    {
      sent = send,
      now = () => performance.now(),
      timeoutMs = TIMEOUT_MS,
    }: { sent?: typeof send; now?: () => number; timeoutMs?: number } = {},
  ) {
    this.#timeoutMs = timeoutMs
    this.#provider = provider
    this.#send = sent
    this.#now = now
  }

  /** The vector of a text; undefined: not known yet. */
  known(text: string): Float32Array | undefined {
    return this.#known.get(hashOf(text))
  }

  /** Resolves once all of these are known or have failed. Never rejects. `behind`: texts with low priority, requested after all others. */
  async learn(texts: readonly string[], behind: readonly string[], payer: Payer): Promise<void> {
    if (this.#now() < this.#restsUntil || this.#given.signal.aborted) return
    const first = texts.map(text => this.#wanted(text, payer, waiting => this.#waiting.unshift(waiting)))
    const then = behind.map(text => this.#wanted(text, payer, waiting => this.#waiting.push(waiting)))
    await Promise.all([...first, ...then])
  }

  #wanted(text: string, payer: Payer, wait: (waiting: Waiting) => void): Promise<void> {
    const key = hashOf(text)
    if (this.#known.has(key) || text.trim() === '' || text.length > MAX_TEXT) return Promise.resolve()
    const asked = this.#asked.get(key)
    if (asked !== undefined) return asked.done
    if (this.#asked.size >= MAX_WAITING) return Promise.resolve()
    let settle: () => void = () => {}
    const done = new Promise<void>(resolve => {
      settle = resolve
    })
    this.#asked.set(key, { done, settle })
    wait({ key, text, payer })
    this.#begin()
    return done
  }

  /** Starts requests in the next turn of the event loop, so that what is wanted now goes into one request. */
  #begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    setImmediate(() => {
      this.#isBegun = false
      while (this.#requests < MAX_REQUESTS && this.#waiting.length > 0) void this.#ask(this.#batch())
    })
  }

  /** The next texts of one payer. */
  #batch(): Waiting[] {
    const payer = this.#waiting[0]!.payer.key
    const batch = this.#waiting.filter(one => one.payer.key === payer).slice(0, MAX_BATCH)
    for (const one of batch) this.#waiting.splice(this.#waiting.indexOf(one), 1)
    return batch
  }

  async #ask(batch: readonly Waiting[]): Promise<void> {
    this.#requests++
    try {
      const { vectors, tokens } = await this.#post(batch.map(({ text }) => text))
      for (const [i, { key }] of batch.entries()) this.#known.set(key, vectors[i]!)
      batch[0]?.payer.paid(this.#provider.model, { inputTokens: tokens, outputTokens: 0 })
    } catch {
      // A provider that is slow, fails or gives an invalid answer is not asked for a while, and everything that waits for it fails.
      this.#restsUntil = this.#now() + REST_MS
      for (const { key } of this.#waiting.splice(0)) this.#settle(key)
    }
    this.#requests--
    for (const { key } of batch) this.#settle(key)
    if (this.#waiting.length > 0) this.#begin()
  }

  #settle(key: string): void {
    this.#asked.get(key)?.settle()
    this.#asked.delete(key)
  }

  async #post(input: readonly string[]): Promise<{ vectors: Float32Array[]; tokens: number }> {
    // Referenced by its timer. A time-out signal known only to `AbortSignal.any` may be garbage-collected, and then never fires.
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), this.#timeoutMs)
    try {
      return await this.#postUntil(AbortSignal.any([this.#given.signal, late.signal]), input)
    } finally {
      clearTimeout(timer)
    }
  }

  async #postUntil(
    signal: AbortSignal,
    input: readonly string[],
  ): Promise<{ vectors: Float32Array[]; tokens: number }> {
    const { baseUrl, apiKey, model } = this.#provider
    const answer = await this.#send({
      url: `${baseUrl}/embeddings`,
      headers: { 'content-type': 'application/json', ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }) },
      body: JSON.stringify({ model, input, encoding_format: 'float' }),
      signal,
    })
    if (answer.status < 200 || answer.status >= 300) {
      answer.close()
      throw new Error(`the provider answered ${answer.status}`)
    }
    return vectorsOf(await jsonOf(answer.body, MAX_ANSWER_BYTES), input.length)
  }

  /** Cancels requests in progress. */
  close(): void {
    this.#given.abort()
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** https://platform.openai.com/docs/api-reference/embeddings; throws for anything else. */
function vectorsOf(answer: Json, count: number): { vectors: Float32Array[]; tokens: number } {
  const { data, usage } = answer as { data?: unknown; usage?: { prompt_tokens?: unknown; total_tokens?: unknown } }
  if (!Array.isArray(data)) throw new SyntaxError('no list of vectors')
  const vectors: Float32Array[] = []
  for (const [i, one] of data.entries()) {
    const { index = i, embedding } = (one ?? {}) as { index?: unknown; embedding?: unknown }
    if (typeof index === 'number' && index >= 0 && index < count) vectors[index] = directionOf(embedding)
  }
  for (let i = 0; i < count; i++) if (vectors[i] === undefined) throw new SyntaxError('a vector is missing')
  const tokens = Number(usage?.prompt_tokens ?? usage?.total_tokens ?? 0)
  return { vectors, tokens: Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0 }
}

function directionOf(embedding: unknown): Float32Array {
  if (!Array.isArray(embedding) || embedding.length === 0 || embedding.length > MAX_DIMENSIONS) {
    throw new SyntaxError('no vector')
  }
  const length = Math.hypot(...(embedding as number[]))
  if (!(length > 0 && Number.isFinite(length))) throw new SyntaxError('a vector of no direction')
  return Float32Array.from(embedding as number[], value => value / length)
}

/** Cosine of two vectors of length 1, -1 to 1; 0 if their dimensions differ. */
export function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
