import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type TableWithId, type Tenant } from '../kernel/tenancy.ts'
import { isProblem, type Problem, problem } from './errors.ts'
import { type Attempt, type Entry, keepAnswer, type Replay } from './idempotency.ts'
import type { Scope } from './scopes.ts'

/** The collections that are bounded (`TANDEM_MAX_OBJECTS`), by the paths that add to them; each is named as its table (`/` as `_`), but users, of whom those deactivated do not count. */
export const BOUNDED =
  /^\/(connections|phone_numbers|inbound_routes|queues|teams|invitations|conference_rooms|flows|assistants|tools|secrets|sites|api_keys|copilot_profiles|campaigns|reports|audio_assets|kb\/documents|partner\/organisations)(\/:id\/duplicate)?$/

/** Who sends a request. It is a `Tenant`: `forTenant(db, context)`. */
export interface Asking extends Tenant {
  organisationId: string
  livemode: boolean
  apiKeyId: string
  /** Null: all. */
  scopes: readonly Scope[] | null
  /** The version that formats the answer. */
  apiVersion: string
  requestId: string
  idempotencyKey: string | null
}

/** Who sends a request, and how its answer is stored under the `Idempotency-Key`. */
export interface Context extends Asking {
  /** Created at its first use: most requests log nothing. */
  readonly log: Logger
  /** An earlier attempt with the same key was interrupted: it committed nothing, but its commands to media may have been carried out. */
  isResumed: boolean
  /** A transaction whose result is the operation's answer, which is stored in it, unless it is a problem: so is a full collection, of `tenant`. */
  transaction<T>(run: (trx: Trx) => Promise<T>, tenant?: Tenant): Promise<T>
  /**
   * Stores the operation's answer in the transaction of its effect: if this process dies afterwards, a retry gets it instead of causing
   * the effect again. The final answer replaces it.
   */
  keep(trx: Trx, answer: object): Promise<void>
  /** The collection (`BOUNDED`) is full; for what comes back to it. Whoever adds to it is asked by `transaction`. */
  limitProblem(trx: Trx, collection: string, tenant?: Tenant): Promise<Problem | null>
  /** The answer contains data from outside the tables that the route reads, so it must not be cached. */
  passing(): void
}

type Parts = { store: Store; log: () => Logger; maxObjects: number; adds: string | undefined }

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
  readonly #parts: Parts
  readonly #attempt: (Attempt & { entry: Entry }) | null
  readonly #render: (answer: unknown) => Replay
  #isLasting = true

  /** `attempt` null: no `Idempotency-Key`. `render`: formats the answer as it will be sent. `log`: creates the request's logger. */
  constructor(
    parts: Parts,
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

  /** Whether the answer depends only on the tables that the route reads. */
  get isLasting(): boolean {
    return this.#isLasting
  }

  passing(): void {
    this.#isLasting = false
  }

  get log(): Logger {
    return this.#parts.log()
  }

  transaction<T>(run: (trx: Trx) => Promise<T>, tenant: Tenant = this): Promise<T> {
    const { store, adds } = this.#parts
    return store.transaction(async trx => {
      const full = adds === undefined ? null : await this.limitProblem(trx, adds, tenant)
      // An operation that adds to a collection answers with a problem anyway.
      const answer = (full as T | null) ?? (await run(trx))
      if (!isProblem(answer)) await this.keep(trx, answer)
      return answer
    })
  }

  async limitProblem(trx: Trx, collection: string, tenant: Tenant = this): Promise<Problem | null> {
    const { maxObjects: most } = this.#parts
    const table = (collection === 'invitations' ? 'users' : collection.replace('/', '_')) as TableWithId
    const all = forTenant(trx, tenant).select(table).select('id')
    const counted = table === 'users' ? all.where(sql<string>`status`, '!=', 'deactivated') : all
    if ((await counted.limit(most).execute()).length < most) return null
    return problem('object_limit', `The limit of ${most} ${table.replace('_', ' ')} in this mode is reached.`)
  }

  async keep(trx: Trx, answer: unknown): Promise<void> {
    if (this.#attempt !== null) await keepAnswer(trx, this.#attempt, this.#render(answer))
  }
}
