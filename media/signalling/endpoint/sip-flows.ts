import { LRUCache } from 'lru-cache'
import type { Peer } from '../../../sip/user-agent.ts'

/** Bindings, and connections, that are remembered at most. */
const MAX_KEPT = 20_000
/** Whoever registers more over one connection is no phone. */
const MAX_PER_CONNECTION = 50

/**
 * Over which connection each phone last registered. Where one is closed, its calls go on over the one that came after it (RFC 5626 §5.3):
 * a phone behind a NAT, or a page, cannot be reached in another way. Pure.
 */
export class SipFlows {
  readonly #newest = new LRUCache<string, Peer>({ max: MAX_KEPT })
  /** The bindings that were registered over each connection. */
  readonly #bindings = new LRUCache<string, Set<string>>({ max: MAX_KEPT })

  /** A registration was accepted; `bindings` name its phones, and are the same in their next registrations. */
  registered({ transport, host, port, connectionId, local, isTheirs }: Peer, bindings: readonly string[]): void {
    if (connectionId === undefined || isTheirs !== true) return
    const flow = { transport, host, port, connectionId, isTheirs, ...(local === undefined ? {} : { local }) }
    const own = new Set([...(this.#bindings.get(flowKey(flow)) ?? []), ...bindings])
    if (own.size > MAX_PER_CONNECTION) return
    for (const binding of bindings) this.#newest.set(binding, flow)
    this.#bindings.set(flowKey(flow), own)
  }

  /** The connection that came after a closed one. Null: none; or several, since several phones had shared it, or another transport. */
  after(closed: Peer): Peer | null {
    const flows = [...(this.#bindings.get(flowKey(closed)) ?? [])].map(binding => this.#newest.get(binding))
    const [first] = flows
    if (first === undefined || first.connectionId === closed.connectionId || first.transport !== closed.transport)
      return null
    return flows.every(flow => flow?.connectionId === first.connectionId) ? first : null
  }
}

const flowKey = ({ transport, connectionId }: Peer): string => `${transport} ${connectionId}`
