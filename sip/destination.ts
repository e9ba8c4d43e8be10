import type { Destination, Peer, Transport } from './agent-types.ts'
import type { ByteString } from './message/message.ts'
import { parseUri, uriParam } from './message/uri.ts'

/** Those that a URI may lead us to. */
const TRANSPORTS: ReadonlySet<string> = new Set(['udp', 'tcp', 'tls'])

/** Where a URI's requests go, as far as it says so itself (RFC 3263 §4); null when it is not a SIP URI. */
export function destinationOfUri(text: ByteString): Destination | null {
  const uri = parseUri(text)
  if ('error' in uri || (uri.scheme !== 'sip' && uri.scheme !== 'sips')) return null
  const named = uriParam(uri, 'transport')?.toLowerCase() ?? ''
  const plain = TRANSPORTS.has(named) ? (named as Transport) : null
  if (uri.scheme === 'sip') return { transport: plain, host: uri.host, port: uri.port }
  return { transport: 'tls', host: uri.host, port: uri.port, secure: true }
}

/** 5060, over TLS 5061 (RFC 3261 §19.1.2). */
export const defaultPort = (transport: Transport): number => (transport === 'tls' ? 5061 : 5060)

/** Whether a far end is reached over the WebSocket that it has opened and in no other way: its Contact names no host (RFC 7118 §5). */
export const isWebSocket = ({ transport }: Pick<Peer, 'transport'>): boolean =>
  transport === 'ws' || transport === 'wss'

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/

/** An IPv4 address in its usual form or an IPv6 one; all else in a URI's place of a host is a name. */
const isAddress = (host: string): boolean => host.includes(':') || IPV4.test(host)

/** Where an address leads without any look-up (RFC 3263 §4.1, §4.2); null: it is a name. */
export function peerOfAddress(to: Destination): Peer | null {
  if (!isAddress(to.host)) return null
  const transport = to.transport ?? (to.secure === true ? 'tls' : 'udp')
  return { ...peerMarks(to), transport, host: to.host, port: to.port ?? defaultPort(transport) }
}

type Marks = Pick<Peer, 'connectionId' | 'isTransportOpen' | 'local' | 'publicOnly'>

/** What is known of a far end besides its address, whatever that turns out to be. */
export function peerMarks({ transport, connectionId, local, publicOnly }: Destination): Marks {
  return {
    ...(transport === null ? { isTransportOpen: true } : {}),
    ...(connectionId === undefined ? {} : { connectionId }),
    ...(local === undefined ? {} : { local }),
    ...(publicOnly === undefined ? {} : { publicOnly }),
  }
}
