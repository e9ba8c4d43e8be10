import type { Logger } from 'pino'
import { FairShares } from '../../../media/protocol.ts'
import { Periodic, type PeriodicParts } from '../periodic.ts'
import type { Store, Trx } from '../store/store.ts'
import {
  type ClaimedJob,
  claimJobs,
  finishJob,
  forgetGivenUp,
  hastenRetries,
  type Leaving,
  ownerOf,
  releaseJob,
  renewLeases,
} from './claims.ts'
import type { JobKind, JobPayloads } from './kinds.ts'
import type { JobRow } from './tables.ts'

/** One attempt, as its handler sees it. */
export interface JobAttempt {
  id: string
  /** 1 for the first. */
  attempt: number
  /** Aborted if the lease is lost, the job cancelled, or the process ends: then stop, and leave no effect. */
  signal: AbortSignal
  /** No other attempt follows a failure of this one. False once it is aborted: what fails then was given up. */
  isLast(): boolean
  /** Ends the job in the transaction of its effect, so that the effect happens once; throws if the lease is lost. */
  finish(trx: Trx): Promise<void>
}

export interface JobHandler<P> {
  /** An exception is logged and stored, and the job is retried. */
  run(payload: P, attempt: JobAttempt): Promise<void>
  /** Total attempts before the job is given up. */
  maxAttempts?: number
  /** Delay before the second attempt; doubles each time [ms]. */
  backoffMs?: number
}

type JobHandlers = { [K in JobKind]?: JobHandler<JobPayloads[K]> }

export interface JobRunnerParts {
  store: Store
  now: () => Date
  log: Logger
  /** Kinds without a handler are left to processes that have one. */
  handlers: JobHandlers
  /** Concurrent jobs in this process, shared among the organisations; all others wait in the database. */
  concurrency?: number
  /** How long the jobs of a killed process stay claimed. */
  leaseMs?: number
  /** How often to look for due jobs. */
  pollMs?: number
  later?: PeriodicParts['later']
}

const CONCURRENCY = 16
const LEASE_MS = 30_000
const POLL_MS = 250
const MAX_ATTEMPTS = 12
const BACKOFF_MS = 5000
const MAX_BACKOFF_MS = 60 * 60 * 1000
const MAX_ERROR_LENGTH = 500
/** How long given-up jobs are kept, for inspection. */
const KEEP_MS = 30 * 24 * 60 * 60 * 1000
const SWEEP_ROWS = 1000
/** How long running jobs may finish when the process stops: this long before the signal, and again after it. */
const CLOSE_WAIT_MS = 2000

interface Running {
  job: ClaimedJob
  abort: AbortController
  ended: Promise<void>
}

/** Runs due jobs. Any number of control processes may have one each on the same database; no job runs in two of them at once. */
export class JobRunner {
  readonly counters = { done: 0, retried: 0, givenUp: 0, lost: 0 }
  readonly #parts: JobRunnerParts
  readonly #running = new Map<string, Running>()
  readonly #duties: Periodic[]
  readonly #shares: FairShares
  #claiming: Promise<number> | null = null
  #closed = false

  constructor(parts: JobRunnerParts) {
    this.#parts = parts
    this.#shares = new FairShares(parts.concurrency ?? CONCURRENCY)
    const { log, later, leaseMs = LEASE_MS, pollMs = POLL_MS } = parts
    const duty = (name: string, everyMs: number, run: () => Promise<unknown>) =>
      new Periodic({ name, everyMs, run, log, ...(later === undefined ? {} : { later }) })
    this.#duties = [
      duty('jobs', pollMs, () => this.#claim()),
      duty('job leases', leaseMs / 3, () => this.#renew()),
      duty('waiting jobs', LEASE_MS, () => this.#sweep()),
    ]
  }

  start(): void {
    for (const duty of this.#duties) duty.start()
  }

  /** Runs everything due now, and what becomes due meanwhile; resolves when nothing is left. Returns the number of jobs run. */
  async runDue(): Promise<number> {
    let ran = 0
    for (;;) {
      const running = [...this.#running.values()]
      const begun = await this.#claim()
      ran += begun
      if (begun > 0) continue
      if (running.length === 0) return ran
      // A job that ended during the query may have made another one due.
      await Promise.race(running.map(({ ended }) => ended))
    }
  }

  /** Stops. Jobs that do not end soon are notified by their signal, and are due again at once. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#duties.map(duty => duty.close()))
    await this.#claiming
    await this.#ended(CLOSE_WAIT_MS)
    for (const { abort } of this.#running.values()) abort.abort()
    await this.#ended(CLOSE_WAIT_MS)
  }

  async #ended(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => (timer = setTimeout(resolve, withinMs)))
    await Promise.race([Promise.all([...this.#running.values()].map(({ ended }) => ended)), late])
    clearTimeout(timer)
  }

  /** Starts due jobs, as far as there is room. Returns the number started. */
  #claim(): Promise<number> {
    this.#claiming ??= this.#claimOnce().finally(() => {
      this.#claiming = null
    })
    return this.#claiming
  }

  async #claimOnce(): Promise<number> {
    const { store, now, handlers, leaseMs = LEASE_MS } = this.#parts
    const kinds = Object.keys(handlers)
    if (kinds.length === 0 || this.#closed) return 0
    const claimed = await claimJobs(store.db, { now: now(), leaseMs, kinds, shares: this.#shares })
    for (const job of claimed) this.#begin(job)
    return claimed.length
  }

  #begin(job: ClaimedJob): void {
    const abort = new AbortController()
    const ended = this.#attempt(job, abort.signal)
      // The lease expires, and the job is due again.
      .catch(error => this.#parts.log.error({ err: error, jobId: job.id, kind: job.kind }, 'job cannot be settled'))
      .then(() => {
        const wasFull = !this.#shares.mayTake(ownerOf(job))
        this.#running.delete(job.lease + job.id)
        this.#shares.giveBack(ownerOf(job))
        // A job waiting for this place need not wait for the next poll.
        if (wasFull) this.#claim().catch(error => this.#parts.log.error({ err: error }, 'jobs cannot be claimed'))
      })
    this.#running.set(job.lease + job.id, { job, abort, ended })
  }

  async #attempt(job: ClaimedJob, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#parts
    const handler = this.#parts.handlers[job.kind as JobKind] as JobHandler<unknown>
    const { maxAttempts = MAX_ATTEMPTS } = handler
    // It has killed the process as often as allowed: `attempts` also counts attempts that nobody could end.
    if (job.attempts > maxAttempts) return this.#leave(job, this.#afterFailure(job, handler, job.last_error ?? 'died'))
    let finished = false
    const finish = async (trx: Trx): Promise<void> => {
      if (!(await finishJob(trx, job))) throw new Error('the lease is lost')
      finished = true
    }
    try {
      const isLast = (): boolean => job.attempts >= maxAttempts && !signal.aborted
      await handler.run(JSON.parse(job.payload), { id: job.id, attempt: job.attempts, signal, isLast, finish })
    } catch (error) {
      if (signal.aborted) return this.#leave(job, { attempts: job.attempts - 1 })
      log.warn({ err: error, jobId: job.id, kind: job.kind, attempt: job.attempts }, 'job failed')
      return this.#leave(job, this.#afterFailure(job, handler, String(error)))
    }
    if (finished || (await finishJob(store.db, job))) this.counters.done += 1
    else this.counters.lost += 1
  }

  async #leave(job: ClaimedJob, leaving: Leaving): Promise<void> {
    if (!(await releaseJob(this.#parts.store.db, job, leaving))) this.counters.lost += 1
    else if (leaving.due_at === null) this.counters.givenUp += 1
    else this.counters.retried += 1
  }

  #afterFailure({ attempts }: ClaimedJob, handler: JobHandler<unknown>, error: string): Leaving {
    const { maxAttempts = MAX_ATTEMPTS } = handler
    const last_error = error.slice(0, MAX_ERROR_LENGTH)
    // Without its key, so that the next one of its kind can be enqueued.
    if (attempts >= maxAttempts) return { last_error, due_at: null, key: null }
    return { last_error, due_at: new Date(this.#parts.now().getTime() + waitOf(attempts, handler)).toISOString() }
  }

  /** Renews the leases of running jobs, and aborts those that are lost. */
  async #renew(): Promise<void> {
    const running = [...this.#running.values()]
    if (running.length === 0) return
    const { store, now, leaseMs = LEASE_MS } = this.#parts
    const at = now()
    const jobs = running.map(({ job }) => job)
    const kept = await renewLeases(store.db, jobs, { now: at, leaseMs }).catch((error: unknown) => {
      // Nobody else can claim them before their leases expire.
      this.#parts.log.error({ err: error }, 'job leases cannot be renewed')
      return jobs.filter(job => (job.leased_until ?? '') > at.toISOString())
    })
    for (const { job, abort } of running) if (!kept.includes(job)) abort.abort()
  }

  async #sweep(): Promise<void> {
    const { store, now, handlers } = this.#parts
    await forgetGivenUp(store.db, new Date(now().getTime() - KEEP_MS), SWEEP_ROWS)
    const waitMs = ({ kind, attempts }: JobRow) => waitOf(attempts, handlers[kind as JobKind])
    await hastenRetries(store.db, now(), SWEEP_ROWS, waitMs)
  }
}

/** Delay after so many attempts [ms]; of a kind that is left to others, the longest. */
const waitOf = (attempts: number, handler?: { backoffMs?: number }): number =>
  handler === undefined
    ? MAX_BACKOFF_MS
    : Math.min((handler.backoffMs ?? BACKOFF_MS) * 2 ** (attempts - 1), MAX_BACKOFF_MS)
