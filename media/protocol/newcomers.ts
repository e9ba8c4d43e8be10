import { clientNetwork, isInNetworks } from './addresses.ts'

/** The part of a socket that is needed here. */
interface Connection {
  readonly remoteAddress?: string | undefined
  once(event: 'close', listener: () => void): unknown
}

/** Connections that have not shown who they are: so many of one client's network, that nobody takes all there are. Proxies bring many. */
export class Newcomers {
  /** Closed as one too many. */
  refused = 0
  readonly #max: number
  readonly #proxies: readonly string[]
  readonly #perNetwork = new Map<string, number>()
  readonly #networks = new WeakMap<Connection, string>()

  /** @param proxies who brings the connections of others (CIDR) */
  constructor(max: number, proxies: readonly string[]) {
    this.#max = max
    this.#proxies = proxies
  }

  /** A connection was accepted; false: it is one too many, and to be closed. */
  enter(connection: Connection): boolean {
    const address = connection.remoteAddress ?? ''
    if (isInNetworks(address, this.#proxies)) return true
    const network = clientNetwork(address)
    const open = this.#perNetwork.get(network) ?? 0
    if (open >= this.#max) {
      this.refused++
      return false
    }
    this.#perNetwork.set(network, open + 1)
    this.#networks.set(connection, network)
    connection.once('close', () => this.known(connection))
    return true
  }

  /** It has shown who it is, or is gone. Idempotent. */
  known(connection: Connection): void {
    const network = this.#networks.get(connection)
    if (network === undefined) return
    this.#networks.delete(connection)
    const left = (this.#perNetwork.get(network) ?? 1) - 1
    if (left === 0) this.#perNetwork.delete(network)
    else this.#perNetwork.set(network, left)
  }
}
