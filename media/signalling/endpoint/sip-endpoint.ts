import { connect, createServer } from 'node:net'
import { connect as connectTls, createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import { isWebSocket } from '../../../sip/destination.ts'
import { PING } from '../../../sip/message/framer.ts'
import {
  type Action,
  type AskEvent,
  type AskReply,
  type Binding,
  type Destination,
  type MessageReport,
  type OptionsStatus,
  type Peer,
  type RegisterEvent,
  type UaEvent,
  UserAgent,
  type UserAgentOptions,
  type WatchReport,
} from '../../../sip/user-agent.ts'
import { isAny, type OwnAddresses } from '../../kernel/own-addresses.ts'
import { credentialOf, type TlsCredential } from '../../kernel/tls-files.ts'
import { randomHex } from '../../protocol/chance.ts'
import { isPublicAddress } from '../../protocol.ts'
import { type DoorSocket, type OpenDoor, openNodeDoor } from '../../rtp/datagrams/door-socket.ts'
import { Locator } from '../locator.ts'
import type { NameService } from '../names.ts'
import { originOf, Proxies } from '../proxies.ts'
import { checkSipIdentity } from './certificate-names.ts'
import { type DrachtioServer, DrachtioWire } from './drachtio-wire.ts'
import { NamedHosts } from './named-hosts.ts'
import { NodeCalls } from './node-calls.ts'
import type { PassedOn } from './node-relay.ts'
import { SipFlows } from './sip-flows.ts'
import { SipGate } from './sip-gate.ts'
import { SipReach } from './sip-reach.ts'
import { isDialled, isRequest, SipStreams, type SipStreamsOptions } from './sip-streams.ts'
import { type SipUpgrade, SipWebSockets } from './sip-websockets.ts'

/**
 * What comes while this thread does something else; the system may allow less. Trunks' messages wait there among those of a flood: at 20,000
 * datagrams a second it holds those of a quarter of a second.
 */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
/** A TLS handshake may take this long [ms]. */
const HANDSHAKE_MS = 10_000
/** After this time a datagram to another node may be lost [ms]. */
const AGAIN_MS = 500

export interface SipEndpointOptions {
  addresses: OwnAddresses
  port: number
  /** Opens its UDP sockets; absent: Node's. */
  openUdp?: OpenDoor
  /** Listens on UDP only. */
  isUdpOnly?: boolean
  names: NameService
  /** SIP over TLS. Absent: no listening, but outbound connections. Without a certificate, handshakes are refused until `renewTls`. */
  tls?: { port: number } & Partial<TlsCredential>
  /** Has the sockets of UDP, TCP and TLS in our place; absent: they are ours. */
  drachtio?: DrachtioServer
  /** Where clients of SIP over WebSocket come in: its ports. Absent: they do not. */
  webSocket?: { wsPort: number; wssPort: number }
  productName: string
  /** The session timer that far ends are asked for [s]; absent: none. */
  sessionExpiresS?: number
  optionsStatus: () => OptionsStatus
  /** See `UserAgentOptions`. */
  inviteDoor?: UserAgentOptions['inviteDoor']
  /** See `UserAgentOptions`. */
  takesKeys?: UserAgentOptions['takesKeys']
  onEvent: (event: UaEvent) => void
  /** Proxies that are believed about who calls through them (CIDR). Absent: none. */
  proxies?: string[]
  /** Private networks (CIDR) that everybody may lead us to. */
  allowedNetworks?: string[]
  /** Absent: registrations are not taken. */
  registrar?: { realm: string; onRegister: (register: RegisterEvent) => void }
  /** See `UserAgentOptions`. */
  nonceKey?: UserAgentOptions['nonceKey']
  /** Where other nodes find this one, `host:port`. Absent: nowhere. */
  node?: string | null
  /** What phones ask outside of calls, and what becomes of texts to them; with `registrar`. */
  phones?: {
    onAsk: (ask: AskEvent) => void
    onUnsubscribed: (subscriptionId: string) => void
    onMessage: (report: MessageReport) => void
  }
  /** What became of a far end that is watched. */
  onWatch?: (report: WatchReport) => void
  /** A WebSocket that SIP came over is closed, or a phone's connection is dead: nothing leads to its client any more. */
  onGone?: (peer: Peer) => void
  /** Sees each message that is looked at, and each that is sent; `local`: our address that it came to, or goes out from. */
  onMessage?: (bytes: Uint8Array, isSent: boolean, peer: Peer, local: { host: string; port: number }) => void
}

/** The I/O shell of the SIP user agent: a UDP socket for each of our addresses, streams over TCP and TLS, names and timers. */
export class SipEndpoint {
  readonly counters = {
    drachtioBreaks: 0,
    connectionsRefused: 0,
    connectionsStalled: 0,
    sendErrors: 0,
    slowPeers: 0,
    framesTooLarge: 0,
    addressesRefused: 0,
  }
  readonly #options: SipEndpointOptions
  readonly #agent: UserAgent
  readonly #reach: SipReach
  readonly #gate = new SipGate()
  readonly #flows = new SipFlows()
  readonly #proxies: Proxies
  readonly #namedHosts: NamedHosts
  readonly #locator: Locator
  /** What other nodes of the database have to do with its calls. */
  readonly nodes: NodeCalls
  /** By the host that they are bound to. */
  readonly #udp = new Map<string, DoorSocket>()
  readonly #tcp: SipStreams
  readonly #tls: SipStreams
  readonly #tlsServers: TlsServer[] = []
  /** Presented by our servers, and to servers that ask who connects (RFC 5922 §7.4). Empty: we have none. */
  #tlsCredential: Partial<TlsCredential>
  readonly #webSockets: SipWebSockets
  #drachtio: DrachtioWire | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(options: SipEndpointOptions) {
    this.#options = options
    this.#reach = new SipReach(options.allowedNetworks ?? [])
    this.#proxies = new Proxies(options.proxies ?? [])
    const { addresses, nonceKey } = options
    this.nodes = new NodeCalls({
      secret: nonceKey?.secret ?? null,
      node: options.node ?? null,
      local: to => this.#localOf(to),
      from: to => this.#from(to),
      connectionTo: to => this.#connectionTo(to),
      locate: to => this.locate(to),
      originOf: (bytes, { host }) => (this.#proxies.has(host) ? this.#proxies.originOf(bytes) : null) ?? host,
      send: (bytes, to) => this.#send(bytes, to),
      meet: host => this.meet(host),
      takeFor: (bytes, from, caller) => this.#takeFor(bytes, from, caller),
      takeHere: (bytes, from) => this.#receiveFrom(bytes, from, performance.now()),
    })
    this.#namedHosts = new NamedHosts({
      names: options.names,
      mayReach: (peer, host) => this.mayReach(peer, host),
      deliver: options.onEvent,
    })
    this.#locator = new Locator({
      names: options.names,
      reach: this.#reach,
      families: addresses.all.map(({ family }) => family),
      random: Math.random,
    })
    this.#agent = new UserAgent({
      name: options.productName,
      local: to => this.#localOf(to),
      random: () => randomHex(10),
      tagMark: this.nodes.tagMark,
      ...(options.sessionExpiresS === undefined ? {} : { sessionExpiresS: options.sessionExpiresS }),
      optionsStatus: options.optionsStatus,
      ...(options.inviteDoor === undefined ? {} : { inviteDoor: options.inviteDoor }),
      ...(options.takesKeys === undefined ? {} : { takesKeys: options.takesKeys }),
      ...(options.registrar === undefined ? {} : { registrarRealm: options.registrar.realm }),
      ...(nonceKey === undefined ? {} : { nonceKey }),
    })
    // What was not answered is repeated over a new connection.
    const again = (from: Peer): void => this.do((agent, now) => agent.moved(from, null, now))
    const shared: Omit<SipStreamsOptions, 'transport' | 'servers' | 'dial' | 'gone'> = {
      receive: (bytes, from) => this.#receive(bytes, from),
      failed: to => this.#failed(to),
      disconnected: (from, isOwed) => {
        this.do((agent, now) => agent.disconnected(from, now))
        if (isOwed) again(from)
      },
      unanswered: again,
      isFlow: peer => this.#flows.has(peer),
      isKnown: host => this.#gate.isKnown(host, performance.now()),
      counters: this.counters,
    }
    this.#webSockets = new SipWebSockets({
      ...shared,
      counters: this.counters,
      gone: peer => options.onGone?.(peer),
    })
    const gone = (peer: Peer): void => {
      this.#failed(peer)
      options.onGone?.(peer)
    }
    const { tls } = options
    this.#tlsCredential = credentialOf(tls ?? {})
    this.#tcp = new SipStreams({
      ...{ ...shared, gone },
      transport: 'tcp',
      servers: addresses.all.map(({ host }) => ({ host, server: createServer({ noDelay: true }) })),
      dial: to => ({
        socket: connect({ host: to.host, port: to.port, ...this.#from(to), noDelay: true }),
        ready: 'connect',
      }),
    })
    this.#tls = new SipStreams({
      ...{ ...shared, gone },
      transport: 'tls',
      servers:
        tls === undefined
          ? []
          : addresses.all.map(({ host }) => {
              const server = createTlsServer({ ...this.#tlsCredential, noDelay: true, handshakeTimeout: HANDSHAKE_MS })
              this.#tlsServers.push(server)
              return { host, server }
            }),
      // Node checks the certificate against the authorities that it trusts.
      dial: to => ({
        socket: connectTls({
          host: to.host,
          port: to.port,
          ...this.#from(to),
          ...this.#tlsCredential,
          ...(to.name === undefined ? {} : { servername: to.name }),
          checkServerIdentity: checkSipIdentity,
        }),
        ready: 'secureConnect',
      }),
    })
  }

  /** New connections over TLS get this certificate; those that are open stay. */
  renewTls(tls: TlsCredential): void {
    this.#tlsCredential = tls
    for (const server of this.#tlsServers) server.setSecureContext(tls)
  }

  /** The port of ours that a far end knows. */
  #portFor({ transport }: Peer): number {
    const { port, tls, webSocket } = this.#options
    if (transport === 'tls') return tls?.port ?? port
    if (transport === 'ws') return webSocket?.wsPort ?? port
    return transport === 'wss' ? (webSocket?.wssPort ?? port) : port
  }

  /** Whether one more client of SIP over WebSocket is let in. */
  hasRoomForWebSocket(host: string): boolean {
    return this.#webSockets.hasRoom(host)
  }

  /** A client of SIP over WebSocket has knocked, and may come in. */
  acceptWebSocket(upgrade: SipUpgrade): void {
    this.#webSockets.accept(upgrade)
  }

  /**
   * Binds UDP, TCP and, with a certificate, TLS, and rejects with the system's error when the port is taken; or connects to the drachtio
   * server that does so in our place.
   */
  async listen(): Promise<void> {
    const { port, tls, drachtio, isUdpOnly = false } = this.#options
    if (drachtio !== undefined) {
      this.#drachtio = await DrachtioWire.connect({
        server: drachtio,
        receive: (bytes, from) => this.#receive(bytes, from),
        failed: to => this.#failed(to),
        broke: () => this.counters.drachtioBreaks++,
      })
      return
    }
    for (const { host } of this.#options.addresses.all) this.#udp.set(host, await this.#openUdp(host))
    if (isUdpOnly) return
    await this.#tcp.listen(port)
    if (tls !== undefined) await this.#tls.listen(tls.port)
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

  /** Datagrams that the system dropped, because they arrived faster than they were read. */
  get datagramsDropped(): number {
    return [...this.#udp.values()].reduce((sum, { dropped }) => sum + dropped, 0)
  }

  /** The networks of connections and phones: strangers cannot take their room. */
  know(networks: readonly string[]): void {
    this.#gate.know(networks)
  }

  /** Whether this peer may have our audio sent to a host that its description names. */
  mayReach(peer: Peer | null, host: string): boolean {
    const origin = peer?.proxy?.origin ?? null
    const publicOnly = peer?.publicOnly ?? (origin !== null && isPublicAddress(origin))
    return this.#reach.allows({ publicOnly, host })
  }

  /** Whether a host is in a network of a connection or a phone. */
  isOfNetworks(host: string): boolean {
    return this.#gate.isOfNetworks(host)
  }

  /** Treats a host as known from now on. */
  meet(host: string): void {
    this.#gate.meet(host, performance.now())
  }

  /**
   * Phones have registered over this connection, or from this address; `bindings`: see `SipFlows`. What is said to them continues here.
   */
  registered(peer: Peer, bindings: readonly Binding[]): void {
    this.meet(peer.host)
    for (const former of this.#flows.registered(peer, bindings)) {
      const later = former.transport === 'udp' ? (this.#flows.after(former) ?? former) : this.#wayTo(former)
      if (later !== former) this.do((agent, now) => agent.moved(former, later, now))
    }
    this.#streams(peer)?.keepOpen(peer)
  }

  /** This Contact is registered no more over the connection that leads there. */
  unregistered(peer: Peer, contact: string): void {
    const connectionId = this.#connectionTo(peer)
    if (connectionId !== null) this.#flows.forget({ ...peer, connectionId }, contact)
  }

  /** Whether control is to be asked about a call of this peer. */
  admitsCall(peer: Peer): boolean {
    return peer.isKnown === true || this.#gate.admitsCall(originOf(peer), performance.now())
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

  /** Judges what a phone asks; null: it is not open any more. */
  checkAsk(askId: string, ha1: string | null): boolean | null {
    const { isRight, actions } = this.#agent.checkAsk(askId, ha1, performance.now())
    this.#perform(actions)
    return isRight
  }

  /** Answers it; the subscription that it has begun or renewed, or null. */
  answerAsk(askId: string, reply: AskReply): string | null {
    const { subscriptionId, actions } = this.#agent.answerAsk(askId, reply, performance.now())
    this.#perform(actions)
    return subscriptionId
  }

  get subscriptionIds(): string[] {
    return this.#agent.subscriptionIds
  }

  /** The addresses that a destination leads to, in the order to try them; none: nowhere. Never rejects. */
  locate(to: Destination): Promise<Peer[]> {
    return this.#locator.locate(to)
  }

  /** Leaves an unanswered call to another node, which answers its INVITE. */
  passOn(sessionId: string, to: Peer, caller: PassedOn): void {
    const { invite, actions } = this.#agent.handOver(sessionId, performance.now())
    const again = invite === null ? null : this.nodes.passOn(invite, to, caller)
    // The caller has our 100, and does not repeat it.
    if (again !== null) setTimeout(again, AGAIN_MS).unref()
    this.#perform(actions)
  }

  /** The Call-ID of a session; null: it is over. */
  callIdOf(sessionId: string): string | null {
    return this.#agent.callIdOf(sessionId)
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
    this.#drachtio?.close()
    for (const udp of this.#udp.values()) udp.close()
    this.#tcp.close()
    this.#tls.close()
    this.#webSockets.close()
  }

  /** Our address as that far end knows it. */
  #localOf(peer: Peer): { host: string; port: number } {
    const { addresses } = this.#options
    const ofDrachtio = isWebSocket(peer) ? undefined : this.#drachtio?.addressFor(peer)
    if (ofDrachtio != null) return ofDrachtio
    return { host: (addresses.for(peer) ?? addresses.main).advertised, port: this.#portFor(peer) }
  }

  #openUdp(local: string): Promise<DoorSocket> {
    const { openUdp = openNodeDoor, port } = this.#options
    return openUdp({
      ...{ host: local, port, receiveBufferBytes: RECEIVE_BUFFER_BYTES },
      admits: host => this.#admits(host, this.#isKnownHost(host)),
      take: (bytes, host, from) => this.#take(bytes, { transport: 'udp', host, port: from, local }),
    })
  }

  /** A connection begins at the address that its far end knows us by, where we listen on addresses of our choice. */
  #from(to: Peer): { localAddress?: string } {
    const own = this.#options.addresses.for(to)
    return own === null || isAny(own.listensOn) ? {} : { localAddress: own.host }
  }

  #isKnownHost(host: string): boolean {
    return this.#proxies.has(host) || this.#gate.isKnown(host, performance.now())
  }

  #admits(host: string, isKnown: boolean): boolean {
    return this.#gate.admits(host, isKnown, performance.now())
  }

  /** Receives a message of a stream. */
  #receive(bytes: Uint8Array, from: Peer): void {
    if (this.#admits(from.host, isDialled(from) || this.#isKnownHost(from.host))) this.#take(bytes, from)
  }

  /** Handles a message that was admitted. */
  #take(bytes: Uint8Array, from: Peer): void {
    const now = performance.now()
    this.#options.onMessage?.(bytes, false, from, this.#localOf(from))
    if (!this.nodes.take(bytes, from)) this.#receiveFrom(bytes, from, now)
  }

  /** Another node has passed it on, or calls itself, for this caller. */
  #takeFor(bytes: Uint8Array, from: Peer, caller: PassedOn): void {
    const now = performance.now()
    const isKnown = caller.proven !== undefined || this.#gate.isKnown(caller.origin, now)
    this.#perform(this.#agent.receive(bytes, { ...(isKnown && { isKnown }), ...from, proxy: caller }, now))
  }

  #receiveFrom(bytes: Uint8Array, from: Peer, now: number): void {
    const peer = this.#reach.from(from)
    const isKnown = isDialled(from) || this.#gate.isKnown(from.host, now)
    if (this.#proxies.has(from.host)) this.#receiveThrough(bytes, peer, now)
    else this.#perform(this.#agent.receive(bytes, isKnown ? { isKnown, ...peer } : peer, now))
  }

  /** Whoever is behind a proxy is as well known as without it, and has no more room. */
  #receiveThrough(bytes: Uint8Array, peer: Peer, now: number): void {
    const origin = this.#proxies.originOf(bytes)
    const isKnown = origin === null || this.#gate.isKnown(origin, now)
    const through = { proxy: { origin }, ...peer }
    this.#perform(this.#agent.receive(bytes, isKnown ? { isKnown, ...through } : through, now))
  }

  #perform(actions: Action[]): void {
    for (const action of actions) {
      if (action.kind === 'send') this.#send(action.bytes, action.to)
      else if (action.kind === 'register') this.#options.registrar?.onRegister(action.register)
      else if (action.kind === 'ask') this.#options.phones?.onAsk(action.ask)
      else if (action.kind === 'unsubscribed') this.#options.phones?.onUnsubscribed(action.subscriptionId)
      else if (action.kind === 'message') this.#options.phones?.onMessage(action.report)
      else if (action.kind === 'watch') this.#options.onWatch?.(action.report)
      else if (action.kind === 'locate') void this.#locate(action.locationId, action.target)
      else this.#namedHosts.take(action.event)
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

  #send(bytes: Uint8Array, wanted: Peer): void {
    const to = this.#wayTo(wanted, isRequest(bytes))
    if (!this.#reach.allows(to)) {
      this.#refused(to)
      return
    }
    const isMessage = bytes !== PING
    if (isMessage)
      this.#options.onMessage?.(bytes, true, { ...to, ...this.#streams(to)?.farEndOf(to) }, this.#localOf(to))
    if (this.#drachtio !== null && !isWebSocket(to)) {
      // Anything that is no message, such as a keep-alive, is left to the server.
      if (isMessage) this.#drachtio.send(bytes, to)
    } else if (isWebSocket(to)) this.#webSockets.send(bytes, to)
    else if (to.transport === 'udp') this.#sendUdp(bytes, to)
    else this.#streams(to)!.send(bytes, to)
  }

  /** The connections that may lead there; null: none of TCP or TLS. */
  #streams({ transport }: Peer): SipStreams | null {
    return transport === 'tcp' ? this.#tcp : transport === 'tls' ? this.#tls : null
  }

  /**
   * The connection to use: instead of a closed one, that over which its phone has registered since; for requests also instead of one that
   * was replaced.
   */
  #wayTo(wanted: Peer, isRequest = true): Peer {
    const isClosed = this.#isClosed(wanted)
    const later = isClosed ? this.#flows.after(wanted) : isRequest ? this.#flows.inPlaceOf(wanted) : null
    return later === null || this.#isClosed(later) ? wanted : later
  }

  #connectionTo(to: Peer): string | null {
    if (isWebSocket(to)) return this.#webSockets.connectionTo(to)
    return this.#streams(to)?.connectionTo(to) ?? null
  }

  #isClosed(to: Peer): boolean {
    if (to.connectionId === undefined || (this.#drachtio !== null && !isWebSocket(to))) return false
    if (isWebSocket(to)) return !this.#webSockets.isOpen(to)
    return this.#streams(to)?.isOpen(to.connectionId) !== true
  }

  #sendUdp(bytes: Uint8Array, to: Peer): void {
    const udp = this.#udp.get(this.#options.addresses.for(to)?.listensOn ?? '')
    if (udp === undefined) {
      // An address of a family that we have none of.
      this.#refused(to)
      return
    }
    if (isRequest(bytes)) this.#gate.meet(to.host, performance.now())
    udp.send(bytes, to.host, to.port, () => {
      this.counters.sendErrors++
      this.#failed(to)
    })
  }

  async #locate(locationId: string, target: Destination): Promise<void> {
    const ways = await this.#locator.locate(target)
    this.do((agent, now) => agent.located(locationId, ways, now))
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
