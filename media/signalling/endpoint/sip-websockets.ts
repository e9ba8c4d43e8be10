import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { PONG } from '../../../sip/message/framer.ts'
import { MAX_MESSAGE_BYTES } from '../../../sip/message/parse.ts'
import type { Peer } from '../../../sip/user-agent.ts'
import { reachedBy } from '../../kernel/own-addresses.ts'
import { ReadingShare, shareReading } from '../../kernel/reading-share.ts'
import type { SipStreamCounters } from './sip-streams.ts'

/** The sub-protocol that clients must ask for (RFC 7118 §4). */
export const SIP_PROTOCOL = 'sip'
/** Connections at most, and of them those of hosts that nobody knows. */
const MAX_CONNECTIONS = 2000
const MAX_OF_STRANGERS = 1500
/** How much of the thread's time goes into reading what one of a known host sends; of all others together a twentieth. */
const SHARE_OF_KNOWN = 0.5
/** A client brings its first message within this [ms]. */
const PATIENCE_MS = 15_000
/** A peer that takes nothing is cut off at this much waiting [bytes]. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** How often a client is asked whether it is there, and how long it may take to say so [ms] (RFC 7118 §6). */
const PING_EVERY_MS = 25_000
const PONG_WITHIN_MS = 10_000

const PORTS = 65_535
const GOING_AWAY = 1001
const POLICY = 1008

export interface SipWebSocketsOptions {
  receive: (bytes: Uint8Array, from: Peer) => void
  /** Whether it is a host of a phone, or of a trunk. */
  isKnown: (host: string) => boolean
  /** What was to be sent there will not arrive. */
  failed: (to: Peer) => void
  /** A client that has spoken is gone: nothing leads to it any more. */
  gone: (from: Peer) => void
  /** `framesTooLarge`: messages that were too long, for which their clients were disconnected. */
  counters: SipStreamCounters & { framesTooLarge: number }
  /** Instead of `PATIENCE_MS`, `PING_EVERY_MS` and `PONG_WITHIN_MS`. */
  patienceMs?: number
  pingEveryMs?: number
  pongWithinMs?: number
}

interface Connection {
  readonly peer: Peer
  readonly ws: WebSocket
  isStranger: boolean
  hasSpoken: boolean
  isAwaited: boolean
  timer: NodeJS.Timeout | undefined
}

/** Where an upgrade comes from. */
export interface SipUpgrade {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  /** Of the client, be it behind a proxy. */
  host: string
  /** The client speaks TLS, with us or with the proxy. */
  isSecure: boolean
}

/** SIP over WebSocket (RFC 7118): connections that clients have opened, a message in each frame. Nobody is reached in another way. */
export class SipWebSockets {
  readonly #options: SipWebSocketsOptions
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: offered => (offered.has(SIP_PROTOCOL) ? SIP_PROTOCOL : false),
  })
  /** By what `keyOf` says of the far end. */
  readonly #connections = new Map<string, Connection>()
  #strangers = 0
  /** One of all of them, so that many connections get no more than one. */
  readonly #shareOfStrangers = new ReadingShare()

  constructor(options: SipWebSocketsOptions) {
    this.#options = options
  }

  /** Whether one more client of a host is let in. */
  hasRoom(host: string): boolean {
    if (this.#connections.size >= MAX_CONNECTIONS) return false
    return this.#strangers < MAX_OF_STRANGERS || this.#options.isKnown(host)
  }

  /** Completes an upgrade that has been judged. */
  accept({ request, socket, head, host, isSecure }: SipUpgrade): void {
    const { remotePort = 0 } = request.socket
    const transport = isSecure ? 'wss' : 'ws'
    const { isKnown } = this.#options
    const share = new ReadingShare(SHARE_OF_KNOWN)
    this.#server.handleUpgrade(request, socket, head, ws => {
      const port = this.#freePort(host, remotePort)
      const connectionId = `ws ${host} ${port}`
      shareReading(ws, socket as Socket, () => (isKnown(host) ? share : this.#shareOfStrangers))
      this.#adopt(ws, { transport, port, connectionId, isTheirs: true, ...reachedBy(host, request.socket) })
    })
  }

  /** Clients of one host may come with the same port, by two proxies: to us each has one of its own. */
  #freePort(host: string, wanted: number): number {
    let port = wanted
    while (this.#connections.has(keyOf({ host, port }))) port = (port % PORTS) + 1
    return port
  }

  #adopt(ws: WebSocket, peer: Peer): void {
    const { patienceMs = PATIENCE_MS, isKnown, gone, counters } = this.#options
    const connection: Connection = {
      peer,
      ws,
      isStranger: !isKnown(peer.host),
      hasSpoken: false,
      isAwaited: false,
      timer: undefined,
    }
    if (connection.isStranger) this.#strangers++
    this.#connections.set(keyOf(peer), connection)
    connection.timer = setTimeout(() => this.#stalled(connection), patienceMs)
    ws.on('message', data => this.#read(connection, data as Buffer))
    ws.on('pong', () => {
      connection.isAwaited = false
    })
    // `ws` closes it with 1009 (RFC 6455 §7.4.1) as soon as the frame states its length. The request in it is never read, and so cannot be
    // answered.
    ws.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') counters.framesTooLarge++
      else counters.sendErrors++
    })
    ws.on('close', () => {
      clearTimeout(connection.timer)
      this.#connections.delete(keyOf(peer))
      if (connection.isStranger) this.#strangers--
      if (!connection.hasSpoken) return
      this.#options.failed(peer)
      gone(peer)
    })
  }

  #stalled({ ws }: Connection): void {
    this.#options.counters.connectionsStalled++
    ws.terminate()
  }

  #read(connection: Connection, bytes: Buffer): void {
    if (!connection.hasSpoken) {
      connection.hasSpoken = true
      this.#watch(connection)
    }
    if (isPing(bytes)) this.#write(connection, PONG)
    else if (bytes.length > PONG.length) this.#options.receive(bytes, connection.peer)
  }

  #watch(connection: Connection): void {
    const { pingEveryMs = PING_EVERY_MS, pongWithinMs = PONG_WITHIN_MS } = this.#options
    clearTimeout(connection.timer)
    connection.timer = setTimeout(() => {
      connection.isAwaited = true
      connection.ws.ping()
      connection.timer = setTimeout(() => {
        if (connection.isAwaited) connection.ws.terminate()
        else this.#watch(connection)
      }, pongWithinMs)
    }, pingEveryMs)
  }

  /** The open connection to a far end; null: none. */
  connectionTo(to: Peer): string | null {
    return this.#connections.get(keyOf(to))?.peer.connectionId ?? null
  }

  isOpen(to: Peer): boolean {
    return this.#connections.has(keyOf(to))
  }

  send(bytes: Uint8Array, to: Peer): void {
    const connection = this.#connections.get(keyOf(to))
    if (connection === undefined) queueMicrotask(() => this.#options.failed(to))
    else this.#write(connection, bytes)
  }

  #write({ ws }: Connection, bytes: Uint8Array): void {
    if (ws.bufferedAmount > MAX_UNSENT_BYTES) {
      this.#options.counters.slowPeers++
      ws.close(POLICY)
      ws.terminate()
      // A text frame that is no UTF-8 would end the connection (RFC 6455 §8.1).
    } else ws.send(bytes, { binary: !isUtf8(bytes) })
  }

  close(): void {
    for (const { ws } of this.#connections.values()) {
      ws.close(GOING_AWAY)
      ws.terminate()
    }
  }
}

const keyOf = ({ host, port }: Pick<Peer, 'host' | 'port'>): string => `${host} ${port}`

/** A client asks in its own way whether we are there (RFC 5626 §3.5.1). */
const isPing = (bytes: Buffer): boolean => bytes.length === 4 && bytes.toString('latin1') === '\r\n\r\n'
