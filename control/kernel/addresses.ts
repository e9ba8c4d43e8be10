import { networkInterfaces } from 'node:os'

/** Address of the call WebSocket. */
export const DEFAULT_WS_PORT = 8081
const DEFAULT_SIP_PORT = 5060

/** An address that others can reach, for one that we listen on: the address itself, or for "any" one of this machine's. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? (ownAddress() ?? '127.0.0.1') : host
}

/** A host as it stands in a URL, and before a port. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

interface PublicAddresses {
  /** The address that browsers use, as configured by the operator; null: our own. */
  publicUrl?: string | null
  /** At most one of each family. */
  publicIps: readonly string[]
  httpHost: string
  httpPort: number
  /** The addresses SIP listens on, the preferred one first. */
  sipHosts: readonly string[]
  /** Absent: the default port. */
  wsPort?: number
}

/** Where browsers find pages and the API, without a trailing slash. */
export const publicUrlOf = (config: Pick<PublicAddresses, 'publicUrl' | 'httpHost' | 'httpPort'>): string =>
  config.publicUrl ?? `http://${urlHost(reachableHost(config.httpHost))}:${config.httpPort}`

/** Where browsers find the call WebSocket: the media process's own port, or the proxy in front of it. No trailing slash. */
export const wsUrlOf = (config: Pick<PublicAddresses, 'publicUrl' | 'publicIps' | 'sipHosts' | 'wsPort'>): string =>
  config.publicUrl?.replace(/^http/, 'ws') ?? `ws://${sipHostOf(config)}:${config.wsPort ?? DEFAULT_WS_PORT}`

/** Our SIP host in the form for a URI. */
export const sipHostOf = ({ publicIps, sipHosts }: Pick<PublicAddresses, 'publicIps' | 'sipHosts'>): string =>
  urlHost(publicIps[0] ?? reachableHost(sipHosts[0]!))

/** Where phones find us, `host:port`. */
export const sipAddressOf = (config: Pick<PublicAddresses, 'publicIps' | 'sipHosts'> & { sipPort?: number }): string =>
  `${sipHostOf(config)}:${config.sipPort ?? DEFAULT_SIP_PORT}`

type NodeConfig = {
  nodeUrl: string | null
  sipHosts: readonly string[]
  sipPort: number
  wsPort: number
  drachtio: object | null
}

/** Where the other nodes find a node's API, its call WebSocket and, unless drachtio has it, its SIP; null: nowhere. */
export function nodeAddresses({ nodeUrl: url, sipHosts, sipPort, wsPort, drachtio }: NodeConfig) {
  if (url === null) return { url, sip: null, ws: null }
  const host = sipHosts[0]!
  const own = reachableHost(host) === host ? urlHost(host) : new URL(url).hostname
  return { url, sip: drachtio === null ? `${own}:${sipPort}` : null, ws: `${own}:${wsPort}` }
}

const ownAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .find(address => address.family === 'IPv4' && !address.internal)?.address
