import { FairShares } from '../../media/protocol.ts'

/** The owner of the attempt. */
export interface Claimant {
  organisation_id: string
  endpoint_id: string
  /** Its last attempt failed; null: there is no such endpoint any more. */
  failing_since: string | null
}

/** What an attempt holds while it runs. */
export interface Place {
  organisation: string
  endpoint: string
  /** The owner whose failing endpoints include it; null: the endpoint works. */
  failingOf: string | null
}

/** Attempts at once to an endpoint whose last one failed: enough to see that it is back. */
const PER_FAILING_ENDPOINT = 1
/** Share of the free places that an organisation's failing endpoints may hold together. */
const FAILING_SHARE = 1 / 4

/**
 * The places of the attempts that run in this process. Endpoints that hang take them from no other organisation, and from the other
 * endpoints of their own only until they are known to fail.
 */
export class DeliveryShares {
  readonly #organisations: FairShares
  readonly #perEndpoint: number
  readonly #endpoints = new Map<string, number>()
  readonly #failing = new Map<string, number>()

  constructor(places: number, perEndpoint: number) {
    this.#organisations = new FairShares(places)
    this.#perEndpoint = perEndpoint
  }

  get free(): number {
    return this.#organisations.free
  }

  /** Whether its organisation may have one more at all. */
  hasRoom({ organisation_id }: Pick<Claimant, 'organisation_id'>): boolean {
    return this.#organisations.mayTake(organisation_id)
  }

  mayTake(claimant: Claimant): boolean {
    const { endpoint_id, organisation_id, failing_since } = claimant
    const running = this.#endpoints.get(endpoint_id) ?? 0
    if (!this.hasRoom(claimant) || running >= this.#perEndpoint) return false
    if (failing_since === null) return true
    // Two at least of a small number of places: one may wait for its answer while another comes back.
    const room = Math.max(2, this.free * FAILING_SHARE)
    return running < PER_FAILING_ENDPOINT && (this.#failing.get(organisation_id) ?? 0) < room
  }

  take({ organisation_id, endpoint_id, failing_since }: Claimant): Place {
    const failingOf = failing_since === null ? null : organisation_id
    this.#organisations.take(organisation_id)
    add(this.#endpoints, endpoint_id, 1)
    if (failingOf !== null) add(this.#failing, failingOf, 1)
    return { organisation: organisation_id, endpoint: endpoint_id, failingOf }
  }

  giveBack({ organisation, endpoint, failingOf }: Place): void {
    this.#organisations.giveBack(organisation)
    add(this.#endpoints, endpoint, -1)
    if (failingOf !== null) add(this.#failing, failingOf, -1)
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
