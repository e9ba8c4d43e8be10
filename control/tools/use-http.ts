import { setTimeout as pause } from 'node:timers/promises'
import { cutTo } from '../../media/protocol.ts'
import type { BUILT_IN } from '../flows/engine/template.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { type Blot, blottedDeep, blotter } from '../secrets/blot.ts'
import type { SecretReader } from '../secrets/values.ts'
import { MAX_BODY_BYTES } from '../webhooks/http-post.ts'
import { foundBy } from './answer-path.ts'
import { type HttpActionParts, type HttpActionResult, httpAction } from './http-action.ts'
import { requestOf } from './http-request.ts'
import type { HttpSettings } from './schema.ts'
import { secretsIn } from './secrets-in.ts'

/** Time limit of all attempts of one use, for which a caller waits [ms]. */
const MAX_USE_MS = 30_000
/** Delay before the second attempt [ms]; doubled before each further one. */
const FIRST_PAUSE_MS = 200
/** A truncated response may end within a character of at most this many bytes. */
const CHARACTER_BYTES = 4

export interface ToolParts extends HttpActionParts {
  secrets: SecretReader
}

/** The call's values, as in scripts of flows. */
export type CallValues = Partial<Record<(typeof BUILT_IN)[number], string>>

export interface HttpUse {
  tenant: Tenant
  input: Readonly<Record<string, unknown>>
  call: CallValues
  /** Idempotency key of the use, the same in every attempt. */
  key: string
  signal: AbortSignal
}

/** Maximum length of a tool's result for the model, which a test shows as it is [characters]. */
export const MAX_OUTPUT = 4000

/** The result, with all secrets masked. */
export type UseResult = { attempts: number; httpStatus: number | null } & (
  | { outcome: 'success'; output: string; body: unknown }
  | { outcome: 'failed' | 'timeout'; message: string }
)

/** Sends a tool's request to a customer's server. Each attempt reads the secrets again, so a rotated one is not sent. */
export async function useHttp(parts: ToolParts, http: HttpSettings, use: HttpUse): Promise<UseResult> {
  const names = secretsIn(http)
  const endsAt = performance.now() + MAX_USE_MS
  for (let attempts = 1; ; attempts++) {
    const secrets = await parts.secrets(use.tenant, names)
    const lost = names.find(name => !secrets.has(name))
    const failed = (message: string) => ({ outcome: 'failed' as const, attempts, httpStatus: null, message })
    if (lost !== undefined) return failed(`there is no secret ${lost}`)
    const request = requestOf(http, { said: use.input, call: use.call as Record<string, string>, secrets })
    if (typeof request === 'string') return failed(request)
    const headers = { ...request.headers, 'idempotency-key': use.key }
    const timeoutMs = Math.min(http.timeout_ms, Math.max(1, endsAt - performance.now()))
    const result = await httpAction(parts, { ...request, headers }, { timeoutMs, signal: use.signal })
    const pauseMs = FIRST_PAUSE_MS * 2 ** (attempts - 1)
    const isLast = attempts > http.retries || performance.now() + pauseMs >= endsAt || use.signal.aborted
    if (result.outcome === 'success' || !result.mayPass || isLast) {
      return { attempts, httpStatus: result.status, ...told(http, result, blotter(secrets)) }
    }
    await pause(pauseMs, undefined, { signal: use.signal }).catch(() => {})
  }
}

function told(http: HttpSettings, result: HttpActionResult, blot: Blot) {
  if (result.outcome !== 'success') return { outcome: result.outcome, message: blot(result.message) }
  const { body, text } = result
  const cut = Buffer.byteLength(text) > MAX_BODY_BYTES - CHARACTER_BYTES
  const clean = blottedDeep(body, value => blot(value, cut))
  const paths = Object.entries(http.response)
  if (paths.length === 0) {
    // The response unchanged, unless parsing has revealed a secret in another spelling.
    const isSame = typeof body === 'string' || JSON.stringify(clean) === JSON.stringify(body)
    const output = isSame ? blot(text, cut) : JSON.stringify(clean)
    return { outcome: 'success' as const, output: cutTo(output, MAX_OUTPUT), body: clean }
  }
  if (typeof clean !== 'object') return { outcome: 'failed' as const, message: 'the answer is not JSON' }
  const found = Object.fromEntries(paths.map(([name, path]) => [name, foundBy(path, clean)]))
  return { outcome: 'success' as const, output: cutTo(JSON.stringify(found), MAX_OUTPUT), body: found }
}
