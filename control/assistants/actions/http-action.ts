import type { FlowValue } from '../../flows/engine/graph.ts'
import { customerAddresses } from '../../http/url-policy.ts'
import type { Post } from '../../webhooks/http-post.ts'

/** A caller waits no longer for an action [ms]. */
const TIMEOUT_MS = 10_000
const MAX_VALUE_LENGTH = 2000

export interface HttpActionParts {
  post: Post
  allowedNetworks: string[]
}

/** What came of a POST to a customer's server; `body`: of a 2xx, parsed when it is JSON. */
export type HttpActionResult =
  | { outcome: 'success'; body: unknown; text: string }
  | { outcome: 'failed' | 'timeout'; message: string }

/**
 * Sends an action's input as JSON. The `Idempotency-Key` is the same when the action is done over after a restart, so that the
 * server can tell.
 */
export async function postAction(
  { post, allowedNetworks }: HttpActionParts,
  request: { url: string; input: unknown; key: string; signal: AbortSignal },
): Promise<HttpActionResult> {
  const answer = await post(
    {
      url: request.url,
      headers: { 'content-type': 'application/json', 'idempotency-key': request.key },
      body: JSON.stringify(request.input),
    },
    { addresses: customerAddresses(allowedNetworks), timeoutMs: TIMEOUT_MS, signal: request.signal },
  )
  if ('error' in answer) {
    return { outcome: answer.error === 'timed_out' ? 'timeout' : 'failed', message: answer.message }
  }
  if (answer.status < 200 || answer.status > 299) return { outcome: 'failed', message: `status ${answer.status}` }
  return { outcome: 'success', body: parsed(answer.body), text: answer.body }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A server's answer as a variable: a scalar as it is, of an object its `value`, else the text of it. */
export function scalarOf(body: unknown): FlowValue {
  if (typeof body === 'number' || typeof body === 'boolean' || body === null) return body
  if (typeof body === 'string') return body.slice(0, MAX_VALUE_LENGTH)
  if (typeof body === 'object' && 'value' in body && typeof body.value !== 'object') return scalarOf(body.value)
  return JSON.stringify(body ?? null).slice(0, MAX_VALUE_LENGTH)
}
