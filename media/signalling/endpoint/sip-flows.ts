import { LRUCache } from 'lru-cache'
import type { Binding, Peer } from '../../../sip/user-agent.ts'
import { atMost } from '../../protocol/at-most.ts'

/** Maximum number of bindings, and of connections and addresses, that are remembered. */
const MAX_KEPT = 20_000
/** More registrations over one connection are not those of a phone. */
const MAX_PER_CONNECTION = 50

/**
 * Over which connection each phone last registered (RFC 5626 §5.3). A phone behind a NAT, or a page, cannot be reached otherwise, and that
 * an open connection is dead shows only minutes later. Pure.
 */
export class SipFlows {
  /** By phone: the successor of a closed connection. */
  readonly #phones = new Newest()
  /** By flow of a phone (`reg-id`): what replaces an open connection. */
  readonly #ways = new Newest()
  /** By connection and Contact: the names of the phone and its flow. */
  readonly #contacts = new LRUCache<string, { phone: string; way: string }>(atMost(MAX_KEPT))

  /** Notes an accepted registration; `bindings`: those of its account. Returns where its phones came from before. */
  registered({ transport, host, port, connectionId, local, isTheirs }: Peer, bindings: readonly Binding[]): Peer[] {
    const from = { transport, host, port, ...(local === undefined ? {} : { local }) }
    // The same Contact is the same phone, wherever its NAT lets it come from (RFC 3261 §10.2).
    if (transport === 'udp') {
      const contacts = bindings.map(({ phone, uri }) => `${phone} ${uri}`)
      return this.#phones.note(from, contacts)
    }
    if (connectionId === undefined || isTheirs !== true) return []
    const flow = { ...from, connectionId, isTheirs }
    // Without a `reg-id` it may be another phone, whose connection nothing replaces.
    const named = bindings.map(({ phone, uri, regId = `over ${connectionId}` }) => ({
      phone,
      uri,
      way: `${phone} ${regId}`,
    }))
    for (const { uri, ...names } of named) this.#contacts.set(`${flowKey(flow)} ${uri}`, names)
    const ways = named.map(({ way }) => way)
    this.#ways.note(flow, ways)
    const phones = bindings.map(({ phone }) => phone)
    return this.#phones.note(flow, phones)
  }

  /** This Contact is registered no more: without others its connection is that of a stranger. */
  forget(flow: Peer, uri: string): void {
    const names = this.#contacts.get(`${flowKey(flow)} ${uri}`)
    if (names === undefined) return
    this.#contacts.delete(`${flowKey(flow)} ${uri}`)
    this.#ways.forget(flow, names.way)
    this.#phones.forget(flow, names.phone)
  }

  /** The successor of a closed connection, or of a former address of UDP. Null: none; or several, since several phones shared it; or one of another transport. */
  after(closed: Peer): Peer | null {
    return this.#phones.after(closed)
  }

  /** Whether phones have registered over this connection. */
  has(connection: Peer): boolean {
    return this.#phones.has(connection)
  }

  /** The replacement of an open connection: all its phones have registered over another one, with the same instance and `reg-id`. */
  inPlaceOf(open: Peer): Peer | null {
    return this.#ways.after(open)
  }
}

class Newest {
  readonly #newest = new LRUCache<string, Peer>(atMost(MAX_KEPT))
  /** What was registered over each connection. */
  readonly #names = new LRUCache<string, Set<string>>(atMost(MAX_KEPT))

  /** Notes names of a connection. Returns the connections that they came over before. */
  note(flow: Peer, names: readonly string[]): Peer[] {
    const own = new Set([...(this.#names.get(flowKey(flow)) ?? []), ...names])
    if (own.size > MAX_PER_CONNECTION) return []
    const before = names.flatMap(name => this.#newest.get(name) ?? [])
    for (const name of names) this.#newest.set(name, flow)
    this.#names.set(flowKey(flow), own)
    return before.filter(one => flowKey(one) !== flowKey(flow))
  }

  forget(flow: Peer, name: string): void {
    const newest = this.#newest.get(name)
    if (newest !== undefined && flowKey(newest) === flowKey(flow)) this.#newest.delete(name)
    this.#names.get(flowKey(flow))?.delete(name)
  }

  has(flow: Peer): boolean {
    return (this.#names.get(flowKey(flow))?.size ?? 0) > 0
  }

  after(former: Peer): Peer | null {
    const flows = [...(this.#names.get(flowKey(former)) ?? [])].map(name => this.#newest.get(name))
    const [first] = flows
    if (first === undefined || flowKey(first) === flowKey(former) || first.transport !== former.transport) return null
    return flows.every(flow => flow !== undefined && flowKey(flow) === flowKey(first)) ? first : null
  }
}

const flowKey = ({ transport, host, port, connectionId = `${host} ${port}` }: Peer): string =>
  `${transport} ${connectionId}`
