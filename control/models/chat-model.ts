import type { ModelFailure } from './model.ts'

/** What was said and done in a call so far, as a model gets to see it. */
export type ChatMessage =
  | { role: 'customer' | 'assistant'; text: string }
  | { role: 'call'; id: string; name: string; input: Record<string, unknown> }
  | { role: 'result'; id: string; output: string }

export interface ChatTool {
  name: string
  description: string
  /** JSON Schema of the input. */
  parameters: Record<string, unknown>
}

export interface ChatRequest {
  instructions: string
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
  /** Passages of the knowledge base that may hold the answer, best first. */
  passages: readonly string[]
  /** Those that have words of like meaning, or all where there are few: for who reads them for nothing. */
  more?: () => Promise<readonly string[]>
}

/** A piece of an answer as it comes. A failure is the last one. */
export type ChatPart =
  | { kind: 'text'; text: string }
  | { kind: 'call'; id: string; name: string; input: Record<string, unknown> }
  | { kind: 'usage'; inputTokens: number; outputTokens: number }
  | { kind: 'failure'; failure: ModelFailure }

/** A model that speaks as it thinks. Never throws; `signal` gives up what is under way. */
export interface ChatModel {
  readonly name: string
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatPart>
}

/** Names of what assistants can do by themselves. */
export const END_CALL = 'end_call'
export const BOOK_CALLBACK = 'book_callback'

/**
 * Asks the first model; when it fails before its first word, or has none within `firstPartMs`, the next one. `used` names who answers.
 * With a word said there is no way back: a failure after it is the caller's to hear.
 */
export async function* chatWithFallback(
  models: readonly ChatModel[],
  request: ChatRequest,
  options: { signal: AbortSignal; firstPartMs: number; used: (model: string) => void },
): AsyncGenerator<ChatPart, void> {
  let failure: ModelFailure = { failure: 'unavailable', message: 'no model is configured' }
  for (const model of models) {
    if (options.signal.aborted) return
    options.used(model.name)
    const slow = new AbortController()
    const parts = model.chat(request, AbortSignal.any([options.signal, slow.signal]))[Symbol.asyncIterator]()
    const first = await within(parts.next(), options.firstPartMs)
    if (first === null) {
      slow.abort()
      failure = { failure: 'timeout', message: `${model.name}: no word within ${options.firstPartMs} ms` }
      continue
    }
    if (first.done === true) {
      failure = { failure: 'bad_answer', message: `${model.name}: an empty answer` }
      continue
    }
    if (first.value.kind === 'failure') {
      failure = first.value.failure
      continue
    }
    try {
      yield first.value
      for (let next = await parts.next(); next.done !== true; next = await parts.next()) yield next.value
    } finally {
      // Who has heard enough pays for no more.
      slow.abort()
    }
    return
  }
  yield { kind: 'failure', failure }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => {
    timer = setTimeout(() => resolve(null), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
