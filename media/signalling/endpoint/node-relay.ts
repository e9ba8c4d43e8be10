import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Destination, Peer, Transport } from '../../../sip/agent-types.ts'
import { destinationOfUri } from '../../../sip/destination.ts'
import { firstElement, parseNameAddr } from '../../../sip/message/headers.ts'
import { canonicalName, type SipRequest, type SipResponse } from '../../../sip/message/message.ts'
import { parseMessage } from '../../../sip/message/parse.ts'
import { bracketed, parseUri } from '../../../sip/message/uri.ts'

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
}

interface NodeRelayOptions {
  /** Shared by the nodes of a database. */
  secret: string
  /** Our address as that far end knows it. */
  local: (to: Peer) => { host: string; port: number }
}

/**
 * Calls of another node to a phone that has registered with this one, and the phone's requests in them: what an edge proxy does for the
 * phones behind it (RFC 5626 §5), without state (RFC 3261 §16.11). The other node names the phone's connection in a Route that only nodes can
 * make; answers and later requests come back by Via and Record-Route. Audio does not pass here. Pure.
 */
export class NodeRelay {
  readonly #options: NodeRelayOptions

  constructor(options: NodeRelayOptions) {
    this.#options = options
  }

  /**
   * The Route to a phone of another node. Datagrams to the phone are repeated by whoever calls it, so they are not carried over a stream
   * before, which repeats nothing.
   */
  routeTo({ host, port }: { host: string; port: number }, { transport, ...flow }: Peer): string {
    const mark = this.#mark(['phone', transport, flow.host, flow.port])
    return `<sip:${mark}@${bracketed(host)}:${port};transport=${transport === 'udp' ? 'udp' : 'tcp'};lr>`
  }

  /** Null: it is none that is passed on. */
  relay(bytes: Uint8Array, from: Peer): Relayed | null {
    if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(MARK, 0, 'latin1') < 0) return null
    const message = parseMessage(bytes)
    if (message.kind === 'failure') return null
    return message.kind === 'response' ? this.#back(message, bytes) : this.#on(message, bytes, from)
  }

  #back({ headers }: SipResponse, bytes: Uint8Array): Relayed | null {
    const via = firstElement(headers.get('via')!)
    const at = via.indexOf(BACK)
    const parts = at < 0 ? null : this.#open(via.slice(at + BACK.length).split(/[;\s]/, 1)[0]!)
    if (parts?.[0] !== 'back') return null
    const [, transport, host, port, connectionId] = parts
    const to = { transport: transport as Transport, host: host!, port: Number(port) }
    return {
      bytes: edited(bytes, lines => withoutFirstVia(lines)),
      to: connectionId === '' ? to : { ...to, connectionId: connectionId! },
    }
  }

  #on(request: SipRequest, bytes: Uint8Array, from: Peer): Relayed | null {
    const route = request.headers.list('route')
    const marks = route.map(value => this.#markOf(value))
    const [way] = marks
    if (way == null) return null
    const later = marks.indexOf(null)
    const rest = later < 0 ? [] : route.slice(later)
    const hops = Number(request.headers.get('max-forwards') ?? 70)
    const [kind, transport, host, port] = way
    const to: Peer = { transport: transport as Transport, host: host!, port: Number(port) }
    const isNew = request.to.tag === null
    // Only what is inside a call goes back to the node that has it.
    if (hops <= 0 || (kind !== 'phone' && isNew)) return { bytes, to: null }
    const added = [this.#viaFor(request, from, to)]
    const caller = isNew ? callerOf(request, from) : null
    if (caller !== null) added.push(`Record-Route: <${this.#wayBack(caller, to)}>`, `Record-Route: ${route[0]!}`)
    added.push(`Max-Forwards: ${hops - 1}`, ...(rest.length === 0 ? [] : [`Route: ${rest.join(', ')}`]))
    return { bytes: edited(bytes, ([start, ...lines]) => [start!, ...added, ...without(lines, OF_HOP)]), to }
  }

  /** Where the phone sends its requests in the call. */
  #wayBack(caller: Peer, phone: Peer): string {
    const { host, port } = this.#options.local(phone)
    const mark = this.#mark(['node', caller.transport, caller.host, caller.port])
    const transport = phone.transport === 'udp' ? '' : `;transport=${phone.transport}`
    return `sip:${mark}@${bracketed(host)}:${port}${transport};lr`
  }

  /** A repeated request, its CANCEL and the ACK of a refusal get the same branch (RFC 3261 §16.11). */
  #viaFor({ via, callId, cseq, from: { tag } }: SipRequest, from: Peer, to: Peer): string {
    const { host, port } = this.#options.local(to)
    const branch = hash('sha256', [via.branch, via.host, via.port, callId, cseq.number, tag].join('\n')).slice(0, 24)
    const back = this.#mark(['back', from.transport, from.host, from.port, from.connectionId ?? ''])
    return `Via: SIP/2.0/${to.transport.toUpperCase()} ${bracketed(host)}:${port};rport;branch=z9hG4bK${branch}${BACK}${back}`
  }

  #markOf(route: string): string[] | null {
    const address = parseNameAddr(route)
    const uri = address === null ? null : parseUri(address.uri)
    return uri === null || !('user' in uri) || uri.user === null ? null : this.#open(uri.user)
  }

  /** `parts`: without spaces. */
  #mark(parts: readonly (string | number)[]): string {
    const said = Buffer.from(parts.join(' ')).toString('base64url')
    return `${MARK}${said}.${this.#sign(said)}`
  }

  #open(mark: string): string[] | null {
    const [said = '', signature = ''] = mark.startsWith(MARK) ? mark.slice(MARK.length).split('.') : []
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(said))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null
    return Buffer.from(said, 'base64url').toString().split(' ')
  }

  #sign(said: string): string {
    const mac = createHmac('sha256', this.#options.secret).update(`relay ${said}`).digest()
    return mac.subarray(0, MAC_BYTES).toString('hex')
  }
}

/** Header fields that each hop writes anew. */
const OF_HOP: ReadonlySet<string> = new Set(['route', 'max-forwards'])

/** Where the calling node takes requests in the call: at the port of its Contact, on the side from which it has sent this one. Null: nowhere. */
function callerOf({ headers }: SipRequest, { host }: Peer): Peer | null {
  const contact = parseNameAddr(headers.get('contact') ?? '')
  const to: Destination | null = contact === null ? null : destinationOfUri(contact.uri)
  return to === null ? null : { transport: to.transport ?? 'udp', host, port: to.port ?? 5060 }
}

/** The same message with other lines in its head; a header field that is continued on further lines is one. */
function edited(bytes: Uint8Array, edit: (lines: string[]) => string[]): Buffer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').trimStart()
  const end = text.indexOf('\r\n\r\n')
  const lines = text.slice(0, end).split(/\r\n(?![ \t])/)
  return Buffer.from(edit(lines).join('\r\n') + text.slice(end), 'latin1')
}

const nameOf = (line: string): string => canonicalName(line.slice(0, Math.max(0, line.indexOf(':'))).trim())

const without = (lines: readonly string[], names: ReadonlySet<string>): string[] =>
  lines.filter(line => !names.has(nameOf(line)))

/** Several values may share a line. */
function withoutFirstVia(lines: readonly string[]): string[] {
  const at = lines.findIndex((line, i) => i > 0 && nameOf(line) === 'via')
  const line = lines[at]!
  const values = line.slice(line.indexOf(':') + 1).trimStart()
  const others = values.slice(firstElement(values).length).replace(/^\s*,\s*/, '')
  return [...lines.slice(0, at), ...(others.trim() === '' ? [] : [`Via: ${others}`]), ...lines.slice(at + 1)]
}
