import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Asked } from '../../../sip/agent-core.ts'
import type { Destination, Peer, Transport } from '../../../sip/agent-types.ts'
import { destinationOfUri } from '../../../sip/destination.ts'
import { firstElement, parseNameAddr } from '../../../sip/message/headers.ts'
import type { SipRequest, SipResponse } from '../../../sip/message/message.ts'
import { parseMessage } from '../../../sip/message/parse.ts'
import { bracketed, parseUri } from '../../../sip/message/uri.ts'
import { parseReplaces } from '../../../sip/transfer/replaces.ts'
import { atMost } from '../../protocol/at-most.ts'
import { bytesOf, edited, without, withoutFirstVia } from './message-lines.ts'
import { NodeTags } from './node-tags.ts'

/** Begins every mark: no other message is looked at. */
const MARK = 'tandem-node.'
const MAC_BYTES = 16
/** Parameter of our Via: where the response goes. */
const BACK = ';tandem-back='

/** A message that is passed on. */
export interface Relayed {
  bytes: Uint8Array
  /** Null: it goes nowhere. */
  to: Peer | null
  /** It is for this node: another one has passed a caller on. */
  caller?: PassedOn
}

/** A caller that is passed on: who it is, and the account that it has proven; null: none; absent: nobody has asked it yet. */
export interface PassedOn {
  origin: string
  proven?: string | null
  /** The other node calls, to join two calls of this account. */
  joins?: true
}

/** An INVITE to replace a dialog of another node, and where that takes it, `host:port`. */
export interface Replacing {
  request: SipRequest
  node: string
}

/** Longer than an INVITE waits for its answer [ms]. */
const INVITE_MS = 10 * 60_000
const MAX_INVITES = 10_000

/** A header that names a dialog; in a request without it, nothing else is looked for. */
const REPLACES = /^replaces[ \t]*:/im

interface NodeRelayOptions {
  /** Shared by the nodes of a database. */
  secret: string
  /** Where the others find this one, `host:port`; null: nowhere. */
  node: string | null
  /** Our address as that far end knows it. */
  local: (to: Peer) => { host: string; port: number }
  /** The open connection to that far end; null: none. */
  connectionTo: (to: Peer) => string | null
}

/**
 * Calls of another node to a phone that has registered with this one, and the phone's requests in them: what an edge proxy does for the
 * phones behind it (RFC 5626 §5), without state (RFC 3261 §16.11). The other node names the phone's connection in a Route that only nodes can
 * make; answers and later requests come back by Via and Record-Route. A caller whose room, or the dialog that it is to replace, is at another
 * node is passed on to it in the same way; only what belongs to that INVITE follows, unless the other node could not reach the caller itself.
 * Audio does not pass here. Pure.
 */
export class NodeRelay {
  readonly #options: NodeRelayOptions
  /** INVITEs that another node answers, by branch: what else belongs to them goes there too. */
  readonly #passed = new LRUCache<string, PassedInvite>({ ...atMost(MAX_INVITES), ttl: INVITE_MS })
  readonly #tags: NodeTags

  constructor(options: NodeRelayOptions) {
    this.#options = options
    this.#tags = new NodeTags(options)
  }

  /** Ends the tags of our dialogs. */
  get tagMark(): string {
    return this.#tags.mark
  }

  /**
   * The Route to a phone of another node. Datagrams to the phone are repeated by whoever calls it, so they are not carried over a stream
   * before, which repeats nothing.
   */
  routeTo({ host, port }: { host: string; port: number }, { transport, ...flow }: Peer): string {
    const mark = this.#mark(['phone', transport, flow.host, flow.port])
    return `<sip:${mark}@${bracketed(host)}:${port};transport=${transport === 'udp' ? 'udp' : 'tcp'};lr>`
  }

  /** The Route of an INVITE that takes the place of a dialog at the node that has it, to join two calls of this account. `replaces`: as its Replaces says. */
  joinRoute({ host, port }: { host: string; port: number }, replaces: string, account: string): string {
    return `<sip:${this.#mark(['join', replaces, account])}@${bracketed(host)}:${port};transport=tcp;lr>`
  }

  /** The other node whose dialog has this tag, `host:port`; null: none. */
  nodeOf(tag: string): string | null {
    const node = this.tagMark === '' ? null : this.#tags.nodeOf(tag)
    return node === this.#options.node ? null : node
  }

  /** Null: it is none that is passed on. */
  relay(bytes: Uint8Array, from: Peer): Relayed | null {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const passed = this.#passed.size === 0 ? undefined : this.#passed.get(branchOf(view))
    if (passed === undefined && view.indexOf(MARK, 0, 'latin1') < 0) return null
    const message = parseMessage(bytes)
    if (message.kind === 'failure') return null
    if (message.kind === 'response') return this.#back(message, bytes)
    if (passed === undefined) return this.#on(message, bytes, from)
    const { to, recorded } = passed
    const route = [passed.route, ...message.headers.list('route')]
    return { bytes: this.#forwarded(message, bytes, { from, to, route, recorded }), to }
  }

  /** Null: it replaces nothing, or nothing of another node. */
  replacing(bytes: Uint8Array): Replacing | null {
    if (this.tagMark === '') return null
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    if (!text.startsWith('INVITE ') || !REPLACES.test(text)) return null
    const request = parseMessage(bytes)
    if (request.kind !== 'request' || request.to.tag !== null) return null
    const named = parseReplaces(request.headers.get('replaces') ?? '')
    const node = named === null ? null : this.nodeOf(named.toTag)
    return node === null ? null : { request, node }
  }

  /**
   * Passes an INVITE on to another node, which answers it as if it had come there. What the caller repeats, its CANCEL and the ACK of a refusal
   * follow. This node is not in the call's way, unless the caller can only be reached here.
   */
  passOn({ request, topVia, replyTo }: Asked, to: Peer, { origin, proven }: PassedOn): Uint8Array {
    const judged = proven === undefined ? [] : [proven ?? '']
    const mark = this.#mark(['call', this.#branchFor(request), origin, ...judged])
    const route = `<sip:${mark}@${bracketed(to.host)}:${to.port};lr>`
    const recorded = isReachable(request, replyTo) ? [] : [this.#wayTo(replyTo, to), this.#wayBack(to, replyTo)]
    if (request.via.branch !== null) this.#passed.set(request.via.branch, { to, route, recorded })
    const below = [route, ...request.headers.list('route')]
    return this.#forwarded(request, bytesOf(request, topVia), { from: replyTo, to, route: below, recorded })
  }

  #back({ headers }: SipResponse, bytes: Uint8Array): Relayed | null {
    const via = firstElement(headers.get('via')!)
    const at = via.indexOf(BACK)
    const parts = at < 0 ? null : this.#open(via.slice(at + BACK.length).split(/[;\s]/, 1)[0]!)
    if (parts?.[0] !== 'back') return null
    return { bytes: edited(bytes, lines => withoutFirstVia(lines)), to: peerOf(parts) }
  }

  #on(request: SipRequest, bytes: Uint8Array, from: Peer): Relayed | null {
    const route = request.headers.list('route')
    const marks = route.map(value => this.#markOf(value))
    const [way] = marks
    if (way == null) return null
    const later = marks.indexOf(null)
    const rest = later < 0 ? [] : route.slice(later)
    if (way[0] === 'call') return this.#here(request, bytes, way, rest)
    if (way[0] === 'join') return this.#joins(request, bytes, way, from)
    const [kind] = way
    const to = peerOf(way)
    const isNew = request.to.tag === null
    // Only what is inside a call goes back to the node that has it.
    if (hopsOf(request) <= 0 || (kind !== 'phone' && isNew)) return { bytes, to: null }
    const caller = isNew ? callerOf(request, from) : null
    const recorded = caller === null ? [] : [this.#wayBack(caller, to), this.#wayTo(to, caller)]
    return { bytes: this.#forwarded(request, bytes, { from, to, route: rest, recorded }), to }
  }

  /** Another node calls in the place of this one dialog, and no other. Its ACK and CANCEL have the Route too (RFC 3261 §9.1, §17.1.1.3). */
  #joins({ method, headers }: SipRequest, bytes: Uint8Array, way: string[], { host: origin }: Peer): Relayed {
    const [, replaces, proven] = way
    if (method === 'INVITE' && headers.get('replaces') !== replaces) return { bytes, to: null }
    const own = edited(bytes, ([start, ...lines]) => [start!, ...without(lines, OF_ROUTE)])
    return { bytes: own, to: null, caller: { origin, proven: proven!, joins: true } }
  }

  /** What another node has passed on is for this one. */
  #here({ via }: SipRequest, bytes: Uint8Array, way: string[], rest: readonly string[]): Relayed {
    const [, branch, origin = '', proven] = way
    if (via.branch !== branch) return { bytes, to: null }
    const route = rest.length === 0 ? [] : [`Route: ${rest.join(', ')}`]
    const own = edited(bytes, ([start, ...lines]) => [start!, ...route, ...without(lines, OF_ROUTE)])
    const caller = proven === undefined ? { origin } : { origin, proven: proven === '' ? null : proven }
    return { bytes: own, to: null, caller }
  }

  #forwarded(
    request: SipRequest,
    bytes: Uint8Array,
    {
      from,
      to,
      route,
      recorded = [],
    }: { from: Peer; to: Peer; route: readonly string[]; recorded?: readonly string[] },
  ): Uint8Array {
    const added = [
      this.#viaFor(request, from, to),
      ...recorded.map(value => `Record-Route: ${value}`),
      `Max-Forwards: ${hopsOf(request) - 1}`,
      ...(route.length === 0 ? [] : [`Route: ${route.join(', ')}`]),
    ]
    return edited(bytes, ([start, ...lines]) => [start!, ...added, ...without(lines, OF_HOP)])
  }

  /** Where the phone sends its requests in the call. */
  #wayBack(node: Peer, phone: Peer): string {
    return this.#recorded(this.#mark(['node', node.transport, node.host, node.port]), phone)
  }

  /** Where the other node sends its own: by the connection that the phone has now, or by the one over which it comes back. */
  #wayTo(phone: Peer, node: Peer): string {
    const { transport, host, port, connectionId = this.#options.connectionTo(phone) ?? '' } = phone
    return this.#recorded(this.#mark(['phone', transport, host, port, connectionId]), node)
  }

  /** A value of Record-Route for that far end. */
  #recorded(mark: string, to: Peer): string {
    const { host, port } = this.#options.local(to)
    const transport = to.transport === 'udp' ? '' : `;transport=${to.transport}`
    return `<sip:${mark}@${bracketed(host)}:${port}${transport};lr>`
  }

  /** A repeated request, its CANCEL and the ACK of a refusal get the same branch (RFC 3261 §16.11). */
  #branchFor({ via, callId, cseq, from: { tag } }: SipRequest): string {
    const said = [via.branch, via.host, via.port, callId, cseq.number, tag].join('\n')
    return `z9hG4bK${hash('sha256', said).slice(0, 24)}`
  }

  #viaFor(request: SipRequest, from: Peer, to: Peer): string {
    const { host, port } = this.#options.local(to)
    const branch = this.#branchFor(request)
    const back = this.#mark(['back', from.transport, from.host, from.port, from.connectionId ?? ''])
    return `Via: SIP/2.0/${to.transport.toUpperCase()} ${bracketed(host)}:${port};rport;branch=${branch}${BACK}${back}`
  }

  #markOf(route: string): string[] | null {
    const address = parseNameAddr(route)
    const uri = address === null ? null : parseUri(address.uri)
    return uri === null || !('user' in uri) || uri.user === null ? null : this.#open(uri.user)
  }

  #mark(parts: readonly (string | number)[]): string {
    const said = Buffer.from(parts.join('\n')).toString('base64url')
    return `${MARK}${said}.${this.#sign(said)}`
  }

  #open(mark: string): string[] | null {
    const [said = '', signature = ''] = mark.startsWith(MARK) ? mark.slice(MARK.length).split('.') : []
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(said))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null
    return Buffer.from(said, 'base64url').toString().split('\n')
  }

  #sign(said: string): string {
    const mac = createHmac('sha256', this.#options.secret).update(`relay ${said}`).digest()
    return mac.subarray(0, MAC_BYTES).toString('hex')
  }
}

interface PassedInvite {
  to: Peer
  route: string
  recorded: readonly string[]
}

/** The far end that a mark names. */
function peerOf([, transport, host, port, connectionId = '']: readonly string[]): Peer {
  const to = { transport: transport as Transport, host: host!, port: Number(port) }
  return connectionId === '' ? to : { ...to, connectionId }
}

/**
 * Whether another node may send requests to a caller: not over a connection that the caller has opened here, nor through its NAT. Behind a
 * proxy, that is what counts.
 */
function isReachable({ headers }: SipRequest, { transport, host }: Peer): boolean {
  if (transport !== 'udp' && transport !== 'tcp') return false
  const contact = parseNameAddr(headers.get('contact') ?? '')
  return headers.get('record-route') !== null || (contact !== null && destinationOfUri(contact.uri)?.host === host)
}

/** Header fields that each hop writes anew. */
const OF_HOP: ReadonlySet<string> = new Set(['route', 'max-forwards'])
const OF_ROUTE: ReadonlySet<string> = new Set(['route'])

const hopsOf = ({ headers }: SipRequest): number => Number(headers.get('max-forwards') ?? 70)

/** The first of a message, which is that of its topmost Via unless other fields stand before. */
const branchOf = (view: Buffer): string =>
  /;\s*branch\s*=\s*([^\s;,]+)/i.exec(view.toString('latin1', 0, 2000))?.[1] ?? ''

/** Where the calling node takes requests in the call: at the port of its Contact, on the side from which it has sent this one. Null: nowhere. */
function callerOf({ headers }: SipRequest, { host }: Peer): Peer | null {
  const contact = parseNameAddr(headers.get('contact') ?? '')
  const to: Destination | null = contact === null ? null : destinationOfUri(contact.uri)
  return to === null ? null : { transport: to.transport ?? 'udp', host, port: to.port ?? 5060 }
}
