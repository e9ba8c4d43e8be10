import { LRUCache } from 'lru-cache'
import type { Binding, Peer } from '../../../sip/user-agent.ts'

/** Bindings, and connections, that are remembered at most. */
const MAX_KEPT = 20_000
/** Whoever registers more over one connection is no phone. */
const MAX_PER_CONNECTION = 50

/**
 * Over which connection each phone last registered (RFC 5626 §5.3): a phone behind a NAT, or a page, cannot be reached in another way, and
 * whether an open connection leads anywhere shows only minutes later. Pure.
 */
export class SipFlows {
  /** Of phones: what comes after a connection that is closed. */
  readonly #phones = new Newest()
  /** Of each of a phone's ways to us, as it numbers them itself: what takes the place of a connection that is open. */
  readonly #ways = new Newest()

  /** A registration was accepted; `bindings` are those of its account. The connections that its phones came over before. */
  registered({ transport, host, port, connectionId, local, isTheirs }: Peer, bindings: readonly Binding[]): Peer[] {
    if (connectionId === undefined || isTheirs !== true) return []
    const flow = { transport, host, port, connectionId, isTheirs, ...(local === undefined ? {} : { local }) }
    // Without a number it may be another phone, whose connection nothing replaces.
    const ways = bindings.map(({ phone, regId = `over ${connectionId}` }) => `${phone} ${regId}`)
    this.#ways.note(flow, ways)
    const phones = bindings.map(({ phone }) => phone)
    return this.#phones.note(flow, phones)
  }

  /** The connection that came after a closed one. Null: none; or several, since several phones had shared it, or another transport. */
  after(closed: Peer): Peer | null {
    return this.#phones.after(closed)
  }

  /** The same for one that is open: all its phones have come in its place over another, with the same instance and `reg-id`. */
  inPlaceOf(open: Peer): Peer | null {
    return this.#ways.after(open)
  }
}

class Newest {
  readonly #newest = new LRUCache<string, Peer>({ max: MAX_KEPT })
  /** What was registered over each connection. */
  readonly #names = new LRUCache<string, Set<string>>({ max: MAX_KEPT })

  /** The connections that these names came over before. */
  note(flow: Peer, names: readonly string[]): Peer[] {
    const own = new Set([...(this.#names.get(flowKey(flow)) ?? []), ...names])
    if (own.size > MAX_PER_CONNECTION) return []
    const before = names.flatMap(name => this.#newest.get(name) ?? [])
    for (const name of names) this.#newest.set(name, flow)
    this.#names.set(flowKey(flow), own)
    return before.filter(({ connectionId }) => connectionId !== flow.connectionId)
  }

  after(former: Peer): Peer | null {
    const flows = [...(this.#names.get(flowKey(former)) ?? [])].map(name => this.#newest.get(name))
    const [first] = flows
    if (first === undefined || first.connectionId === former.connectionId || first.transport !== former.transport)
      return null
    return flows.every(flow => flow?.connectionId === first.connectionId) ? first : null
  }
}

const flowKey = ({ transport, connectionId }: Peer): string => `${transport} ${connectionId}`
