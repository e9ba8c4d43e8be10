import { setMaxListeners } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { customerAddresses } from '../http/url-policy.ts'
import type { Claim, NewDelivery, Sender } from '../kernel/store/after-commit.ts'
import { rowBy } from '../kernel/store/compiled.ts'
import { StoreOutage } from '../kernel/store/outage.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Vault } from '../kernel/vault.ts'
import { deliveryRequest } from './attempt.ts'
import { type ClaimedDelivery, claimDue, dueAgain, forgetClosed, leaseFrom, settle } from './claims.ts'
import { abandonPending, MOST_ABANDONED } from './endpoint-state.ts'
import { type Post, type PostOutcome, TIMEOUT_MS } from './http-post.ts'
import { OpenedKeys } from './opened-keys.ts'
import { Outcomes } from './outcomes.ts'
import { DeliveryShares, type Place } from './shares.ts'
import type { WebhookDeliveryRow } from './tables.ts'

export interface DispatcherParts {
  store: Store
  vault: Vault
  post: Post
  /** CIDR blocks of private networks that live deliveries may reach. */
  allowedNetworks: string[]
  now: () => Date
  /** 0 to 1. */
  random: () => number
  log: Logger
  bounds?: Partial<DispatcherBounds>
}

export interface DispatcherBounds {
  /** Maximum number of attempts at a time in this process, shared among the organisations, and for one endpoint. */
  atOnce: number
  perEndpoint: number
  timeoutMs: number
  /** Longer than an attempt can take. After it, the deliveries of a killed process are due again. */
  leaseMs: number
  /** Interval of looking for due work [ms]. */
  pollMs: number
  /** How long closed deliveries are kept. */
  keepMs: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const DEFAULTS: DispatcherBounds = {
  atOnce: 64,
  perEndpoint: 8,
  timeoutMs: TIMEOUT_MS,
  leaseMs: TIMEOUT_MS + 10_000,
  pollMs: 200,
  keepMs: 30 * DAY_MS,
}
const SWEEP_EVERY_MS = 60_000
const SWEEP_ROWS = 1000
/** How long running attempts may take to finish when the process stops. */
const CLOSE_WAIT_MS = 2000

/** A delivery without any attempt. */
const UNTRIED = { last_attempt_at: null, response_status: null, response_body: null, duration_ms: null, error: null }

/**
 * Delivers webhooks from the outbox. Any number of control processes may run one each on the same database. A delivery for which there is
 * room is claimed in the transaction that writes it, unless others wait for the same place; the rest is found by polling.
 */
export class WebhookDispatcher implements Sender {
  readonly counters = { succeeded: 0, failed: 0, retried: 0, superseded: 0, broken: 0, forgotten: 0 }
  readonly #parts: DispatcherParts
  readonly #bounds: DispatcherBounds
  readonly #running = new Set<Promise<void>>()
  readonly #shares: DeliveryShares
  readonly #keys: OpenedKeys
  readonly #outcomes: Outcomes
  readonly #abort = new AbortController()
  readonly #outage: StoreOutage
  #timer: NodeJS.Timeout | null = null
  #looking: Promise<void> | null = null
  /** An attempt has ended while we looked, so there may be room for more. */
  #lookAgain = false
  /** When `looksBehind` was last set. Long ago as long as something is found there [ms]. */
  #lookedBehindAt = Number.NEGATIVE_INFINITY
  #sweptAt = 0
  #closed = false
  /** Organisations and endpoints for which deliveries wait in the database; null: not known yet. */
  #waiting: ReadonlySet<string> | null = null
  /** Endpoints for which deliveries were written unclaimed since the last look began. */
  #unclaimed = new Set<string>()
  /** The places of claimed deliveries whose transaction is not committed yet. */
  readonly #claimed = new Map<string, Place>()
  /** Claimed and committed deliveries whose attempt has not begun. Bounded by the number of places. */
  readonly #begun: ClaimedDelivery[] = []
  #beginning: Promise<void> | null = null

  /** At most `bounds.atOnce` deliveries are held; all others wait in the database. */
  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#bounds = { ...DEFAULTS, ...parts.bounds }
    this.#shares = new DeliveryShares(this.#bounds.atOnce, this.#bounds.perEndpoint)
    this.#keys = new OpenedKeys(parts.vault)
    this.#outcomes = new Outcomes(parts.store)
    this.#outage = new StoreOutage(parts.log)
    // Each attempt adds a listener. Attempts are bounded, but Node warns of a leak at more than ten.
    setMaxListeners(0, this.#abort.signal)
  }

  start(): void {
    this.#parts.store.outbox.sender = this
    this.#looking = this.#look()
  }

  claim(delivery: NewDelivery): Claim | null {
    const { organisation_id, endpoint_id } = delivery
    const claimant = { organisation_id, endpoint_id, failing_since: null }
    if (this.#isWaitedFor(delivery) || !this.#shares.mayTake(claimant)) {
      this.#unclaimed.add(endpoint_id)
      return null
    }
    this.#claimed.set(delivery.id, this.#shares.take(claimant))
    return leaseFrom(this.#parts.now(), this.#bounds.leaseMs)
  }

  /** Whether earlier deliveries wait for the same organisation or endpoint, and so come first. */
  #isWaitedFor({ organisation_id, endpoint_id }: NewDelivery): boolean {
    const waiting = this.#waiting
    return (
      waiting === null || waiting.has(organisation_id) || waiting.has(endpoint_id) || this.#unclaimed.has(endpoint_id)
    )
  }

  begin(delivery: NewDelivery, claim: Claim): void {
    this.#beginInTurn({ delivery: Object.assign({}, UNTRIED, delivery, claim), place: this.#placeOf(delivery) })
  }

  #beginInTurn(claimed: ClaimedDelivery): void {
    this.#begun.push(claimed)
    this.#beginning ??= this.#beginAll()
  }

  /** Begins the attempts one by one, and lets other events of this process run before each, so that no call waits for webhooks. */
  async #beginAll(): Promise<void> {
    while (this.#begun.length > 0) {
      await nextTurn()
      for (const each of this.#begun.splice(0, 1)) this.#begin(each)
    }
    this.#beginning = null
  }

  giveUp(delivery: NewDelivery): void {
    this.#shares.giveBack(this.#placeOf(delivery))
    this.#ended()
  }

  #placeOf({ id }: NewDelivery): Place {
    const place = this.#claimed.get(id)!
    this.#claimed.delete(id)
    return place
  }

  get running(): number {
    return this.#running.size
  }

  /** Delivers everything that is due now, and resolves when the last attempt is stored. Returns how many were made. */
  async deliverDue(): Promise<number> {
    let made = 0
    for (;;) {
      // An attempt that ends while this looks makes room for what waited for its place.
      const wereRunning = this.#running.size > 0
      const claimed = await this.#claim(true)
      await this.#beginning
      made += claimed
      if (claimed > 0) continue
      if (this.#running.size > 0) await Promise.race(this.#running)
      else if (!wereRunning) return made
    }
  }

  /** Stops. Attempts that do not end soon are aborted, and their deliveries stay due. */
  async close(): Promise<void> {
    this.#closed = true
    const { outbox } = this.#parts.store
    if (outbox.sender === this) outbox.sender = null
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#looking
    for (const each of this.#begun.splice(0)) this.#begin(each)
    const giveUp = setTimeout(() => this.#abort.abort(), CLOSE_WAIT_MS)
    await Promise.all(this.#running)
    clearTimeout(giveUp)
  }

  async #look(): Promise<void> {
    try {
      do {
        this.#lookAgain = false
        while (!this.#closed && (await this.#claim()) > 0);
      } while (this.#lookAgain && !this.#closed)
      await this.#sweep()
      this.#outage.over()
    } catch (error) {
      this.counters.broken += 1
      this.#waiting = null
      if (!this.#outage.note(error)) this.#parts.log.error({ err: error }, 'webhook outbox cannot be read')
    }
    this.#looking = null
    if (!this.#closed) this.#lookIn(this.#lookAgain ? 0 : this.#bounds.pollMs)
  }

  #lookIn(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#looking = this.#look()
    }, ms)
  }

  /** An attempt has ended: what waits for its place is looked for now, not at the next poll. */
  #ended(): void {
    if (this.#waiting?.size === 0 && this.#unclaimed.size === 0) return
    if (this.#looking !== null) this.#lookAgain = true
    else if (this.#timer !== null) this.#lookIn(0)
  }

  /**
   * Begins due attempts within the limits. `looksBehind` by default is true once in `pollMs`, and each time as long as something is found
   * there. Returns how many began.
   */
  async #claim(looksBehind = performance.now() - this.#lookedBehindAt >= this.#bounds.pollMs): Promise<number> {
    const { store, now } = this.#parts
    const { leaseMs } = this.#bounds
    if (looksBehind) this.#lookedBehindAt = performance.now()
    this.#unclaimed = new Set()
    const { deliveries, wereBehind, waiting } = await claimDue(store.db, {
      now: now(),
      leaseMs,
      shares: this.#shares,
      looksBehind,
    })
    this.#waiting = waiting
    if (wereBehind) this.#lookedBehindAt = Number.NEGATIVE_INFINITY
    for (const each of deliveries) this.#beginInTurn(each)
    return deliveries.length
  }

  #begin({ delivery, place }: ClaimedDelivery): void {
    const running = this.#attempt(delivery)
      .catch(error => {
        // The lease expires, and the delivery is due again.
        this.counters.broken += 1
        this.#parts.log.error({ err: error, deliveryId: delivery.id }, 'webhook attempt broke')
      })
      .then(() => {
        this.#running.delete(running)
        this.#shares.giveBack(place)
        this.#ended()
      })
    this.#running.add(running)
  }

  async #attempt(delivery: WebhookDeliveryRow): Promise<void> {
    const { store, now, random, log } = this.#parts
    const rows = await loadRows(store, delivery)
    if (rows === null || rows.endpoint.status !== 'enabled') return this.#abandon(delivery)
    const startedAt = now()
    const began = performance.now()
    const outcome = await this.#send(rows, startedAt)
    if ('error' in outcome && outcome.error === 'aborted') {
      await settle(store.db, delivery, {})
      return
    }
    const durationMs = performance.now() - began
    const { endpoint } = rows
    const times = { startedAt, endedAt: now(), durationMs }
    const status = await this.#outcomes.record({ delivery, endpoint, outcome, ...times, random: random() })
    this.#count(status)
    if (status === 'failed') {
      log.warn({ deliveryId: delivery.id, endpointId: endpoint.id, eventId: delivery.event_id }, 'webhook given up')
    }
  }

  #send(rows: Rows, now: Date): Promise<PostOutcome> {
    const { post, allowedNetworks } = this.#parts
    return post(deliveryRequest(rows.endpoint, rows.event, { vault: this.#keys, now }), {
      addresses: customerAddresses(allowedNetworks),
      timeoutMs: this.#bounds.timeoutMs,
      signal: this.#abort.signal,
      // By the event's ID a receiver recognises a repetition.
      isRepeatable: true,
    })
  }

  async #abandon(delivery: WebhookDeliveryRow): Promise<void> {
    const { store, now } = this.#parts
    const closed = { status: 'failed' as const, error: 'endpoint_disabled', next_attempt_at: null }
    await settle(store.db, delivery, { ...closed, updated: now().toISOString() })
  }

  #count(status: string): void {
    if (status === 'succeeded') this.counters.succeeded += 1
    else if (status === 'failed') this.counters.failed += 1
    else if (status === 'pending') this.counters.retried += 1
    else this.counters.superseded += 1
  }

  /** Deletes a bounded number of old rows, and fails as many of disabled endpoints, from time to time. */
  async #sweep(): Promise<void> {
    const { store, now } = this.#parts
    const at = now().getTime()
    // Absolute, so that it also runs after the clock was set back.
    if (Math.abs(at - this.#sweptAt) < SWEEP_EVERY_MS) return
    await dueAgain(store.db, now())
    const abandoned = await abandonPending(store.db, now().toISOString())
    const forgotten = await forgetClosed(store.db, new Date(at - this.#bounds.keepMs), SWEEP_ROWS)
    this.counters.forgotten += forgotten
    // A full batch means that there is more, which the next look has.
    if (forgotten < SWEEP_ROWS && abandoned < MOST_ABANDONED) this.#sweptAt = at
  }
}

type Rows = NonNullable<Awaited<ReturnType<typeof loadRows>>>

async function loadRows({ db }: Store, delivery: WebhookDeliveryRow) {
  const endpoint = await rowBy(db, 'webhook_endpoints', { id: delivery.endpoint_id })
  const event = await rowBy(db, 'events', { id: delivery.event_id })
  return endpoint === undefined || event === undefined ? null : { endpoint, event }
}
