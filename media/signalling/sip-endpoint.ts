import { randomBytes } from 'node:crypto'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { connect, createServer, isIP, isIPv6 } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import {
  type Action,
  type OptionsStatus,
  type Peer,
  type RegisterEvent,
  type UaEvent,
  UserAgent,
  type WatchReport,
} from '../../sip/user-agent.ts'
import { SipGate } from './sip-gate.ts'
import { SipReach } from './sip-reach.ts'
import { isDialled, SipStreams, type SipStreamsOptions } from './sip-streams.ts'

/** A TLS handshake may take this long [ms]. */
const HANDSHAKE_MS = 10_000

export interface SipEndpointOptions {
  host: string
  port: number
  /** SIP over TLS: absent, it is not listened for, but connected out. */
  tls?: { port: number; cert: Buffer; key: Buffer }
  /** The address that we write into messages. */
  advertisedHost: string
  productName: string
  optionsStatus: () => OptionsStatus
  onEvent: (event: UaEvent) => void
  /** Private networks (CIDR) that everybody may lead us to. */
  allowedNetworks?: string[]
  /** Absent: registrations are not taken. */
  registrar?: { realm: string; onRegister: (register: RegisterEvent) => void }
  /** What became of a far end that is watched. */
  onWatch?: (report: WatchReport) => void
}

/** The I/O shell of the SIP user agent: one UDP socket, streams over TCP and TLS, names and timers. */
export class SipEndpoint {
  readonly counters = { connectionsRefused: 0, connectionsStalled: 0, sendErrors: 0, slowPeers: 0, addressesRefused: 0 }
  readonly #options: SipEndpointOptions
  readonly #agent: UserAgent
  readonly #reach: SipReach
  readonly #gate = new SipGate()
  readonly #udp: UdpSocket
  readonly #tcp: SipStreams
  readonly #tls: SipStreams
  /** What waits for a look-up that is under way, each message once however often it was sent again. */
  readonly #resolving = new Map<string, Map<Uint8Array, Peer>>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: SipEndpointOptions) {
    this.#options = options
    this.#reach = new SipReach(options.allowedNetworks ?? [])
    this.#agent = new UserAgent({
      name: options.productName,
      local: transport => ({
        host: options.advertisedHost,
        port: transport === 'tls' ? (options.tls?.port ?? options.port) : options.port,
      }),
      random: () => randomBytes(10).toString('hex'),
      optionsStatus: options.optionsStatus,
      ...(options.registrar === undefined ? {} : { registrarRealm: options.registrar.realm }),
    })
    this.#udp = createSocket({ type: isIPv6(options.host) ? 'udp6' : 'udp4' })
    this.#udp.on('message', (bytes, from) =>
      this.#receive(bytes, { transport: 'udp', host: from.address, port: from.port }),
    )
    const shared: Pick<SipStreamsOptions, 'receive' | 'failed' | 'isKnown' | 'counters'> = {
      receive: (bytes, from) => this.#receive(bytes, from),
      failed: to => this.#failed(to),
      isKnown: host => this.#gate.isKnown(host, performance.now()),
      counters: this.counters,
    }
    const { tls } = options
    this.#tcp = new SipStreams({
      ...shared,
      transport: 'tcp',
      server: createServer({ noDelay: true }),
      dial: to => ({
        socket: connect({ host: to.host, port: to.port, lookup: this.#reach.lookupFor(to), noDelay: true }),
        ready: 'connect',
      }),
    })
    this.#tls = new SipStreams({
      ...shared,
      transport: 'tls',
      server:
        tls === undefined
          ? null
          : createTlsServer({ cert: tls.cert, key: tls.key, noDelay: true, handshakeTimeout: HANDSHAKE_MS }),
      // Node checks the certificate against the authorities that it trusts, and against the host that we dialled.
      dial: to => ({
        socket: connectTls({
          host: to.host,
          port: to.port,
          lookup: this.#reach.lookupFor(to),
          ...(isIP(to.host) === 0 ? { servername: to.host } : {}),
        }),
        ready: 'secureConnect',
      }),
    })
  }

  /** Binds UDP, TCP and, with a certificate, TLS. Rejects with the system's error when the port is taken. */
  async listen(): Promise<void> {
    const { host, port, tls } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#udp.once('error', reject)
      this.#udp.bind({ address: host, port }, () => {
        this.#udp.off('error', reject)
        resolve()
      })
    })
    this.#udp.on('error', () => this.counters.sendErrors++)
    await this.#tcp.listen({ host, port })
    if (tls !== undefined) await this.#tls.listen({ host, port: tls.port })
  }

  get agentCounters(): UserAgent['counters'] {
    return this.#agent.counters
  }

  /** SIP transactions that run or wait for retransmissions. */
  get transactionCount(): number {
    return this.#agent.transactionCount
  }

  /** Messages that were not looked at, since too many came. */
  get messagesLimited(): number {
    return this.#gate.refused
  }

  /** The networks of connections and phones: strangers cannot take their room. */
  know(networks: readonly string[]): void {
    this.#gate.know(networks)
  }

  /** Whether this peer may have our audio sent to a host that its description names. */
  mayReach(peer: Peer | null, host: string): boolean {
    return this.#reach.allows({ publicOnly: peer?.publicOnly ?? false, host })
  }

  /** A phone at this address has registered. */
  meet(host: string): void {
    this.#gate.meet(host, performance.now())
  }

  /** Whether control is to be asked about a call of this peer. */
  admitsCall({ host, isKnown = false }: Peer): boolean {
    return isKnown || this.#gate.admitsCall(host, performance.now())
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
    this.#tls.close()
  }

  #receive(bytes: Uint8Array, from: Peer): void {
    const now = performance.now()
    const isKnown = isDialled(from) || this.#gate.isKnown(from.host, now)
    if (!this.#gate.admits(from.host, isKnown, now)) return
    const peer = this.#reach.from(from)
    this.#perform(this.#agent.receive(bytes, isKnown ? { ...peer, isKnown } : peer, now))
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
    if (!this.#reach.allows(to)) this.#refused(to)
    else if (to.transport === 'tcp') this.#tcp.send(bytes, to)
    else if (to.transport === 'tls') this.#tls.send(bytes, to)
    else if (isIP(to.host) !== 0) this.#sendUdp(bytes, to, to.host)
    else this.#resolve(bytes, to)
  }

  /** `host`: an address. */
  #sendUdp(bytes: Uint8Array, to: Peer, host: string): void {
    if (isRequest(bytes)) this.#gate.meet(host, performance.now())
    this.#udp.send(bytes, to.port, host, error => {
      if (error === null) return
      this.counters.sendErrors++
      this.#failed(to)
    })
  }

  /** One look-up of a name at a time: each holds a thread, of which a process has few, until a slow server has answered. */
  #resolve(bytes: Uint8Array, to: Peer): void {
    const name = `${to.host}${to.publicOnly === true ? ' public' : ''}`
    const waiting = this.#resolving.get(name)
    if (waiting !== undefined) {
      waiting.set(bytes, to)
      return
    }
    const messages = new Map([[bytes, to]])
    this.#resolving.set(name, messages)
    const family = isIPv6(this.#options.host) ? 0 : 4
    this.#reach.lookupFor(to)(to.host, { family }, (error, found) => {
      this.#resolving.delete(name)
      // An empty name resolves too, to no address at all.
      const host = error === null && typeof found === 'string' && isIP(found) !== 0 ? found : null
      for (const [message, peer] of messages) {
        if (host === null) this.#failed(peer)
        else this.#sendUdp(message, peer, host)
      }
    })
  }

  /** Whoever sends hears of it later, as of any other far end that cannot be reached. */
  #refused(to: Peer): void {
    this.counters.addressesRefused++
    queueMicrotask(() => this.#failed(to))
  }

  #failed(to: Peer): void {
    this.#perform(this.#agent.transportFailed(to, performance.now()))
  }
}

const RESPONSE = Buffer.from('SIP/2.0 ')

const isRequest = (bytes: Uint8Array): boolean => RESPONSE.compare(bytes, 0, RESPONSE.length) !== 0
