import type { Asked } from '../../../sip/agent-core.ts'
import type { Destination, Peer } from '../../../sip/agent-types.ts'
import { askedBy } from '../../../sip/incoming-request.ts'
import { parseHostPort } from '../../../sip/message/uri.ts'
import type { DialTarget } from '../../protocol.ts'
import { probeNode } from './node-probe.ts'
import { NodeRelay, type PassedOn, type Relayed, type Replacing } from './node-relay.ts'

const SIP_PORT = 5060

interface NodeCallsOptions {
  /** Shared by the nodes of a database; null: there are no others. */
  secret: string | null
  /** Where the others find this one, `host:port`; null: nowhere. */
  node: string | null
  /** Our address as that far end knows it, and the one from which a connection to it begins. */
  local: (to: Peer) => { host: string; port: number }
  from: (to: Peer) => { localAddress?: string }
  /** The open connection to that far end; null: none. */
  connectionTo: (to: Peer) => string | null
  /** Never rejects. */
  locate: (to: Destination) => Promise<Peer[]>
  /** Whose request it is, also behind a proxy that is believed. */
  originOf: (bytes: Uint8Array, from: Peer) => string
  send: (bytes: Uint8Array, to: Peer) => void
  /** Treats a host as known from now on. */
  meet: (host: string) => void
  /** Is for us, as another node says for this caller, which has sent something. */
  takeFor: (bytes: Uint8Array, from: Peer, caller: PassedOn) => void
  /** Is for us after all, as anything else. */
  takeHere: (bytes: Uint8Array, from: Peer) => void
}

/** SIP between the nodes of a database: calls to each other's phones, callers and dialogs that another one has, and what comes of that. */
export class NodeCalls {
  readonly #options: NodeCallsOptions
  readonly #relay: NodeRelay | null

  constructor(options: NodeCallsOptions) {
    this.#options = options
    const { secret } = options
    this.#relay = secret === null ? null : new NodeRelay({ ...options, secret })
  }

  /** Ends the tags of our dialogs. */
  get tagMark(): string {
    return this.#relay?.tagMark ?? ''
  }

  /** False: the message has nothing to do with another node. */
  take(bytes: Uint8Array, from: Peer): boolean {
    const relayed = this.#relay?.relay(bytes, from) ?? null
    const replacing = relayed === null ? (this.#relay?.replacing(bytes) ?? null) : null
    if (relayed !== null) this.#relayed(relayed, from)
    else if (replacing !== null) void this.#replaces(replacing, bytes, from)
    return relayed !== null || replacing !== null
  }

  /** Another node has sent it, or a phone in a call of one. */
  #relayed({ bytes, to, caller }: Relayed, from: Peer): void {
    this.#options.meet(from.host)
    if (to !== null) this.#options.send(bytes, to)
    if (caller !== undefined) this.#options.takeFor(bytes, from, caller)
  }

  /** The dialog to be replaced is another node's, which judges the caller too. If that is gone, so is the dialog: the answer is 481. */
  async #replaces({ request, node }: Replacing, bytes: Uint8Array, from: Peer): Promise<void> {
    const to = await this.nodeAt(node)
    if (to === null || to === 'gone') this.#options.takeHere(bytes, from)
    else this.passOn(askedBy(request, from), to, { origin: this.#options.originOf(bytes, from) })
  }

  /** What to dial in place of a phone that another node has (`node` of its host). */
  throughNode<T extends Pick<DialTarget, 'hosts' | 'route' | 'publicOnly'>>(target: T): T {
    const [phone] = target.hosts
    const node = phone?.node === undefined ? null : addressOf(phone.node)
    if (this.#relay === null || phone === undefined || node === null) return target
    const { host, port, transport } = phone as Peer
    return { ...target, route: [this.#relay.routeTo(node, { host, port, transport })], publicOnly: false }
  }

  /** The other node whose dialog has this tag, `host:port`; null: none. */
  nodeOf(tag: string): string | null {
    return this.#relay?.nodeOf(tag) ?? null
  }

  /** The Route to a dialog of another node: see `NodeRelay`. Null: that is no address. */
  joinRoute(node: string, replaces: string, account: string): string | null {
    const at = addressOf(node)
    return at === null ? null : (this.#relay?.joinRoute(at, replaces, account) ?? null)
  }

  /** Where another node takes calls that are passed on, `host:port`. `gone`: nothing listens there; null: it does not answer in time. */
  async nodeAt(node: string): Promise<Peer | 'gone' | null> {
    const named = parseHostPort(node)
    const [peer] = 'error' in named ? [] : await this.#options.locate({ transport: 'tcp', ...named })
    if (peer === undefined) return null
    const found = await probeNode({ host: peer.host, port: peer.port, ...this.#options.from(peer) })
    if (found === 'alive') return peer
    return found === 'gone' ? 'gone' : null
  }

  /** Leaves an INVITE to another node, which answers it. A datagram as a datagram, since its sender repeats it: by what is returned. */
  passOn(asked: Asked, { host, port }: Peer, caller: PassedOn): (() => void) | null {
    if (this.#relay === null) return null
    const to: Peer = { transport: asked.replyTo.transport === 'udp' ? 'udp' : 'tcp', host, port }
    const bytes = this.#relay.passOn(asked, to, caller)
    const send = (): void => this.#options.send(bytes, to)
    send()
    return to.transport === 'udp' ? send : null
  }
}

/** Null: it names none. */
function addressOf(node: string): { host: string; port: number } | null {
  const named = parseHostPort(node)
  return 'error' in named ? null : { host: named.host, port: named.port ?? SIP_PORT }
}
