import { type Selectable, sql } from 'kysely'
import type { Logger } from 'pino'
import { causedBy } from '../kernel/store/after-commit.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import { forTenant, type TableWithId, type Tenant } from '../kernel/tenancy.ts'
import { isProblem, missing, type Problem, problem } from './errors.ts'
import { type Attempt, type Entry, keepAnswer, type Replay } from './idempotency.ts'
import type { Scope } from './scopes.ts'

/**
 * The paths that add to a bounded collection (`TANDEM_MAX_OBJECTS`). A collection has the name of its table, with `_` for `/`, except
 * `invitations`, which add to `users`: deactivated ones do not count.
 */
export const BOUNDED =
  /^\/(connections|phone_numbers|inbound_routes|queues|teams|invitations|conference_rooms|flows|assistants|tools|secrets|sites|api_keys|copilot_profiles|campaigns|reports|audio_assets|kb\/documents|partner\/organisations)(\/:id\/duplicate)?$/

/** Who sends a request, and how. Usable as a `Tenant`: `forTenant(db, context)`. */
export interface Asking extends Tenant {
  apiKeyId: string
  /** Null: all. */
  scopes: readonly Scope[] | null
  /** When its key expires; null: never. */
  expiresAt: string | null
  /** The API version in which the answer is written. */
  apiVersion: string
  requestId: string
  idempotencyKey: string | null
}

/** A handler's view of its request. */
export interface Context extends Asking {
  /** Created at its first use: most requests log nothing. */
  readonly log: Logger
  /** An earlier attempt with the same key was interrupted: it committed nothing, but its commands to media may have been carried out. */
  isResumed: boolean
  /** Runs a transaction whose result is the operation's answer. Stores it for a retry, unless it is a problem, as when `tenant`'s collection is full. */
  transaction<T>(run: (trx: Trx) => Promise<T>, tenant?: Tenant): Promise<T>
  /** The same about the row with this ID; without it, the answer is 404. `kind`: what it is called there. */
  withRow<N extends TableWithId, T>(table: N, kind: string, id: string, run: UsesRow<N, T>): Promise<T | Problem>
  /**
   * Stores the operation's answer for its `Idempotency-Key` in the transaction of its effect: if this process dies afterwards, a retry gets it
   * instead of causing the effect again. The final answer replaces it.
   */
  keep(trx: Trx, answer: object): Promise<void>
  /** The problem if a collection of `BOUNDED` is full. For objects that are restored to it; `transaction` checks operations that add to it. */
  limitProblem(trx: Trx, collection: string, tenant?: Tenant): Promise<Problem | null>
  /** Declares that the answer contains data from outside the tables that the route reads, so that it is not cached. */
  passing(): void
}

type UsesRow<N extends TableWithId, T> = (trx: Trx, row: Selectable<Database[N]>) => Promise<T>

type Parts = { store: Store; log: () => Logger; maxObjects: number; adds: string | undefined }

/** `Context` of one request. */
export class RequestContext implements Context {
  readonly organisationId: string
  readonly livemode: boolean
  readonly apiKeyId: string
  readonly scopes: readonly Scope[] | null
  readonly expiresAt: string | null
  readonly apiVersion: string
  readonly requestId: string
  readonly idempotencyKey: string | null
  readonly isResumed: boolean
  readonly #parts: Parts
  readonly #attempt: (Attempt & { entry: Entry }) | null
  readonly #render: (answer: unknown) => Replay
  /** Whether the answer depends only on the tables that the route reads. */
  isLasting = true

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
    this.expiresAt = asking.expiresAt
    this.apiVersion = asking.apiVersion
    this.requestId = asking.requestId
    this.idempotencyKey = asking.idempotencyKey
    this.isResumed = attempt?.entry === 'resumed'
    this.#parts = parts
    this.#attempt = attempt
    this.#render = render
  }

  passing(): void {
    this.isLasting = false
  }

  get log(): Logger {
    return this.#parts.log()
  }

  transaction<T>(run: (trx: Trx) => Promise<T>, tenant: Tenant = this): Promise<T> {
    const { store, adds } = this.#parts
    return store.transaction(async trx => {
      const full = adds === undefined ? null : await this.limitProblem(trx, adds, tenant)
      // Sound for T: every operation that adds to a collection may also answer with a problem.
      const answer = (full as T | null) ?? (await causedBy(trx, this, () => run(trx)))
      if (!isProblem(answer)) await this.keep(trx, answer)
      return answer
    })
  }

  withRow<N extends TableWithId, T>(table: N, kind: string, id: string, run: UsesRow<N, T>): Promise<T | Problem> {
    return this.transaction<T | Problem>(async trx => {
      const row = await forTenant(trx, this).find(table, id)
      return row === undefined ? missing(kind, id) : run(trx, row)
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
