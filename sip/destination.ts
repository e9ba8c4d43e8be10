import type { Destination, Peer, Transport } from './agent-types.ts'
import type { ByteString } from './message/message.ts'
import { parseUri, type SipUri, uriParam } from './message/uri.ts'

/** The transports that a URI may select. */
const TRANSPORTS: ReadonlySet<string> = new Set(['udp', 'tcp', 'tls'])

/** The destination that a URI itself specifies (RFC 3263 §4); null if it is not a SIP URI. */
export function destinationOfUri(text: ByteString): Destination | null {
  const uri = parseUri(text)
  if ('error' in uri || (uri.scheme !== 'sip' && uri.scheme !== 'sips')) return null
  const { host } = maddrOf(uri) ?? uri
  const named = uriParam(uri, 'transport')?.toLowerCase() ?? ''
  const plain = TRANSPORTS.has(named) ? (named as Transport) : null
  if (uri.scheme === 'sip') return { transport: plain, host, port: uri.port }
  return { transport: 'tls', host, port: uri.port, secure: true }
}

/** The `maddr` of a URI: the host to send to in place of its own (RFC 3261 §19.1.1); null: none. */
function maddrOf(uri: SipUri): SipUri | null {
  const named = uriParam(uri, 'maddr')
  const maddr = named === null ? null : parseUri(`sip:${named}`)
  return maddr !== null && 'host' in maddr ? maddr : null
}

/** 5060, over TLS 5061 (RFC 3261 §19.1.2). */
export const defaultPort = (transport: Transport): number => (transport === 'tls' ? 5061 : 5060)

/** Whether a far end is only reachable over the WebSocket that it has opened: its Contact names no host (RFC 7118 §5). */
export const isWebSocket = ({ transport }: Pick<Peer, 'transport'>): boolean =>
  transport === 'ws' || transport === 'wss'

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/

/** An IPv4 address in its usual form or an IPv6 one; any other host of a URI is a name. */
const isAddress = (host: string): boolean => host.includes(':') || IPV4.test(host)

/** The destination of an address, without a lookup (RFC 3263 §4.1, §4.2); null: it is a name. */
export function peerOfAddress(to: Destination): Peer | null {
  if (!isAddress(to.host)) return null
  const transport = to.transport ?? (to.secure === true ? 'tls' : 'udp')
  const known = to.name === undefined ? {} : { name: to.name }
  return { ...peerMarks(to), ...known, transport, host: to.host, port: to.port ?? defaultPort(transport) }
}

type Marks = Pick<Peer, 'connectionId' | 'isTransportOpen' | 'local' | 'publicOnly'>

/** State of a far end besides its address. */
export function peerMarks({ transport, isTransportOpen, connectionId, local, publicOnly }: Destination): Marks {
  return {
    ...(transport === null || isTransportOpen === true ? { isTransportOpen: true } : {}),
    ...(connectionId === undefined ? {} : { connectionId }),
    ...(local === undefined ? {} : { local }),
    ...(publicOnly === undefined ? {} : { publicOnly }),
  }
}
