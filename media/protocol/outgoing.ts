import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { type AddressPolicy, isAllowedAddress, isPublicAddress } from './addresses.ts'
import { KeptClients } from './kept-clients.ts'

/** A connection that nobody uses for so long is closed [ms]. */
const IDLE_MS = 4000

/** The one form of `dns.lookup` that is used here. */
export type ResolveAll = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void

/** Where a customer's URL may lead. */
export interface Reach {
  addresses: AddressPolicy
  /** Replaces the system's resolver. */
  lookup?: ResolveAll
}

export interface OutgoingRequest {
  /** Absent: POST. */
  method?: 'GET' | 'PUT' | 'PATCH' | 'DELETE' | 'POST'
  url: string
  headers: Record<string, string>
  body?: string | Uint8Array | Readable
  /** Gives the request up, and the answer's body with it. */
  signal: AbortSignal
  /** For a customer's URL; absent: the address is the operator's own. */
  reach?: Reach
  /** Who gets it twice takes it for one: it may go over a connection that an earlier one has used, and which its far end may have closed. */
  isRepeatable?: boolean
}

export interface OutgoingAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** To be read, or left by `close`. */
  body: AsyncIterable<Uint8Array>
  /** Whether a public address gave it; known of a customer's URL alone. */
  isFromPublic: boolean
  /** Discards the unread part of the body. Idempotent. */
  close(): void
}

/** The name or address of a URL must not be dialled. */
export class AddressNotAllowed extends Error {}

/**
 * Sends one request; every HTTP request to others goes this way. No redirect is followed: what is sent goes to nobody else. A request to a
 * customer's URL has a connection of its own, unless it is repeatable, and only addresses are dialled that the policy allows: the look-up
 * whose answer is checked is the one whose answer is used, so a name cannot mean another address in between.
 */
export async function send(request: OutgoingRequest): Promise<OutgoingAnswer> {
  const { signal, reach } = request
  signal.throwIfAborted()
  if (reach === undefined) {
    return answerOf(await unlessAborted(signal, (await operatorsAgent()).request(askedOf(request))))
  }
  return overClient({ ...request, reach }, async ({ client, isKept, asked, giveBack }) => {
    const answer = answerOf(await unlessAborted(signal, client.request(asked)))
    const close = once(() => giveBack(isKept && answer.isRead()))
    return { ...answer, isFromPublic: client.isFromPublic(), close }
  })
}

/** An answer with the beginning of its body. */
export interface ShortAnswer extends Pick<OutgoingAnswer, 'status' | 'headers' | 'isFromPublic'> {
  body: Buffer
}

/**
 * As `send`, for a short answer: at most `maxBytes` of its body are read. Only the status matters, so a body that is too long or breaks off
 * is returned as far as it has arrived. Costs half as much as `send`.
 */
export async function exchange(
  request: OutgoingRequest & { reach: Reach; body?: string | Uint8Array },
  maxBytes: number,
): Promise<ShortAnswer> {
  request.signal.throwIfAborted()
  return overClient(request, async ({ client, asked, isKept, giveBack }) => {
    const { isWhole, ...answer } = await client.exchange(asked, maxBytes, request.signal)
    giveBack(isKept && isWhole)
    return { isFromPublic: client.isFromPublic(), ...answer }
  })
}

const askedOf = ({ url, method = 'POST', headers, body, signal }: OutgoingRequest) => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search, method, headers, body: body ?? null, signal } as const
}

interface Exchange {
  client: Awaited<ReturnType<typeof customersClient>>
  /** Whether others may use its connection afterwards. */
  isKept: boolean
  asked: ReturnType<typeof askedOf> & { reset: boolean }
  /** To be called once: whether its connection is as good as new. */
  giveBack: (isGood: boolean) => void
}

async function overClient<A>(
  request: OutgoingRequest & { reach: Reach },
  use: (exchange: Exchange) => Promise<A>,
): Promise<A> {
  const { signal, reach, isRepeatable = false } = request
  const asked = askedOf(request)
  const isKept = isRepeatable && reach.lookup === undefined
  const place = `${asked.origin} ${JSON.stringify(reach.addresses)}`
  const earlier = isKept ? keptClients.take(place) : null
  const kept = earlier ?? { client: await customersClient(asked.origin, reach), since: performance.now() }
  const { client } = kept
  const giveBack: Exchange['giveBack'] = isGood => {
    if (isGood) keptClients.give(place, kept, performance.now())
    else void client.destroy()
  }
  try {
    return await use({ client, isKept, asked: { reset: !isKept, ...asked }, giveBack })
  } catch (error) {
    void client.destroy()
    // Its far end has closed it while nobody used it.
    if (earlier !== null && !signal.aborted) return overClient({ ...request, isRepeatable: false }, use)
    throw error
  }
}

const keptClients = new KeptClients<Awaited<ReturnType<typeof customersClient>>>()

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) act()
    isDone = true
  }
}

/** undici looks at the signal once there is a connection; a name may take longer to resolve. */
function unlessAborted<T>(signal: AbortSignal, answer: Promise<T>): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return Promise.race([answer, aborted])
}

const answerOf = ({ statusCode: status, headers, body }: Dispatcher.ResponseData) => ({
  status,
  headers,
  body,
  isFromPublic: false,
  isRead: () => body.readableEnded,
  close: () => void body.on('error', () => {}).destroy(),
})

/** Loaded with the first request, so threads that send none start faster. A bundled CommonJS package has only `default`. */
const undici = async () => (await import('undici')).default

/** Callers that must not wait for it load it before. */
export const readyToSend = async (): Promise<void> => {
  await undici()
}

let agent: Promise<Dispatcher> | null = null

/** Keeps connections for the next request. The signals of the requests say how long they may take. */
const operatorsAgent = (): Promise<Dispatcher> => {
  agent ??= undici().then(({ Agent }) => new Agent({ headersTimeout: 0, bodyTimeout: 0 }))
  return agent
}

async function customersClient(origin: string, reach: Reach) {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !isAllowedAddress(host, reach.addresses)) {
    throw new AddressNotAllowed(`${host} may not be dialled`)
  }
  const { buildConnector, Client } = await undici()
  const dial = buildConnector({ lookup: allowedLookup(reach) })
  let dialled = ''
  const client = new Client(origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveMaxTimeout: IDLE_MS,
    connect: (target, done) =>
      dial(target, (...[error, socket]) => {
        if (error !== null) return done(error, null)
        dialled = socket.remoteAddress ?? ''
        done(null, socket)
      }),
  })
  return {
    request: (asked: Dispatcher.RequestOptions) => client.request(asked),
    exchange: (asked: Dispatcher.DispatchOptions, maxBytes: number, signal: AbortSignal) =>
      shortAnswer(client, asked, maxBytes, signal),
    destroy: () => client.destroy(),
    isFromPublic: () => isPublicAddress(dialled),
  }
}

/** Reads the body without a stream, which would cost more. */
function shortAnswer(
  client: Pick<Dispatcher, 'dispatch'>,
  asked: Dispatcher.DispatchOptions,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Omit<ShortAnswer, 'isFromPublic'> & { isWhole: boolean }> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let length = 0
    let head: Pick<ShortAnswer, 'status' | 'headers'> | null = null
    const end = (isWhole: boolean, error?: Error): void => {
      signal.removeEventListener('abort', giveUp)
      if (head === null) reject(error ?? new Error('the connection was closed'))
      else resolve({ body: Buffer.concat(parts).subarray(0, maxBytes), isWhole, ...head })
    }
    const giveUp = (): void => end(false, signal.reason as Error)
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp)
    client.dispatch(asked, {
      onRequestStart: () => {},
      onResponseStart: (_controller, status, headers) => {
        if (status >= 200) head = { status, headers }
      },
      onResponseData: (_controller, chunk) => {
        if (length >= maxBytes) return
        parts.push(chunk)
        length += chunk.length
        if (length >= maxBytes) end(false)
      },
      onResponseEnd: () => end(true),
      onResponseError: (_controller, error) => end(false, error),
    })
  })
}

/** Gives the socket only addresses that may be dialled. */
function allowedLookup({ addresses, lookup = systemLookup as ResolveAll }: Reach): LookupFunction {
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
