import { randomBytes } from 'node:crypto'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { connect, createServer, isIP, isIPv6, type Server, type Socket as TcpSocket } from 'node:net'
import { PONG, StreamFramer } from '../sip/framer.ts'
import {
  type Action,
  type OptionsStatus,
  type Peer,
  type RegisterEvent,
  type UaEvent,
  UserAgent,
  type WatchReport,
} from '../sip/user-agent.ts'

/** Connections that carry SIP over TCP at most; further ones are refused. */
const MAX_CONNECTIONS = 2000
/** A TCP peer that takes nothing is cut off at this much waiting [bytes]. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** A TCP connection without traffic is closed after this [ms]. */
const IDLE_MS = 10 * 60 * 1000
const CONNECT_TIMEOUT_MS = 5000

export interface SipEndpointOptions {
  host: string
  port: number
  /** The address that we write into messages. */
  advertisedHost: string
  productName: string
  optionsStatus: () => OptionsStatus
  onEvent: (event: UaEvent) => void
  /** Absent: registrations are not taken. */
  registrar?: { realm: string; onRegister: (register: RegisterEvent) => void }
  /** What became of a far end that is watched. */
  onWatch?: (report: WatchReport) => void
}

interface Connection {
  id: string
  socket: TcpSocket
  framer: StreamFramer
}

/** The I/O shell of the SIP user agent: one UDP socket, one TCP listener, connections, names and timers. */
export class SipEndpoint {
  readonly counters = { connectionsRefused: 0, sendErrors: 0, slowPeers: 0 }
  readonly #options: SipEndpointOptions
  readonly #agent: UserAgent
  readonly #udp: UdpSocket
  readonly #tcp: Server
  readonly #connections = new Map<string, Connection>()
  /** The latest open connection of each far end, whoever opened it: the way back to a phone behind a NAT. */
  readonly #byFarEnd = new Map<string, Connection>()
  #timer: NodeJS.Timeout | undefined
  #nextConnection = 1

  constructor(options: SipEndpointOptions) {
    this.#options = options
    this.#agent = new UserAgent({
      name: options.productName,
      local: () => ({ host: options.advertisedHost, port: options.port }),
      random: () => randomBytes(10).toString('hex'),
      optionsStatus: options.optionsStatus,
      ...(options.registrar === undefined ? {} : { registrarRealm: options.registrar.realm }),
    })
    this.#udp = createSocket({ type: isIPv6(options.host) ? 'udp6' : 'udp4' })
    this.#udp.on('message', (bytes, from) =>
      this.#receive(bytes, { transport: 'udp', host: from.address, port: from.port }),
    )
    this.#tcp = createServer({ noDelay: true }, socket => this.#accept(socket))
    this.#tcp.maxConnections = MAX_CONNECTIONS
    this.#tcp.on('drop', () => this.counters.connectionsRefused++)
  }

  /** Binds UDP and TCP. Rejects with the system's error when the port is taken. */
  async listen(): Promise<void> {
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#udp.once('error', reject)
      this.#udp.bind({ address: host, port }, () => {
        this.#udp.off('error', reject)
        resolve()
      })
    })
    this.#udp.on('error', () => this.counters.sendErrors++)
    await new Promise<void>((resolve, reject) => {
      this.#tcp.once('error', reject)
      this.#tcp.listen({ host, port }, () => {
        this.#tcp.off('error', reject)
        resolve()
      })
    })
    this.#tcp.on('error', () => this.counters.sendErrors++)
  }

  get agentCounters(): UserAgent['counters'] {
    return this.#agent.counters
  }

  get sessionCount(): number {
    return this.#agent.sessionCount
  }

  /** Far ends that are watched, or still told goodbye. */
  get watchCount(): number {
    return this.#agent.watchCount
  }

  /** Lets the agent do something and carries out what it wants, for example `do((agent, now) => agent.bye(id, now))`. */
  do(use: (agent: UserAgent, now: number) => Action[]): void {
    this.#perform(use(this.#agent, performance.now()))
  }

  /** Judges a registration; null: it is not open any more. */
  checkRegister(registerId: string, ha1: string | null): boolean | null {
    const { isRight, actions } = this.#agent.checkRegister(registerId, ha1, performance.now())
    this.#perform(actions)
    return isRight
  }

  /** Starts a call and returns its session ID. */
  invite(request: Parameters<UserAgent['invite']>[0]): string {
    const { sessionId, actions } = this.#agent.invite(request, performance.now())
    // The caller must know the session before the first event about it.
    queueMicrotask(() => this.#perform(actions))
    return sessionId
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#udp.close()
    this.#tcp.close()
    for (const { socket } of this.#connections.values()) socket.destroy()
  }

  #receive(bytes: Uint8Array, from: Peer): void {
    this.#perform(this.#agent.receive(bytes, from, performance.now()))
  }

  #perform(actions: Action[]): void {
    for (const action of actions) {
      if (action.kind === 'send') this.#send(action.bytes, action.to)
      else if (action.kind === 'register') this.#options.registrar?.onRegister(action.register)
      else if (action.kind === 'watch') this.#options.onWatch?.(action.report)
      else this.#options.onEvent(action.event)
    }
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const deadline = this.#agent.nextDeadline()
    if (deadline === null) return
    const delay = Math.max(0, Math.ceil(deadline - performance.now()))
    this.#timer = setTimeout(() => this.#perform(this.#agent.advance(performance.now())), delay)
  }

  #send(bytes: Uint8Array, to: Peer): void {
    if (to.transport === 'udp') this.#sendUdp(bytes, to)
    else if (to.transport === 'tcp') this.#sendTcp(bytes, to)
    else this.#failed(to)
  }

  #sendUdp(bytes: Uint8Array, to: Peer): void {
    if (isIP(to.host) === 0) {
      this.#resolve(to, host => this.#sendUdp(bytes, { ...to, host }))
      return
    }
    this.#udp.send(bytes, to.port, to.host, error => {
      if (error === null) return
      this.counters.sendErrors++
      this.#failed(to)
    })
  }

  #resolve(to: Peer, then: (host: string) => void): void {
    lookup(to.host, { family: isIPv6(this.#options.host) ? 0 : 4 }).then(
      // An empty name resolves too, to no address at all.
      found => (isIP(found.address ?? '') === 0 ? this.#failed(to) : then(found.address)),
      () => this.#failed(to),
    )
  }

  #failed(to: Peer): void {
    this.#perform(this.#agent.transportFailed(to, performance.now()))
  }

  // ------------------------------------------------------------------ TCP

  #accept(socket: TcpSocket): void {
    if (this.#connections.size >= MAX_CONNECTIONS) {
      this.counters.connectionsRefused++
      socket.destroy()
      return
    }
    this.#adopt(socket, `${socket.remoteAddress}:${socket.remotePort}#${this.#nextConnection++}`)
  }

  #adopt(socket: TcpSocket, id: string): Connection {
    const connection: Connection = { id, socket, framer: new StreamFramer() }
    this.#connections.set(id, connection)
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.on('data', bytes => this.#read(connection, bytes))
    socket.on('error', () => this.counters.sendErrors++)
    const farEnd = `${socket.remoteAddress}:${socket.remotePort}`
    if (socket.remoteAddress !== undefined) this.#byFarEnd.set(farEnd, connection)
    socket.on('close', () => {
      this.#connections.delete(id)
      if (this.#byFarEnd.get(farEnd) === connection) this.#byFarEnd.delete(farEnd)
    })
    return connection
  }

  #read(connection: Connection, bytes: Buffer): void {
    const { socket, framer } = connection
    const from: Peer = {
      transport: 'tcp',
      host: socket.remoteAddress ?? '',
      port: socket.remotePort ?? 0,
      connectionId: connection.id,
    }
    for (const event of framer.push(bytes)) {
      if (event.kind === 'message') this.#receive(event.bytes, from)
      else if (event.kind === 'ping') this.#write(socket, PONG)
      else socket.destroy()
    }
  }

  #sendTcp(bytes: Uint8Array, to: Peer): void {
    const open =
      (to.connectionId === undefined ? undefined : this.#connections.get(to.connectionId)) ??
      this.#connections.get(dialled(to)) ??
      this.#byFarEnd.get(`${to.host}:${to.port}`)
    if (open !== undefined) {
      this.#write(open.socket, bytes)
      return
    }
    const socket = connect({ host: to.host, port: to.port, noDelay: true })
    const connection = this.#adopt(socket, dialled(to))
    socket.setTimeout(CONNECT_TIMEOUT_MS)
    socket.once('connect', () => socket.setTimeout(IDLE_MS))
    socket.once('close', () => {
      if (socket.bytesRead === 0) this.#failed(to)
    })
    this.#write(connection.socket, bytes)
  }

  #write(socket: TcpSocket, bytes: Uint8Array): void {
    if (socket.writableLength > MAX_UNSENT_BYTES) {
      this.counters.slowPeers++
      socket.destroy()
      return
    }
    socket.write(bytes)
  }
}

/** The connection that we opened ourselves to an address. */
const dialled = (to: Peer): string => `>${to.host}:${to.port}`
