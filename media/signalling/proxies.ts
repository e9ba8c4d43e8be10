import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Destination, Peer } from '../../sip/agent-types.ts'
import { destinationOfUri, peerOfAddress } from '../../sip/destination.ts'
import { parseNameAddr } from '../../sip/message/headers.ts'

/** Names the address that a request came to the proxy from; the proxy takes away whatever others have written there. */
const ORIGIN = /^x-forwarded-for[ \t]*:[ \t]*([^\r\n]*)/im
/** Limits for one registration, and for one value [characters]. */
const MAX_PATH = 5
const MAX_VALUE = 500

/**
 * Trusted SIP proxies in front of us. They tell who calls through them, and the way to phones that registered through them. Only
 * those that the operator has named are trusted. Pure.
 */
export class Proxies {
  readonly #networks: ReturnType<typeof ipaddr.parseCIDR>[]

  /** @param networks CIDR blocks */
  constructor(networks: readonly string[]) {
    this.#networks = networks.map(block => ipaddr.parseCIDR(block))
  }

  has(host: string): boolean {
    if (this.#networks.length === 0 || isIP(host) === 0) return false
    const address = ipaddr.process(host)
    return this.#networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }

  /** The client behind a proxy's request; null: the proxy does not name it, and counts as the sender. */
  originOf(bytes: Uint8Array): string | null {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    const head = text.slice(0, Math.max(0, text.search(/\r?\n\r?\n/)))
    const named =
      ORIGIN.exec(head)?.[1]
        ?.trim()
        .replace(/^\[|\]$/g, '') ?? ''
    return isIP(named) === 0 ? null : named
  }
}

/** The address of a request's sender, also behind a proxy. */
export const originOf = ({ host, proxy }: Pick<Peer, 'host' | 'proxy'>): string => proxy?.origin ?? host

/** The Path of a registration (RFC 3327) in the stored form, through a trusted proxy. Empty: none. */
export const keptPath = (peer: Peer, path: readonly string[]): string[] =>
  peer.proxy === undefined || path.length > MAX_PATH || path.some(value => value.length > MAX_VALUE) ? [] : [...path]

/** First hop of a request with this Route; null: none that can be reached. */
export function firstHop(route: readonly string[]): Destination | null {
  const first = parseNameAddr(route[0] ?? '')
  return first === null ? null : destinationOfUri(first.uri)
}

/** The same as an address, as it is kept of a registration. */
export function hopPeer(route: readonly string[]): Peer | null {
  const hop = firstHop(route)
  return hop === null ? null : peerOfAddress(hop)
}
