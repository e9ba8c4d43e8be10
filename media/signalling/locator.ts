import type { NaptrRecord, SrvRecord } from 'node:dns'
import type { Destination, Peer, Transport } from '../../sip/agent-types.ts'
import { defaultPort, peerMarks, peerOfAddress } from '../../sip/destination.ts'
import { type Family, familyOf } from '../kernel/own-addresses.ts'
import type { SipReach } from './endpoint/sip-reach.ts'
import type { NameService } from './names.ts'

/** Ways to one destination at most: each is tried in turn while a caller waits. */
const MAX_WAYS = 8

/** The meaning of a NAPTR service (RFC 3263 §4.1), and the name to query if a domain has no record. */
const SERVICES: readonly { naptr: string; srv: string; transport: Transport }[] = [
  { naptr: 'sips+d2t', srv: '_sips._tcp', transport: 'tls' },
  { naptr: 'sip+d2u', srv: '_sip._udp', transport: 'udp' },
  { naptr: 'sip+d2t', srv: '_sip._tcp', transport: 'tcp' },
]

interface LocatorOptions {
  names: NameService
  reach: Pick<SipReach, 'allows'>
  /** For our own addresses. */
  families: readonly Family[]
  /** From 0 up to 1. */
  random: () => number
}

interface Service {
  transport: Transport
  /** Name of its SRV records. */
  name: string
}

/** Finds out where a SIP destination leads: transports, hosts in their order and weight, addresses of our families (RFC 3263 §4). */
export class Locator {
  readonly #options: LocatorOptions

  constructor(options: LocatorOptions) {
    this.#options = options
  }

  /** The addresses in the order to try them; none: it leads nowhere that we may or can go to. Never rejects. */
  async locate(to: Destination): Promise<Peer[]> {
    const peer = peerOfAddress(to)
    if (peer !== null) return this.#options.families.includes(familyOf(peer.host)) ? [peer] : []
    const ways = to.port === null ? await this.#byServices(to) : null
    return (ways ?? (await this.#plain(to))).slice(0, MAX_WAYS)
  }

  /** No SRV records, or a port that was named: the name's own addresses. */
  #plain(to: Destination): Promise<Peer[]> {
    const transport = to.transport ?? (to.secure === true ? 'tls' : 'udp')
    return this.#at(to, transport, to.host, to.port ?? defaultPort(transport))
  }

  /** Null: the domain has no SRV records. */
  async #byServices(to: Destination): Promise<Peer[] | null> {
    const { names, random } = this.#options
    const services = await this.#servicesOf(to)
    const records = await Promise.all(services.map(({ name }) => names.srv(name)))
    if (records.every(({ length }) => length === 0)) return null
    const targets = records.flatMap((list, i) =>
      inOrder(list, random).map(({ name: host, port }) => ({ host, port, transport: services[i]!.transport })),
    )
    // A single dot says that there is no such service here (RFC 2782).
    const usable = targets.filter(({ host }) => host !== '' && host !== '.').slice(0, MAX_WAYS)
    const found = await Promise.all(usable.map(({ transport, host, port }) => this.#at(to, transport, host, port)))
    return found.flat()
  }

  async #servicesOf(to: Destination): Promise<Service[]> {
    const { names } = this.#options
    const wanted = SERVICES.filter(({ transport }) =>
      to.transport === null ? to.secure !== true || transport === 'tls' : transport === to.transport,
    )
    const byName = wanted.map(({ transport, srv }) => ({ transport, name: `${srv}.${to.host}` }))
    if (to.transport !== null) return byName
    const records = [...(await names.naptr(to.host))].sort((a, b) => a.order - b.order || a.preference - b.preference)
    const offered = records.flatMap(record => serviceOf(record, wanted) ?? [])
    // TLS is for those who ask for it: a domain that offers it by SRV alone may have it for its own users.
    return offered.length > 0 ? offered : byName.filter(({ transport }) => to.secure === true || transport !== 'tls')
  }

  async #at(to: Destination, transport: Transport, host: string, port: number): Promise<Peer[]> {
    const { names, reach, families } = this.#options
    const { publicOnly } = to
    const addresses = await names.addresses(host)
    return addresses
      .filter(address => families.includes(familyOf(address)))
      .filter(address => reach.allows(publicOnly === undefined ? { host: address } : { host: address, publicOnly }))
      .map(address => ({ ...peerMarks(to), transport, host: address, port, name: to.host }))
  }
}

function serviceOf({ service, replacement }: NaptrRecord, wanted: typeof SERVICES): Service | null {
  const known = wanted.find(({ naptr }) => naptr === service.toLowerCase())
  return known === undefined || replacement === '' ? null : { transport: known.transport, name: replacement }
}

/** By priority, and at random by weight among those of one priority (RFC 2782). */
function inOrder(records: readonly SrvRecord[], random: () => number): SrvRecord[] {
  const left = [...records].sort((a, b) => a.priority - b.priority || a.weight - b.weight)
  const ordered: SrvRecord[] = []
  while (left.length > 0) {
    const equals = left.filter(({ priority }) => priority === left[0]!.priority)
    const sum = equals.reduce((total, { weight }) => total + weight, 0)
    let rest = random() * sum
    const index = equals.findIndex(({ weight }) => {
      rest -= weight
      return rest < 0
    })
    ordered.push(...left.splice(Math.max(0, index), 1))
  }
  return ordered
}
