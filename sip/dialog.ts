import type { Body, Destination, Peer } from './agent-types.ts'
import { destinationOfUri, isWebSocket } from './destination.ts'
import type { OutgoingRequest } from './message/format.ts'
import { type NameAddr, parseNameAddr } from './message/headers.ts'
import type { ByteString, Headers, SipRequest, SipResponse } from './message/message.ts'
import { parseUri, uriParam } from './message/uri.ts'

/** A dialog (RFC 3261 §12). Addresses are header values, tags included. */
export interface Dialog {
  readonly callId: ByteString
  readonly local: ByteString
  readonly remote: ByteString
  readonly localTag: string
  readonly remoteTag: string | null
  localSeq: number
  /** null until the other side sent a request. */
  remoteSeq: number | null
  /** The other side's Contact URI. */
  remoteTarget: ByteString
  /** Route values, nearest hop first. */
  readonly routeSet: readonly ByteString[]
  /** Where the dialog's last message came from: its open connection is reused. */
  peer: Peer
  /** The far end's Contact is unreachable from here: the source of its messages is used instead. */
  readonly behindNat: boolean
  /** It was begun for a `sips:` address, over TLS (RFC 3261 §12.1), so its requests use TLS only. */
  readonly isSecure: boolean
  /** Our Contact in it is `sips:`. */
  readonly isSips: boolean
}

const isSips = (uri: ByteString): boolean => /^sips:/i.test(uri)

/** Whether the Contact of our INVITE has to be `sips:` (RFC 3261 §8.1.1.8). Without TLS nobody could reach us there. */
export const asksForSips = (uri: ByteString, route: readonly ByteString[], { transport }: Peer): boolean =>
  transport === 'tls' && (isSips(uri) || (route[0] !== undefined && isSips(uriOf(route[0]))))

const uriOf = (value: ByteString): ByteString => parseNameAddr(value)?.uri ?? ''

const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)[\d.]+$/

/**
 * A caller that asked for rport, has no proxy in between, and names a private address that is not its packets' source: only
 * the way back through its NAT will reach it.
 */
function isBehindNat(request: SipRequest, remoteTarget: ByteString, peer: Peer): boolean {
  const contact = destinationOfUri(remoteTarget)
  if (contact === null || peer.transport !== 'udp' || request.via.rport === null) return false
  return request.headers.get('record-route') === null && contact.host !== peer.host && PRIVATE.test(contact.host)
}

/** The URI of the first Contact, or null when it is absent, malformed or `*`. */
function contactUri(headers: Headers): ByteString | null {
  const first = headers.list('contact')[0]
  const contact = first === undefined ? null : parseNameAddr(first)
  return contact === null || !isCallable(contact.uri) ? null : contact.uri
}

/** Whether requests can be sent to a URI at all. */
function isCallable(uri: ByteString): boolean {
  const parsed = parseUri(uri)
  return !('error' in parsed) && (parsed.scheme === 'sip' || parsed.scheme === 'sips')
}

/** The dialog of a call that came in (RFC 3261 §12.1.1); null when the INVITE has no usable Contact. */
export function dialogOfRequest(request: SipRequest, localTag: string, peer: Peer): Dialog | null {
  const remoteTarget = contactUri(request.headers)
  if (remoteTarget === null) return null
  const routeSet = request.headers.list('record-route')
  const nextHop = routeSet[0] ?? `<${remoteTarget}>`
  return {
    callId: request.callId,
    local: `${request.headers.get('to')!};tag=${localTag}`,
    remote: request.headers.get('from')!,
    localTag,
    remoteTag: request.from.tag,
    localSeq: 0,
    remoteSeq: request.cseq.number,
    remoteTarget,
    routeSet,
    peer,
    behindNat: isBehindNat(request, remoteTarget, peer),
    isSecure: peer.transport === 'tls' && isSips(request.uri),
    isSips: asksForSips(request.uri, [nextHop], peer),
  }
}

/**
 * The dialog that a response to our INVITE makes (RFC 3261 §12.1.2); without a Contact it goes where the INVITE went (`to`). Over a
 * connection that the far end has opened everything goes back there while it lasts (RFC 5923): few phones listen for others.
 */
export function dialogOfResponse(
  invite: OutgoingRequest,
  localTag: string,
  response: SipResponse,
  to: Peer,
  sender: Peer | null,
): Dialog {
  const { connectionId } = sender ?? {}
  const peer = sender?.isTheirs === true && connectionId !== undefined ? { ...to, connectionId } : to
  return {
    callId: invite.callId,
    local: invite.from,
    remote: response.headers.get('to')!,
    localTag,
    remoteTag: response.to.tag,
    localSeq: invite.cseq,
    remoteSeq: null,
    remoteTarget: contactUri(response.headers) ?? invite.uri,
    routeSet: response.headers.list('record-route').reverse(),
    peer,
    behindNat: isAnswerBehindNat(invite, response, peer),
    isSecure: isSips(invite.uri),
    isSips: asksForSips(invite.uri, invite.route, to),
  }
}

/**
 * A party that names a private address is behind a NAT if it was called at a public one, or by this very address at another one, as its
 * registration has come from there: it is reached on the way of the INVITE.
 */
function isAnswerBehindNat({ uri, route }: OutgoingRequest, { headers }: SipResponse, peer: Peer): boolean {
  const contact = contactUri(headers)
  const host = contact === null ? null : (destinationOfUri(contact)?.host ?? null)
  if (headers.get('record-route') !== null || host === null || !PRIVATE.test(host)) return false
  return peer.publicOnly === true || (route.length === 0 && host !== peer.host && destinationOfUri(uri)?.host === host)
}

/** A request or 2xx that refreshes the target moves the dialog to its Contact (RFC 3261 §12.2). */
export function refreshTarget(dialog: Dialog, headers: Headers): void {
  dialog.remoteTarget = contactUri(headers) ?? dialog.remoteTarget
}

/** A request inside the dialog came from there; the name that was called remains. */
export function movePeer(dialog: Dialog, from: Peer): void {
  const { name } = dialog.peer
  dialog.peer = name === undefined ? from : { ...from, name }
}

/** A phone behind a NAT, which is reached only where it comes from, comes from another port now, as its registration has proven. */
export function followPhone(dialog: Dialog, former: Peer, later: Peer): void {
  const { transport, host, port } = dialog.peer
  if (!dialog.behindNat || transport !== former.transport || host !== former.host || port !== former.port) return
  dialog.peer = { ...dialog.peer, ...later }
}

/** Takes the CSeq of a request inside the dialog; false when it is not higher than the last (RFC 3261 §12.2.2). */
export function advanceRemoteSeq(dialog: Dialog, number: number): boolean {
  if (dialog.remoteSeq !== null && number <= dialog.remoteSeq) return false
  dialog.remoteSeq = number
  return true
}

interface Routing {
  uri: ByteString
  route: readonly ByteString[]
  /** The URI whose host gets the bytes. */
  nextHop: ByteString
}

/** Request-URI and Route of a request inside a dialog, with loose and strict routers (RFC 3261 §12.2.1.1). */
export function routingOf(remoteTarget: ByteString, routeSet: readonly ByteString[]): Routing {
  const first = routeSet.length === 0 ? null : parseNameAddr(routeSet[0]!)
  if (first === null) return { uri: remoteTarget, route: [], nextHop: remoteTarget }
  if (isLoose(first)) return { uri: remoteTarget, route: routeSet, nextHop: first.uri }
  const bare = first.uri.split('?')[0]!
  return { uri: bare, route: [...routeSet.slice(1), `<${remoteTarget}>`], nextHop: first.uri }
}

function isLoose(route: NameAddr): boolean {
  const uri = parseUri(route.uri)
  return !('error' in uri) && uriParam(uri, 'lr') !== null
}

/** Hosts in a Contact that cannot be reached. */
const NOWHERE: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** Where its last message came from. */
const lastPeer = ({ peer }: Dialog): Peer => ({ ...peer, isTransportOpen: false })

/** Whether requests may go there: those of a secure dialog only over TLS. */
const mayGoBack = ({ isSecure, peer }: Dialog): boolean => !isSecure || peer.transport === 'tls'

/** Where requests go if the Contact's name cannot be resolved, as with many a PBX. */
export const otherwiseTo = (dialog: Dialog): Peer | undefined => (mayGoBack(dialog) ? lastPeer(dialog) : undefined)

/** Where a dialog's next request goes: its next hop, over the connection that is open already when there is one. */
export function destinationOfDialog(dialog: Dialog, nextHop: ByteString): Destination {
  const to = destinationOfUri(nextHop)
  // Back the way of the INVITE, since a NAT has opened only that transport.
  if (to === null || dialog.behindNat || isWebSocket(dialog.peer) || NOWHERE.has(to.host)) return lastPeer(dialog)
  // The call was not secure so far, and a far end that does not listen on TLS would get no ACK and no BYE.
  if (to.secure === true && dialog.peer.transport !== 'tls' && !dialog.isSecure) return lastPeer(dialog)
  const { transport, connectionId, local, publicOnly, name } = dialog.peer
  const isSame = (to.transport ?? 'udp') === transport
  return {
    ...to,
    ...(local === undefined ? {} : { local }),
    ...(publicOnly === undefined ? {} : { publicOnly }),
    ...(isSame && connectionId !== undefined ? { connectionId } : {}),
    // Most Contacts are addresses, of hosts with the certificate of the name that was called.
    ...(isSame && name !== undefined ? { name } : {}),
  }
}

/** A dialog of our call before it is answered: its reliable provisional responses are acknowledged in order (RFC 3262 §4). */
export interface EarlyDialog {
  readonly dialog: Dialog
  /** RSeq of the last acknowledged one; null: none was reliable. */
  rseq: number | null
  /** The description in a reliable response: the far end's answer, after which a 2xx adds nothing; or its offer. */
  description: Body | null
  /** The last description in a response that was not reliable: it stands for that of a 2xx that brings none. */
  preview: Body | null
  /** An UPDATE of the far end has changed the session (RFC 3311). */
  isUpdated: boolean
}
