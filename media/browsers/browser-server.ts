import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type VerifyClientCallbackAsync, type WebSocket, WebSocketServer } from 'ws'
import { reachedBy } from '../kernel/own-addresses.ts'
import { ReadingShare, shareReading } from '../kernel/reading-share.ts'
import { credentialOf, type TlsCredential } from '../kernel/tls-files.ts'
import { newUlid } from '../protocol/chance.ts'
import { clientAddress, clientNetwork, type Events, Newcomers, RateLimits } from '../protocol.ts'
import type { SipUpgrade } from '../signalling/endpoint/sip-websockets.ts'
import { LINK_PATH } from './page-links.ts'
import { type DoorRefusal, isSecure, SIP_PATH, type SipDoorOptions, sipRefusal } from './sip-door.ts'

/** A longer message closes with 1009 [bytes]. */
const MAX_MESSAGE_BYTES = 64 * 1024
/** Other nodes tell pages whole copilot sessions [bytes]. */
const MAX_LINK_MESSAGE_BYTES = 4 * 1024 * 1024
/** Limit for connections of one client's network whose token is not verified yet. */
const MAX_NEWCOMERS = 100
/** Connections at once, those included that have said nothing yet: they must not take the sockets of calls. Further ones are closed. */
const MAX_CONNECTIONS = 10_000
/** How long control may take to say what becomes of a page that connects [ms]; then 503. */
const DECISION_MS = 4000
/** Upgrades that wait for that at most; further ones are answered 503. */
const MAX_PENDING = 1000
/** Limits for one client's network (`clientNetwork`): connects per time, and concurrent connections. */
const CONNECTS = { burst: 60, perSecond: 2 }
const MAX_PER_NETWORK = 200
const MAX_TOKEN = 4096

/** The paths of the two kinds of page. */
const PATHS: Record<string, Events['browser.connecting']['use']> = {
  '/v1/web_calls': 'call',
  '/v1/softphones': 'phone',
}

/** A TLS handshake may take this long [ms]. */
const HANDSHAKE_MS = 10_000

interface BrowserServerOptions {
  hosts: readonly string[]
  port: number
  /** The same over TLS; absent: not listened for. */
  tls?: { port: number } & Partial<TlsCredential>
  /** SIP over WebSocket (RFC 7118); absent: not served. */
  sip?: SipDoorOptions
  /** Trusted proxies for X-Forwarded-For (CIDR). */
  trustedProxies: readonly string[]
  /** Base address of the API's pages, for `doc_url`; no trailing slash. */
  publicUrl: string
  /** Monotonic [ms]. */
  now: () => number
  /** Whether one more page may connect now; else 429. */
  hasRoom: (use: Events['browser.connecting']['use']) => boolean
  connecting: (page: Events['browser.connecting']) => void
  /** Who takes the link of another node that asks for a page of ours; a status: why not. Absent: there are no other nodes. */
  link?: (token: string) => ((link: WebSocket) => void) | number
  /** Instead of `MAX_CONNECTIONS`. */
  maxConnections?: number
}

const FORMATS = ['mulaw_8000', 'l16_16000'] as const
type PageFormat = (typeof FORMATS)[number]

interface Pending {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  /** The client, also behind a proxy. */
  host: string
  timer: NodeJS.Timeout
}

/**
 * The port of the call WebSocket. It belongs to the media process, so calls of browsers outlive control too. An upgrade waits
 * until control has judged its token; a refused one gets an HTTP status and an error in the API's form.
 */
export class BrowserServer {
  readonly counters = { connects: 0, refused: 0, rateLimited: 0 }
  readonly #options: BrowserServerOptions
  /** By the address that it listens on. */
  readonly #http: readonly { host: string; port: number; server: Server }[]
  readonly #tls: TlsServer[] = []
  readonly #ws = webSockets(MAX_MESSAGE_BYTES)
  /** Judges handshakes, and goes on with none. */
  readonly #handshakes = webSockets(MAX_MESSAGE_BYTES, (_info, _goOn) => {
    this.#isHandshake = true
  })
  #isHandshake = false
  readonly #links = webSockets(MAX_LINK_MESSAGE_BYTES)
  readonly #pending = new Map<string, Pending>()
  readonly #connects = new RateLimits(CONNECTS)
  /** Connections that are open, by network. */
  readonly #open = new Map<string, number>()
  readonly #newcomers: Newcomers

  constructor(options: BrowserServerOptions) {
    this.#options = options
    this.#newcomers = new Newcomers(MAX_NEWCOMERS, options.trustedProxies)
    // A handshake that RFC 6455 §4.2.1 does not allow; `ws` would answer it with a line of text.
    this.#handshakes.on('wsClientError', ({ message }, socket) => {
      this.counters.refused++
      answer(socket, 400, this.#error('request_malformed', `${message}.`), ['Sec-WebSocket-Version: 13, 8'])
    })
    const { hosts, port, tls } = options
    this.#http = [
      ...hosts.map(host => ({ host, port, server: this.#server() })),
      ...(tls === undefined ? [] : hosts.map(host => ({ host, port: tls.port, server: this.#server(tls) }))),
    ]
  }

  #server(tls?: BrowserServerOptions['tls']): Server {
    const options = this.#options
    const bounds = { requestTimeout: 10_000, connectionsCheckingInterval: 5_000, maxHeaderSize: 16 * 1024 }
    const answerPlain = (request: IncomingMessage, response: ServerResponse): void => {
      request.resume()
      const [status, code] = this.#isServed(pathOf(request)) ? ([426, 'request_malformed'] as const) : NOT_FOUND
      const body = JSON.stringify(this.#error(code, 'This is the port of the call WebSocket.'))
      // RFC 9110 §15.5.22: with 426, the protocol to change to.
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close', upgrade: 'websocket' })
      response.end(body)
    }
    const http: Server =
      tls === undefined ? createServer(bounds, answerPlain) : this.#tlsServer(tls, bounds, answerPlain)
    http.maxConnections = options.maxConnections ?? MAX_CONNECTIONS
    http.on('drop', () => this.counters.refused++)
    http.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      if (this.#newcomers.enter(socket)) return
      this.counters.refused++
      socket.destroy()
    })
    http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    http.on('clientError', (_error, socket) => {
      if (socket.writable) answer(socket, 400, this.#error('request_malformed', 'The request is not HTTP.'))
      else socket.destroy()
    })
    return http
  }

  /** The API's error envelope, for refusals before control is asked. */
  #error(code: string, message: string, requestId = newBrowserId(), param: string | null = null): object {
    return {
      error: {
        type: TYPES[code] ?? 'invalid_request_error',
        code,
        message,
        param,
        doc_url: `${this.#options.publicUrl}/docs/errors#${code}`,
        request_id: requestId,
      },
    }
  }

  #tlsServer(
    tls: NonNullable<BrowserServerOptions['tls']>,
    bounds: object,
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): TlsServer {
    const server = createTlsServer({ ...bounds, ...credentialOf(tls), handshakeTimeout: HANDSHAKE_MS }, answer)
    this.#tls.push(server)
    return server
  }

  /** New connections over TLS get this certificate; those that are open stay. */
  renewTls(tls: TlsCredential): void {
    for (const server of this.#tls) server.setSecureContext(tls)
  }

  /** Rejects with the system's error when the port is taken. */
  async listen(): Promise<void> {
    for (const { server, host, port } of this.#http) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, ipv6Only: true }, () => {
          server.off('error', reject)
          server.on('error', () => {})
          resolve()
        })
      })
    }
  }

  /** The port that it listens on. */
  get port(): number {
    const address = this.#http[0]?.server.address() ?? null
    return typeof address === 'object' && address !== null ? address.port : this.#options.port
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const browserId = newBrowserId()
    const refuse = (status: number, code: string, message: string, param: string | null = null): void => {
      this.counters.refused++
      answer(socket, status, this.#error(code, message, browserId, param))
    }
    const use = PATHS[pathOf(request)]
    const token = tokenOf(request)
    const host = clientAddress(
      request.socket.remoteAddress ?? '',
      String(request.headers['x-forwarded-for'] ?? ''),
      this.#options.trustedProxies,
    )
    const network = clientNetwork(host)
    if (pathOf(request) === LINK_PATH) this.#link(request, socket, head, token)
    else if (!this.#isServed(pathOf(request))) refuse(404, 'resource_missing', 'No such path.')
    else if (this.#openOf(network) >= MAX_PER_NETWORK || !this.#connects.allow(network, this.#options.now())) {
      this.counters.rateLimited++
      refuse(429, 'rate_limited', 'Too many connections from this address; wait a little.')
    } else if (use === undefined) {
      const refusal = this.#sip({ request, socket, head, host }, network)
      if (refusal !== null) refuse(refusal.status, refusal.code, refusal.message)
    } else if (this.#pending.size >= MAX_PENDING || !this.#options.hasRoom(use)) {
      refuse(429, 'capacity_exhausted', 'No call capacity right now.')
    } else if (formatOf(request) === null)
      refuse(400, 'parameter_invalid', `format is ${FORMATS.join(' or ')}.`, 'format')
    else if (token === null) refuse(401, 'client_token_invalid', 'Add `?client_token=` to the address.')
    else if (this.#isWhole(request, socket, head)) {
      const timer = setTimeout(() => {
        if (this.#pending.delete(browserId)) refuse(503, 'media_unavailable', 'Nobody could judge the client token.')
      }, DECISION_MS)
      this.#pending.set(browserId, { request, socket, head, host, timer })
      this.#count(network, browserId, socket)
      this.#options.connecting({ browserId, use, token, origin: request.headers.origin ?? null, host })
    }
  }

  /** Before control is asked, which uses the token up. False: it has been answered. */
  #isWhole(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    this.#isHandshake = false
    this.#handshakes.handleUpgrade(request, socket, head, () => {})
    return this.#isHandshake
  }

  #isServed(path: string): boolean {
    return path in PATHS || (path === SIP_PATH && this.#options.sip !== undefined)
  }

  /** Another node asks for a page: it is not counted as a client. */
  #link(request: IncomingMessage, socket: Duplex, head: Buffer, token: string | null): void {
    const use = token === null ? UNKNOWN : (this.#options.link?.(token) ?? UNKNOWN)
    if (typeof use === 'number') {
      this.counters.refused++
      answer(socket, use, {})
      return
    }
    this.#newcomers.known(socket as Socket)
    this.#links.handleUpgrade(request, socket, head, use)
  }

  #sip(upgrade: Omit<SipUpgrade, 'isSecure'>, network: string): DoorRefusal | null {
    const { sip, trustedProxies } = this.#options
    const { request, socket, host } = upgrade
    const refusal = sipRefusal(sip!, request, host)
    if (refusal !== null) return refusal
    this.#newcomers.known(socket as Socket)
    this.#count(network, '', socket)
    sip!.accept({ ...upgrade, isSecure: isSecure(request, trustedProxies) })
    return null
  }

  /** Counts a connection while it lasts; one that closes before the decision no longer waits. */
  #count(network: string, browserId: string, socket: Duplex): void {
    this.counters.connects++
    this.#open.set(network, this.#openOf(network) + 1)
    socket.once('close', () => {
      const left = this.#openOf(network) - 1
      if (left > 0) this.#open.set(network, left)
      else this.#open.delete(network)
      clearTimeout(this.#pending.get(browserId)?.timer)
      this.#pending.delete(browserId)
    })
  }

  /** Completes the upgrade; `use` gets the WebSocket. False: nothing is waiting any more; `use` is then never called. */
  admit(
    browserId: string,
    use: (ws: WebSocket, socket: Socket, format: PageFormat, at: { host: string; local?: string }) => void,
  ): boolean {
    const pending = this.#take(browserId)
    if (pending === null) return false
    const { request, socket, head, host } = pending
    this.#newcomers.known(socket as Socket)
    let isOpen = false
    this.#ws.handleUpgrade(request, socket, head, ws => {
      isOpen = true
      const share = new ReadingShare()
      shareReading(ws, socket as Socket, () => share)
      use(ws, socket as Socket, formatOf(request)!, reachedBy(host, request.socket))
    })
    return isOpen
  }

  /** Answers the upgrade with an error. */
  refuse(browserId: string, status: number, body: object): boolean {
    const pending = this.#take(browserId)
    if (pending === null) return false
    this.counters.refused++
    answer(pending.socket, status, body)
    return true
  }

  #take(browserId: string): Pending | null {
    const pending = this.#pending.get(browserId)
    if (pending === undefined) return null
    this.#pending.delete(browserId)
    clearTimeout(pending.timer)
    return pending
  }

  #openOf(network: string): number {
    return this.#open.get(network) ?? 0
  }

  close(): void {
    for (const { server } of this.#http) server.close()
    for (const { socket, timer } of this.#pending.values()) {
      clearTimeout(timer)
      socket.destroy()
    }
    this.#pending.clear()
  }
}

const webSockets = (maxPayload: number, verifyClient?: VerifyClientCallbackAsync): WebSocketServer =>
  new WebSocketServer({
    ...{ noServer: true, maxPayload, perMessageDeflate: false, clientTracking: false },
    ...(verifyClient && { verifyClient }),
  })

const UNKNOWN = 404
const NOT_FOUND = [404, 'resource_missing'] as const

const urlOf = (request: IncomingMessage): URL | null => {
  const url = `http://host${request.url ?? '/'}`
  return URL.canParse(url) ? new URL(url) : null
}

const pathOf = (request: IncomingMessage): string => urlOf(request)?.pathname ?? ''

function tokenOf(request: IncomingMessage): string | null {
  const token = urlOf(request)?.searchParams.get('client_token') ?? null
  return token === null || token === '' || token.length > MAX_TOKEN ? null : token
}

/** `?format=l16_16000` asks for linear audio at 16 kHz; without it is mu-law at 8 kHz. Null: there is no such format. */
const formatOf = (request: IncomingMessage): PageFormat | null => {
  const named = urlOf(request)?.searchParams.get('format') ?? FORMATS[0]
  return FORMATS.find(format => format === named) ?? null
}

const TYPES: Record<string, string> = {
  client_token_invalid: 'authentication_error',
  rate_limited: 'rate_limit_error',
  capacity_exhausted: 'rate_limit_error',
  media_unavailable: 'api_error',
}

const newBrowserId = (): string => `brw_${newUlid()}`

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
}

function answer(socket: Duplex, status: number, body: object, headers: readonly string[] = []): void {
  const text = JSON.stringify(body)
  const lines = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...(status === 429 || status === 503 ? ['Retry-After: 5'] : []),
    ...headers,
    'Connection: close',
  ]
  // The server's sockets may stay half open: a page that never closes its half would keep it for ever.
  socket.once('finish', () => socket.destroy())
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
}
