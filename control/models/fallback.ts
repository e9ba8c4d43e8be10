import type { ChatModel, ChatPart, ChatRequest, ModelFailure } from './model.ts'

interface FallbackOptions {
  signal: AbortSignal
  /** A model that has no first part by then is too slow [ms]. */
  firstPartMs: number
  /** Called with the name of the model that is asked. */
  used: (model: string) => void
}

/**
 * Asks the first model or, if that fails before its first word or has none within `firstPartMs`, the next one. After the first word there
 * is no fallback: a failure is then returned.
 */
export async function* chatWithFallback(
  models: readonly ChatModel[],
  request: ChatRequest,
  options: FallbackOptions,
): AsyncGenerator<ChatPart, void> {
  let failure: ModelFailure = { failure: 'unavailable', message: 'no model is configured' }
  for (const model of models) {
    if (options.signal.aborted) return
    options.used(model.name)
    const slow = new AbortController()
    const parts = model.chat(request, AbortSignal.any([options.signal, slow.signal]))[Symbol.asyncIterator]()
    let first = await within(parts.next(), options.firstPartMs)
    if (first?.done === false && first.value.kind === 'usage') {
      // It costs, but is no answer yet.
      yield first.value
      first = await within(parts.next(), options.firstPartMs)
    }
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
      // If the caller stops reading, the request is aborted, so that no more is paid for.
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
