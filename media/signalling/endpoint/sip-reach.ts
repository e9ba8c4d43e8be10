import { isIP } from 'node:net'
import type { Peer } from '../../../sip/agent-types.ts'
import { type AddressPolicy, isAllowedAddress, isPublicAddress } from '../../protocol.ts'

/**
 * Where SIP may be sent. Hosts stand in what others write: in a destination, a connection, a Contact, a Record-Route. One who is
 * outside, or holds no more than an API key, must not have us talk to the machines beside us.
 */
export class SipReach {
  readonly #public: AddressPolicy

  /** @param allowed the private networks that an operator lets through (CIDR) */
  constructor(allowed: string[]) {
    this.#public = { publicOnly: true, allowed }
  }

  /** Who calls from a public address leads us to public addresses only; those of our own network may name each other. */
  from(source: Peer): Peer {
    return isPublicAddress(source.host) ? { publicOnly: true, ...source } : source
  }

  /** Whether an address may be sent to; a name is judged by each address that it leads to. */
  allows({ publicOnly = false, host }: Pick<Peer, 'publicOnly' | 'host'>): boolean {
    return !publicOnly || isIP(host) === 0 || isAllowedAddress(host, this.#public)
  }
}
