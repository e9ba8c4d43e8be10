import type { Logger } from 'pino'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { isProblem } from './errors.ts'
import { type Attempt, type Entry, keepAnswer, type Replay } from './idempotency.ts'
import type { Scope } from './scopes.ts'

/** Who asks, and by which request. It is a `Tenant`: `forTenant(db, context)`. */
export interface Asking extends Tenant {
  organisationId: string
  livemode: boolean
  apiKeyId: string
  /** Null: all. */
  scopes: readonly Scope[] | null
  /** The version that renders the answer. */
  apiVersion: string
  requestId: string
  idempotencyKey: string | null
}

/** Who asks, and how what is answered is kept under the request's `Idempotency-Key`. */
export interface Context extends Asking {
  /** Made when it is first asked for: most requests have nothing to say. */
  readonly log: Logger
  /** An attempt under the same key was broken off: it has committed nothing, but what it asked of media may be done. */
  isResumed: boolean
  /** A transaction of the store whose result is the operation's answer, and is kept in it, unless it is a problem. */
  transaction<T>(run: (trx: Trx) => Promise<T>): Promise<T>
  /**
   * Keeps the operation's answer in the transaction of its effect: who retries after we died gets it in place of a second
   * effect. What is answered in the end takes its place.
   */
  keep(trx: Trx, answer: object): Promise<void>
  /** The answer holds what stands in none of the tables that the route reads: it is not given again. */
  passing(): void
}

/** Of one request. */
export class RequestContext implements Context {
  readonly organisationId: string
  readonly livemode: boolean
  readonly apiKeyId: string
  readonly scopes: readonly Scope[] | null
  readonly apiVersion: string
  readonly requestId: string
  readonly idempotencyKey: string | null
  readonly isResumed: boolean
  readonly #parts: { store: Store; log: () => Logger }
  readonly #attempt: (Attempt & { entry: Entry }) | null
  readonly #render: (answer: unknown) => Replay
  #isLasting = true

  /** `attempt` null: without an `Idempotency-Key`. `render`: the answer as it will be sent. `log`: makes the log of the request. */
  constructor(
    parts: { store: Store; log: () => Logger },
    asking: Asking,
    attempt: (Attempt & { entry: Entry }) | null,
    render: (answer: unknown) => Replay,
  ) {
    this.organisationId = asking.organisationId
    this.livemode = asking.livemode
    this.apiKeyId = asking.apiKeyId
    this.scopes = asking.scopes
    this.apiVersion = asking.apiVersion
    this.requestId = asking.requestId
    this.idempotencyKey = asking.idempotencyKey
    this.isResumed = attempt?.entry === 'resumed'
    this.#parts = parts
    this.#attempt = attempt
    this.#render = render
  }

  /** Whether the answer follows from the tables that the route reads. */
  get isLasting(): boolean {
    return this.#isLasting
  }

  passing(): void {
    this.#isLasting = false
  }

  get log(): Logger {
    return this.#parts.log()
  }

  transaction<T>(run: (trx: Trx) => Promise<T>): Promise<T> {
    return this.#parts.store.transaction(async trx => {
      const answer = await run(trx)
      if (!isProblem(answer)) await this.keep(trx, answer)
      return answer
    })
  }

  async keep(trx: Trx, answer: unknown): Promise<void> {
    if (this.#attempt !== null) await keepAnswer(trx, this.#attempt, this.#render(answer))
  }
}
