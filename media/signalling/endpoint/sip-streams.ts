import type { Server, Socket } from 'node:net'
import { PING, PONG, StreamFramer } from '../../../sip/message/framer.ts'
import type { Peer } from '../../../sip/user-agent.ts'
import { isAny } from '../../kernel/own-addresses.ts'
import { clientNetwork } from '../../protocol.ts'

/** Connections of one transport at most; further ones are refused. */
const MAX_CONNECTIONS = 2000
/** Of them, those of hosts that nobody knows: trunks and phones find room in any case. */
const MAX_OF_STRANGERS = 1500
/** The same of one client's network (`clientNetwork`), those that still shake hands included. */
const MAX_PER_NETWORK = 200
/** A connection that we accepted brings its first message, and each message its end, within this [ms]. */
const PATIENCE_MS = 15_000
/** A peer that takes nothing is cut off at this much waiting [bytes]. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** A connection without traffic is closed after this [ms]. */
const IDLE_MS = 10 * 60 * 1000
/** One that phones have registered over gets a keep-alive instead after this, which routers and firewalls on the way hear too [ms]. */
const KEEP_OPEN_MS = 2 * 60 * 1000
const CONNECT_TIMEOUT_MS = 5000
/** A far end that has answered a keep-alive before must answer the next one within this time, or its connection is dead (RFC 5626 §4.4.1) [ms]. */
const PONG_MS = 10_000
/**
 * A connection is dead if nothing comes over it for this long after a request that must be answered, not even the answer to a keep-alive that
 * is sent after half of it: a firewall has forgotten it, or another machine has taken the address. The system would repeat our bytes for a
 * quarter of an hour [ms].
 */
const ANSWER_MS = 5000
/** How long a connection that we close has to take our last message [ms]. */
const LEAVE_MS = 2000

export interface SipStreamCounters {
  connectionsRefused: number
  /** Closed, since a message did not come, or not to its end. */
  connectionsStalled: number
  sendErrors: number
  slowPeers: number
}

export interface SipStreamsOptions {
  transport: 'tcp' | 'tls'
  /** One for each of our addresses; none: connects out only. */
  servers: readonly { server: Server; host: string }[]
  /** Begins a connection; `ready` names the event after which it carries messages. */
  dial: (to: Peer) => { socket: Socket; ready: 'connect' | 'secureConnect' }
  receive: (bytes: Uint8Array, from: Peer) => void
  /** Whether it is a host of a trunk, of a phone, or one that we have called. */
  isKnown: (host: string) => boolean
  /** What was to be sent there will not arrive. */
  failed: (to: Peer) => void
  /** Called when a connection that we opened, and over which something arrived, is closed; `isOwed`: a request over it had no answer. */
  disconnected?: (from: Peer, isOwed: boolean) => void
  /** A connection that a far end opened is dead, and was given up: what was not answered may be sent over another one. */
  unanswered?: (from: Peer) => void
  /** Whether phones have registered over a connection that they opened. */
  isFlow?: (of: Peer) => boolean
  /** A phone's connection is dead, and was given up: nothing leads to the phone any more. */
  gone?: (from: Peer) => void
  counters: SipStreamCounters
  /** Override `KEEP_OPEN_MS`, `ANSWER_MS`, `PONG_MS`, `PATIENCE_MS`, `MAX_PER_NETWORK` and `MAX_OF_STRANGERS`. */
  keepOpenMs?: number
  answerMs?: number
  pongMs?: number
  patienceMs?: number
  maxPerNetwork?: number
  maxOfStrangers?: number
}

interface Connection {
  id: string
  /** Its host and port. */
  farEnd: string
  socket: Socket
  /** Of our addresses the one that it came to. */
  local: string | undefined
  framer: StreamFramer
  hasSpoken: boolean
  /** Runs while a message is owed. */
  patience: NodeJS.Timeout | undefined
  /** Whether it has answered a keep-alive of ours. */
  answersPings: boolean
  /** Runs while an answer to a keep-alive or a request is due. */
  due: NodeJS.Timeout | undefined
}

/** SIP over connections, TCP or TLS: those that we accept and those that we open, each used for both directions (RFC 5923). */
export class SipStreams {
  readonly #options: SipStreamsOptions
  readonly #connections = new Map<string, Connection>()
  /** The latest open connection of each far end, whoever opened it: the way back to a phone behind a NAT. */
  readonly #byFarEnd = new Map<string, Connection>()
  /** Accepted connections by network, while they last. */
  readonly #perNetwork = new Map<string, number>()
  #strangers = 0
  #nextConnection = 1
  #isClosed = false

  constructor(options: SipStreamsOptions) {
    const { servers, transport, counters } = options
    this.#options = options
    for (const { server, host } of servers) {
      server.maxConnections = MAX_CONNECTIONS
      server.on('drop', () => counters.connectionsRefused++)
      // Over TLS before the handshake, which is work and waiting too.
      server.on('connection', socket => this.#admit(socket))
      server.on(transport === 'tls' ? 'secureConnection' : 'connection', socket => this.#accept(socket, host))
      server.on('tlsClientError', (_error, socket) => {
        counters.connectionsRefused++
        // Node reports a handshake that takes too long, and leaves it open.
        socket.destroy()
      })
    }
  }

  /** Binds every server. Rejects with the system's error. */
  async listen(port: number): Promise<void> {
    const { servers, counters } = this.#options
    for (const { server, host } of servers) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, ipv6Only: true }, () => {
          server.off('error', reject)
          resolve()
        })
      })
      server.on('error', () => counters.sendErrors++)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const { server } of this.#options.servers) server.close()
    for (const { socket } of this.#connections.values()) socket.destroy()
  }

  /** The open connection to a far end; null: none. */
  connectionTo({ host, port }: Peer): string | null {
    return this.#byFarEnd.get(`${host}:${port}`)?.id ?? null
  }

  isOpen(connectionId: string): boolean {
    return this.#connections.has(connectionId)
  }

  /** Somebody has registered over this connection. One of phones leads to them as long as it is open; a proxy opens another one. */
  keepOpen({ connectionId = '' }: Peer): void {
    const connection = this.#connections.get(connectionId)
    if (connection === undefined || !this.#isFlow(connection)) return
    connection.socket.setTimeout(this.#options.keepOpenMs ?? KEEP_OPEN_MS)
  }

  #onQuiet(connection: Connection): void {
    if (this.#isFlow(connection)) this.send(PING, this.#peerOf(connection))
    else connection.socket.destroy()
  }

  /** The other end of the open connection by which something goes there: a Via or Contact names another port. Null: one has to be opened. */
  farEndOf(to: Peer): { host: string; port: number } | null {
    const { remoteAddress: host, remotePort: port } = this.#openTo(to)?.socket ?? {}
    return host === undefined || port === undefined ? null : { host, port }
  }

  #openTo(to: Peer): Connection | undefined {
    return (
      (to.connectionId === undefined ? undefined : this.#connections.get(to.connectionId)) ??
      this.#connections.get(dialled(to)) ??
      this.#byFarEnd.get(`${to.host}:${to.port}`)
    )
  }

  send(bytes: Uint8Array, to: Peer): void {
    const connection = this.#openTo(to) ?? this.#dial(to)
    if (bytes === PING) this.#ping(connection)
    else if (this.#mustBeAnswered(bytes, connection)) this.#expectAnswer(connection)
    this.#write(connection.socket, bytes)
  }

  /**
   * Over connections that far ends have opened, only what every one of them answers counts: perhaps they cannot be made anew, and some phones
   * leave other requests without an answer.
   */
  #mustBeAnswered(bytes: Uint8Array, connection: Connection): boolean {
    if (isOurs(connection.id)) return connection.hasSpoken && asksForAnswer(bytes)
    return beginsWith(bytes, INVITE) || (beginsWith(bytes, BYE) && !this.#isFlow(connection))
  }

  #isFlow(connection: Connection): boolean {
    return this.#options.isFlow?.(this.#peerOf(connection)) === true
  }

  /** Sends a keep-alive, since the system may report a dead connection only after a quarter of an hour. */
  #ping(connection: Connection): void {
    connection.framer.awaitPong()
    if (connection.answersPings) this.#expect(connection, this.#options.pongMs ?? PONG_MS)
  }

  /** That a proxy's phone is silent does not make the connection to the proxy dead: it answers the keep-alive. */
  #expectAnswer(connection: Connection): void {
    const halfMs = (this.#options.answerMs ?? ANSWER_MS) / 2
    connection.due ??= setTimeout(() => {
      connection.due = undefined
      connection.framer.awaitPong()
      this.#write(connection.socket, PING)
      this.#expect(connection, halfMs)
    }, halfMs)
  }

  /** A connection over which nothing comes in this time is dead. */
  #expect(connection: Connection, withinMs: number): void {
    connection.due ??= afterReading(withinMs, timer => {
      if (connection.due !== timer || connection.socket.destroyed) return
      const peer = this.#peerOf(connection)
      connection.socket.destroy()
      if (isOurs(connection.id)) return
      const { gone, unanswered } = this.#options
      const tell = this.#isFlow(connection) ? gone : unanswered
      this.#forget(connection)
      tell?.(peer)
    })
  }

  #dial(to: Peer): Connection {
    const { socket, ready } = this.#options.dial(to)
    const connection = this.#adopt(socket, dialled(to), to.local)
    socket.setTimeout(CONNECT_TIMEOUT_MS)
    socket.once(ready, () => socket.setTimeout(IDLE_MS))
    socket.once('close', () => {
      if (this.#isClosed) return
      if (connection.hasSpoken)
        this.#options.disconnected?.({ ...to, connectionId: connection.id }, connection.due !== undefined)
      else this.#options.failed(to)
    })
    return connection
  }

  #admit(socket: Socket): void {
    const {
      transport,
      counters,
      isKnown,
      maxPerNetwork = MAX_PER_NETWORK,
      maxOfStrangers = MAX_OF_STRANGERS,
    } = this.#options
    const host = socket.remoteAddress ?? ''
    const network = clientNetwork(host)
    const open = this.#perNetwork.get(network) ?? 0
    const isStranger = !isKnown(host)
    if (open >= maxPerNetwork || (isStranger && this.#strangers >= maxOfStrangers)) {
      // Over TLS it is counted as the handshake that fails.
      if (transport === 'tcp') counters.connectionsRefused++
      socket.destroy()
      return
    }
    this.#perNetwork.set(network, open + 1)
    if (isStranger) this.#strangers++
    socket.once('close', () => {
      if (isStranger) this.#strangers--
      const left = (this.#perNetwork.get(network) ?? 1) - 1
      if (left === 0) this.#perNetwork.delete(network)
      else this.#perNetwork.set(network, left)
    })
  }

  #accept(socket: Socket, local: string): void {
    if (socket.destroyed) return
    if (this.#connections.size >= MAX_CONNECTIONS) {
      this.#options.counters.connectionsRefused++
      socket.destroy()
      return
    }
    const id = `${socket.remoteAddress}:${socket.remotePort}#${this.#nextConnection++}`
    this.#await(this.#adopt(socket, id, isAny(local) ? socket.localAddress : local))
  }

  /** From now on a whole message is owed. */
  #await(connection: Connection): void {
    const { counters, patienceMs = PATIENCE_MS } = this.#options
    clearTimeout(connection.patience)
    connection.patience = afterReading(patienceMs, timer => {
      if (connection.patience !== timer) return
      counters.connectionsStalled++
      connection.socket.destroy()
    })
  }

  #adopt(socket: Socket, id: string, local: string | undefined): Connection {
    const framer = new StreamFramer()
    const farEnd = `${socket.remoteAddress}:${socket.remotePort}`
    const unspoken = { hasSpoken: false, patience: undefined, answersPings: false, due: undefined }
    const connection: Connection = { id, farEnd, socket, local, framer, ...unspoken }
    this.#connections.set(id, connection)
    socket.setTimeout(IDLE_MS)
    socket.on('timeout', () => this.#onQuiet(connection))
    socket.on('data', bytes => this.#read(connection, bytes))
    socket.on('error', () => this.#options.counters.sendErrors++)
    if (socket.remoteAddress !== undefined) this.#byFarEnd.set(farEnd, connection)
    socket.on('close', () => this.#forget(connection))
    return connection
  }

  #read(connection: Connection, bytes: Buffer): void {
    const { socket, framer } = connection
    connection.hasSpoken = true
    clearTimeout(connection.due)
    connection.due = undefined
    const from = this.#peerOf(connection)
    for (const event of framer.push(bytes)) {
      if (event.kind === 'message') {
        clearTimeout(connection.patience)
        connection.patience = undefined
        this.#options.receive(event.bytes, from)
      } else if (event.kind === 'ping') this.#write(socket, PONG)
      else if (event.kind === 'pong') connection.answersPings = true
      else this.#leave(connection)
    }
    // One that drips does not begin anew with each byte.
    if (framer.isAmid && connection.patience === undefined && socket.writable) this.#await(connection)
  }

  #peerOf({ id, socket, local }: Connection): Peer {
    return {
      transport: this.#options.transport,
      host: socket.remoteAddress ?? '',
      port: socket.remotePort ?? 0,
      connectionId: id,
      isTheirs: !isOurs(id),
      ...(local === undefined ? {} : { local }),
    }
  }

  /**
   * Closes a connection after its last message. Data that still arrives is read and discarded: otherwise the system would reset the
   * connection, and that message could be lost.
   */
  #leave(connection: Connection): void {
    const { socket } = connection
    this.#forget(connection)
    socket.end()
    setTimeout(() => socket.destroy(), LEAVE_MS).unref()
  }

  #forget(connection: Connection): void {
    const { id, farEnd, patience, due } = connection
    clearTimeout(patience)
    connection.patience = undefined
    clearTimeout(due)
    if (this.#connections.get(id) === connection) this.#connections.delete(id)
    if (this.#byFarEnd.get(farEnd) === connection) this.#byFarEnd.delete(farEnd)
  }

  #write(socket: Socket, bytes: Uint8Array): void {
    if (socket.writableLength > MAX_UNSENT_BYTES) {
      this.#options.counters.slowPeers++
      socket.destroy()
      return
    }
    socket.write(bytes)
  }
}

/** Calls `run` with the timer when the time is over and what has come by then is read: this process may have been too busy to do so. */
function afterReading(ms: number, run: (timer: NodeJS.Timeout) => void): NodeJS.Timeout {
  // Node reads what the system holds between its timers and its immediates.
  const timer = setTimeout(() => setImmediate(() => run(timer)), ms)
  return timer
}

/** Prefix of the IDs of connections that we have opened. */
const DIALLED = '>'

/** Over TLS the name is part of it, since the certificate was verified for that name. */
const dialled = (to: Peer): string =>
  `${DIALLED}${to.name ?? ''}@${to.host}:${to.port}${to.publicOnly === true ? ' public' : ''}`

const isOurs = (connectionId: string): boolean => connectionId.startsWith(DIALLED)

/** Whether a message came over a connection that we opened ourselves. */
export const isDialled = ({ connectionId }: Peer): boolean => connectionId !== undefined && isOurs(connectionId)

const beginsWith = (bytes: Uint8Array, start: Buffer): boolean => start.compare(bytes.subarray(0, start.length)) === 0
const [RESPONSE, ACK] = [Buffer.from('SIP/2.0 '), Buffer.from('ACK ')]
const [INVITE, BYE] = [Buffer.from('INVITE '), Buffer.from('BYE ')]

export const isRequest = (bytes: Uint8Array): boolean => !beginsWith(bytes, RESPONSE)

const asksForAnswer = (bytes: Uint8Array): boolean => isRequest(bytes) && !beginsWith(bytes, ACK)
