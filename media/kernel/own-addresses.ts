import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

export type Family = 4 | 6

/** One address on which SIP and RTP listen. */
export interface OwnAddress {
  /** The address that sockets are bound to; `0.0.0.0` or `::`: every address of the family. */
  host: string
  family: Family
  /** The address in our messages and descriptions. */
  advertised: string
}

const ANY: Record<Family, string> = { 4: '0.0.0.0', 6: '::' }
/** "Any address" of a family. */
export const isAny = (host: string): boolean => host === ANY[4] || host === ANY[6]

const LOOPBACK: Record<Family, string> = { 4: '127.0.0.1', 6: '::1' }

export const familyOf = (host: string): Family => (isIPv6(host) ? 6 : 4)

/** A node's addresses for SIP and RTP, of one family or both (RFC 6157: each far end is met in its own). */
export class OwnAddresses {
  readonly all: readonly OwnAddress[]

  /**
   * @param hosts to listen on; `::` is every address of both families
   * @param publicIps what far ends reach us at instead, at most one of each family
   * @param interfaces the addresses of this machine
   */
  constructor(hosts: readonly string[], publicIps: readonly string[], interfaces = networkInterfaces()) {
    const machine = Object.values(interfaces).flatMap(list => list ?? [])
    const firstOf = (family: Family): string =>
      machine.find(({ address, internal }) => familyOf(address) === family && !internal && !isLinkLocal(address))
        ?.address ?? LOOPBACK[family]
    const wanted = [...new Set(hosts.flatMap(host => (host === ANY[6] ? [ANY[4], ANY[6]] : [host])))]
    this.all = wanted.map(host => {
      const family = familyOf(host)
      const named = publicIps.find(address => familyOf(address) === family)
      return { host, family, advertised: named ?? (host === ANY[family] ? firstOf(family) : host) }
    })
  }

  /** The first address of a family; null: none. */
  of(family: Family): OwnAddress | null {
    return this.all.find(own => own.family === family) ?? null
  }

  /** Our address for a far end: the one that it reached before, if known, otherwise the first of its family. */
  for({ host, local }: { host: string; local?: string }): OwnAddress | null {
    return this.in(familyOf(host), local)
  }

  /** The address of a family that a far end has reached before, else the first. */
  in(family: Family, local: string | undefined): OwnAddress | null {
    return this.all.find(own => own.host === local && own.family === family) ?? this.of(family)
  }

  /** The default address, not for a particular far end. */
  get main(): OwnAddress {
    return this.all[0]!
  }
}

const isLinkLocal = (address: string): boolean => /^fe[89ab]/i.test(address) || address.startsWith('169.254.')
