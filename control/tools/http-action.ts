import { cutTo } from '../../media/protocol.ts'
import type { FlowValue } from '../flows/engine/graph.ts'
import { customerAddresses } from '../http/url-policy.ts'
import type { Post, PostRequest } from '../webhooks/http-post.ts'

/** Time limit of an action, for which a caller waits [ms]. */
export const ACTION_TIMEOUT_MS = 10_000
const MAX_VALUE_LENGTH = 2000

export interface HttpActionParts {
  post: Post
  allowedNetworks: string[]
}

/** The result of a request to a customer's server. `body`: of a 2xx response, parsed if it is JSON. */
export type HttpActionResult =
  | { outcome: 'success'; status: number; body: unknown; text: string }
  | { outcome: 'failed' | 'timeout'; status: number | null; message: string; mayPass: boolean }

/** Statuses after which another attempt may succeed, besides 5xx. */
const TOO_MANY = 429

/** Sends one request. `mayPass`: after this failure, another attempt may succeed. */
export async function httpAction(
  { post, allowedNetworks }: HttpActionParts,
  request: PostRequest,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<HttpActionResult> {
  const answer = await post(request, { addresses: customerAddresses(allowedNetworks), timeoutMs, signal })
  if ('error' in answer) {
    const { error, message } = answer
    const mayPass = error === 'timed_out' || error === 'connection_failed'
    return { outcome: error === 'timed_out' ? 'timeout' : 'failed', status: null, message, mayPass }
  }
  const { status, body } = answer
  if (status < 200 || status > 299) {
    return { outcome: 'failed', status, message: `status ${status}`, mayPass: status === TOO_MANY || status >= 500 }
  }
  return { outcome: 'success', status, body: parsed(body), text: body }
}

/** Sends an action's input as JSON. The `Idempotency-Key` is the same if the action is repeated after a restart, so that the server can recognise it. */
export const postAction = (
  parts: HttpActionParts,
  { url, input, key, signal }: { url: string; input: unknown; key: string; signal: AbortSignal },
): Promise<HttpActionResult> =>
  httpAction(
    parts,
    { url, headers: { 'content-type': 'application/json', 'idempotency-key': key }, body: JSON.stringify(input) },
    { timeoutMs: ACTION_TIMEOUT_MS, signal },
  )

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A server's response as a variable: a scalar unchanged, the `value` of an object, otherwise its text. */
export function scalarOf(body: unknown): FlowValue {
  if (typeof body === 'number' || typeof body === 'boolean' || body === null) return body
  if (typeof body === 'string') return cutTo(body, MAX_VALUE_LENGTH)
  if (typeof body === 'object' && 'value' in body && typeof body.value !== 'object') return scalarOf(body.value)
  return cutTo(JSON.stringify(body ?? null), MAX_VALUE_LENGTH)
}
