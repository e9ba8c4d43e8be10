import { lookup as systemLookup } from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { type AddressPolicy, isAllowedAddress, isPublicAddress } from '../../media/protocol.ts'

export const TIMEOUT_MS = 15_000

/** What is read of an answer; the rest is not fetched. */
const MAX_BODY_BYTES = 16 * 1024

export interface PostRequest {
  url: string
  headers: Record<string, string>
  body: string
}

export interface PostOptions {
  addresses: AddressPolicy
  /** From the look-up of the name to the end of the answer [ms]. */
  timeoutMs: number
  /** Gives the request up. */
  signal: AbortSignal
  /** Replaces the system's resolver. */
  lookup?: ResolveAll
}

export type PostError = 'timed_out' | 'address_not_allowed' | 'connection_failed' | 'aborted'

/** An answer, and whether a public address gave it; or why there was none. */
export type PostOutcome =
  | { status: number; body: string; retryAfter: string | undefined; isFromPublic: boolean }
  | { error: PostError; message: string }

/** The one form of `dns.lookup` that is used here. */
export type ResolveAll = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void

export type Post = (request: PostRequest, options: PostOptions) => Promise<PostOutcome>

/**
 * Sends one POST over a connection of its own and follows no redirect. Only addresses that the policy allows are dialled: the
 * look-up whose answer is checked is the one whose answer is used, so a name cannot mean another address in between.
 */
export function httpPost(request: PostRequest, options: PostOptions): Promise<PostOutcome> {
  const url = new URL(request.url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !isAllowedAddress(host, options.addresses)) {
    return Promise.resolve({
      error: 'address_not_allowed',
      message: `${host} may not be dialled`,
    })
  }
  const { signal } = options
  if (signal.aborted) return Promise.resolve(ABORTED)
  return new Promise(resolve => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const body = Buffer.from(request.body)
    const outgoing = send(url, {
      method: 'POST',
      headers: { ...request.headers, 'content-length': body.length },
      agent: false,
      lookup: allowedLookup(options),
    })
    const finish = (outcome: PostOutcome): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      resolve(outcome)
      outgoing.destroy()
    }
    const abort = (): void => finish(ABORTED)
    let late = (): void => finish({ error: 'timed_out', message: `no answer within ${options.timeoutMs} ms` })
    const timer = setTimeout(() => late(), options.timeoutMs)
    let closed = (): void => finish({ error: 'connection_failed', message: 'closed without an answer' })
    signal.addEventListener('abort', abort)
    outgoing.on('error', error => finish(failureOf(error)))
    outgoing.on('response', answer => {
      late = closed = readAnswer(answer, finish)
    })
    outgoing.on('close', () => closed())
    outgoing.end(body)
  })
}

const ABORTED: PostOutcome = { error: 'aborted', message: 'the server is stopping' }

/** Returns what ends the reading. The status alone decides, so a body that is too long, too slow or breaks off changes nothing. */
function readAnswer(answer: IncomingMessage, finish: (outcome: PostOutcome) => void): () => void {
  const parts: Buffer[] = []
  let length = 0
  const isFromPublic = isPublicAddress(answer.socket.remoteAddress ?? '')
  const done = (): void => {
    const body = Buffer.concat(parts).subarray(0, MAX_BODY_BYTES).toString('utf8')
    finish({ status: answer.statusCode ?? 0, body, retryAfter: answer.headers['retry-after'], isFromPublic })
  }
  answer.on('data', (part: Buffer) => {
    parts.push(part)
    length += part.length
    if (length >= MAX_BODY_BYTES) done()
  })
  answer.on('end', done)
  answer.on('error', done)
  return done
}

class AddressNotAllowed extends Error {}

const failureOf = (error: Error & { code?: string; errors?: Error[] }): PostOutcome => {
  if (error instanceof AddressNotAllowed) return { error: 'address_not_allowed', message: error.message }
  const message = error.message || error.errors?.[0]?.message || error.code || 'connection failed'
  return { error: 'connection_failed', message }
}

/** Gives the socket only addresses that may be dialled. */
function allowedLookup({ addresses, lookup = systemLookup as ResolveAll }: PostOptions): LookupFunction {
  return (hostname, wanted, callback) =>
    lookup(hostname, { all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      const allowed = found.filter(({ address }) => isAllowedAddress(address, addresses))
      const first = allowed[0]
      if (first === undefined) callback(new AddressNotAllowed(`${hostname} has no address that may be dialled`), [])
      else if (wanted.all) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
}
