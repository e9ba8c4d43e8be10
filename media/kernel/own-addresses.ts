import { isIPv6, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { keptRoutes, type Route } from './routes.ts'

export type Family = 4 | 6

/** One address on which SIP and RTP listen. */
export interface OwnAddress {
  /** The address that RTP's sockets are bound to; `0.0.0.0` or `::`: every address of the family. */
  host: string
  /** The address that SIP's sockets are bound to. */
  listensOn: string
  family: Family
  /** The address in our messages and descriptions. */
  advertised: string
}

const ANY: Record<Family, string> = { 4: '0.0.0.0', 6: '::' }
/** "Any address" of a family. */
export const isAny = (host: string): boolean => host === ANY[4] || host === ANY[6]

const LOOPBACK: Record<Family, string> = { 4: '127.0.0.1', 6: '::1' }

export const familyOf = (host: string): Family => (isIPv6(host) ? 6 : 4)

/** A client, and the address of ours that it has reached: unknown behind a proxy, which may be in another network. */
export const reachedBy = (
  host: string,
  { remoteAddress, localAddress }: Pick<Socket, 'remoteAddress' | 'localAddress'>,
): { host: string; local?: string } =>
  localAddress === undefined || host !== remoteAddress ? { host } : { host, local: localAddress }

/** A node's addresses for SIP and RTP, of one family or both (RFC 6157: each far end is met in its own). */
export class OwnAddresses {
  /** As they are listened on. */
  readonly all: readonly OwnAddress[]
  /** Addresses behind "any address", by the address that far ends are told. */
  readonly #named = new Map<string, OwnAddress>()
  readonly #publicIps: readonly string[]
  readonly #route: Route

  /**
   * @param hosts to listen on; `::` is every address of both families
   * @param publicIps what far ends reach us at instead, at most one of each family
   * @param interfaces the addresses of this machine
   * @param route from which of them the system sends to a host
   */
  constructor(
    hosts: readonly string[],
    publicIps: readonly string[],
    interfaces = networkInterfaces(),
    route = keptRoutes(() => performance.now()),
  ) {
    this.#publicIps = publicIps
    this.#route = route
    const machine = Object.values(interfaces).flatMap(list => list ?? [])
    const firstOf = (family: Family): string =>
      machine.find(({ address, internal }) => familyOf(address) === family && !internal && !isLinkLocal(address))
        ?.address ?? LOOPBACK[family]
    const wanted = [...new Set(hosts.flatMap(host => (host === ANY[6] ? [ANY[4], ANY[6]] : [host])))]
    this.all = wanted.map(host => {
      const family = familyOf(host)
      const advertised = this.#publicOf(family) ?? (host === ANY[family] ? firstOf(family) : host)
      return { host, listensOn: host, family, advertised }
    })
  }

  /** The first address of a family; null: none. */
  of(family: Family): OwnAddress | null {
    return this.all.find(own => own.family === family) ?? null
  }

  /** Our address for a far end: the one that it reached, if known, otherwise the one from which the system sends to it. */
  for({ host, local }: { host: string; local?: string }): OwnAddress | null {
    const ours = this.all.filter(own => own.family === familyOf(host))
    const [first = null] = ours
    if (first === null || (ours.length === 1 && !this.#isOpen(first))) return first
    const address = local === undefined || isAny(local) ? this.#route(host) : local
    const same = ours.find(own => own.host === address)
    if (same !== undefined || address === null) return same ?? first
    return this.#isOpen(first) && isNameable(address, first) ? this.#nameOf(first, address) : first
  }

  /** Whether it stands for every address of a family, each under its own name. */
  #isOpen({ host, family }: OwnAddress): boolean {
    return isAny(host) && this.#publicOf(family) === null
  }

  #publicOf(family: Family): string | null {
    return this.#publicIps.find(address => familyOf(address) === family) ?? null
  }

  /** Always the same object for one address. */
  #nameOf(any: OwnAddress, address: string): OwnAddress {
    const known = this.#named.get(address)
    if (known !== undefined) return known
    const own = { ...any, host: address, advertised: address }
    this.#named.set(address, own)
    return own
  }

  /** The default address, not for a particular far end. */
  get main(): OwnAddress {
    return this.all[0]!
  }
}

const isLinkLocal = (address: string): boolean => /^fe[89ab]/i.test(address) || address.startsWith('169.254.')

const isLoopback = (address: string): boolean => address === LOOPBACK[6] || address.startsWith('127.')

/**
 * Whether far ends can be told this address: not a loopback one, since who calls from this machine may speak for somebody elsewhere; nor a
 * link-local one, which means nothing without its link.
 */
const isNameable = (address: string, { family, advertised }: OwnAddress): boolean =>
  familyOf(address) === family && !isLinkLocal(address) && (!isLoopback(address) || isLoopback(advertised))
