import type { Readable } from 'node:stream'
import { type OutgoingAnswer, type OutgoingRequest, send } from '../../media/protocol.ts'
import { VERSION } from '../kernel/package.ts'
import type { Account } from './profiles.ts'
import { type Failed, failed } from './terminal.ts'

/** Time limit of an answer of the API [ms]. */
const TIMEOUT_MS = 60_000
/** Time limit of an upload, which may be large, over a slow line [ms]. */
const UPLOAD_TIMEOUT_MS = 30 * 60_000

interface ApiRequest {
  method: string
  /** Path relative to the account's URL, with query. */
  path: string
  body?: string | Readable
  headers?: Record<string, string>
}

export interface ApiAnswer {
  status: number
  type: string
  bytes: Buffer
}

/** Sends a request with the account's key. The caller reads and closes the answer. */
export async function open(
  account: Account,
  { method, path, body, headers }: ApiRequest,
  signal: AbortSignal,
): Promise<OutgoingAnswer | Failed> {
  const request = {
    // Requests without a method are POST.
    ...(method === 'POST' ? {} : { method: method as NonNullable<OutgoingRequest['method']> }),
    url: account.url + path,
    headers: {
      authorization: `Bearer ${account.key}`,
      'user-agent': `tandem-cli/${VERSION}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    signal,
  }
  try {
    return await send(request)
  } catch (error) {
    if (signal.aborted) return failed('Given up.')
    const { code, message } = error as NodeJS.ErrnoException
    return failed(
      `Tandem cannot be reached at ${account.url} (${code ?? message}): start it there, or set another address (TANDEM_API_URL, tandem profile add).`,
    )
  }
}

/** Sends a request and reads the whole answer. What the API refuses is a failure that says why. */
export async function ask(account: Account, request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer | Failed> {
  // Referenced by its timer. A time-out signal known only to `AbortSignal.any` may be garbage-collected, and then never fires.
  const late = new AbortController()
  const isUpload = typeof request.body === 'object'
  const timer = setTimeout(() => late.abort(), isUpload ? UPLOAD_TIMEOUT_MS : TIMEOUT_MS)
  try {
    return await askUntil(account, request, signal, late.signal)
  } finally {
    clearTimeout(timer)
  }
}

async function askUntil(
  account: Account,
  request: ApiRequest,
  given: AbortSignal,
  late: AbortSignal,
): Promise<ApiAnswer | Failed> {
  const answer = await open(account, request, AbortSignal.any([given, late]))
  if ('error' in answer) return late.aborted ? failed(`${account.url} has not answered in time.`) : answer
  const bytes = await whole(answer)
  if (bytes === null) return failed(`The answer of ${account.url} was cut off: try again.`)
  if (answer.status >= 400) return refusalOf(account, answer.status, bytes.toString())
  return { status: answer.status, type: String(answer.headers['content-type'] ?? ''), bytes }
}

export async function whole({ body }: OutgoingAnswer): Promise<Buffer | null> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of body) parts.push(part)
    return Buffer.concat(parts)
  } catch {
    return null
  }
}

const HINTS: Readonly<Record<string, (account: Account) => string>> = {
  api_key_missing: ({ from }) => `set the key of ${from}`,
  api_key_invalid: ({ from, url }) => `is the key of ${from} one of ${url}? Set TANDEM_API_KEY, or tandem profile add`,
  api_key_expired: ({ from }) => `replace the key of ${from}`,
  test_key_required: ({ from }) => `${from} has a live key; use a test key (sk_test_…)`,
  live_key_required: ({ from }) => `${from} has a test key; use a live key (sk_live_…)`,
  scope_missing: ({ from }) => `use another key than that of ${from}`,
}

/** The API's error as one line that says what to change. */
export function refusalOf(account: Account, status: number, text: string): Failed {
  const error = errorIn(text)
  if (error === null)
    return failed(`${account.url} answered ${status}, and not as Tandem does: is it the right address?`)
  const hint = HINTS[error.code]?.(account)
  const param = error.param ? ` (${error.param})` : ''
  return failed(`${error.message} ${error.code}${param}${hint === undefined ? '' : `: ${hint}`}.`)
}

function errorIn(text: string): { code: string; message: string; param?: string | null } | null {
  try {
    const { error } = JSON.parse(text)
    return typeof error.code === 'string' && typeof error.message === 'string' ? error : null
  } catch {
    return null
  }
}
