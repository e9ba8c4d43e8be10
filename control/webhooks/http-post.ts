import { AddressNotAllowed, exchange, type OutgoingRequest, type Reach } from '../../media/protocol.ts'

export const TIMEOUT_MS = 15_000

/** Maximum number of bytes read of a response; the rest is not fetched. */
export const MAX_BODY_BYTES = 16 * 1024

export type PostRequest = Pick<OutgoingRequest, 'method' | 'url' | 'headers'> & { body?: string }

export interface PostOptions extends Reach {
  /** From the name lookup to the end of the response [ms]. */
  timeoutMs: number
  /** Aborts the request. */
  signal: AbortSignal
  /** See `OutgoingRequest`. */
  isRepeatable?: boolean
}

type PostError = 'timed_out' | 'address_not_allowed' | 'connection_failed' | 'aborted'

/** A response, and whether it came from a public address; or why there is none. */
export type PostOutcome =
  | { status: number; body: string; retryAfter: string | undefined; isFromPublic: boolean }
  | { error: PostError; message: string }

export type Post = (request: PostRequest, options: PostOptions) => Promise<PostOutcome>

/** One request to a customer's URL. Never rejects. */
export async function httpPost(request: PostRequest, options: PostOptions): Promise<PostOutcome> {
  const { timeoutMs, signal: given, isRepeatable = false, ...reach } = options
  // Not `AbortSignal.any` and `timeout`: their weak references slow down every garbage collection.
  const abort = new AbortController()
  const giveUp = (): void => abort.abort()
  const timer = setTimeout(giveUp, timeoutMs)
  given.addEventListener('abort', giveUp)
  if (given.aborted) giveUp()
  try {
    const asked = { reach, isRepeatable, signal: abort.signal, ...request }
    // Only the status decides, so it does not matter if the body is too long, too slow or incomplete.
    const { status, headers, body, isFromPublic } = await exchange(asked, MAX_BODY_BYTES)
    return { status, body: body.toString('utf8'), retryAfter: headers['retry-after']?.toString(), isFromPublic }
  } catch (error) {
    if (given.aborted) return { error: 'aborted', message: 'the server is stopping' }
    if (abort.signal.aborted) return { error: 'timed_out', message: `no answer within ${timeoutMs} ms` }
    return failureOf(error as Error)
  } finally {
    clearTimeout(timer)
    given.removeEventListener('abort', giveUp)
  }
}

function failureOf(error: Error & { code?: string; errors?: Error[] }): PostOutcome {
  if (error instanceof AddressNotAllowed) return { error: 'address_not_allowed', message: error.message }
  const message = error.message || error.errors?.[0]?.message || error.code || 'connection failed'
  return { error: 'connection_failed', message }
}
