import { FairShares } from '../../media/protocol.ts'

/** What wants to make an attempt. */
interface Claimant {
  organisation_id: string
  endpoint_id: string
  /** Since when the endpoint has been failing; null: it works, or was deleted. */
  failing_since: string | null
}

/** The place that an attempt occupies while it runs. */
export interface Place {
  organisation: string
  endpoint: string
  /** The organisation, if the endpoint is failing; null: the endpoint works. */
  failingOf: string | null
}

/** Maximum number of attempts at a time to a failing endpoint: enough to see when it works again. */
const PER_FAILING_ENDPOINT = 1
/** Share of the free places that an organisation's failing endpoints may hold together. */
const FAILING_SHARE = 1 / 4

/**
 * Shares out the places for attempts in this process. Endpoints that hang take none from other organisations, and from other endpoints of
 * their own organisation only until they are known to fail.
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

  /** Whether the organisation may have one more attempt at all. */
  hasRoom({ organisation_id }: Pick<Claimant, 'organisation_id'>): boolean {
    return this.#organisations.mayTake(organisation_id)
  }

  mayTake(claimant: Claimant): boolean {
    const { endpoint_id, organisation_id, failing_since } = claimant
    const running = this.#endpoints.get(endpoint_id) ?? 0
    if (!this.hasRoom(claimant) || running >= this.#perEndpoint) return false
    if (failing_since === null) return true
    // At least two, so that one may wait for its response while another endpoint recovers.
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
