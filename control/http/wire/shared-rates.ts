import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { atMost, type Rate, RateLimits } from '../../../media/protocol.ts'
import { steadyMsOf } from '../../kernel/store/node.ts'
import { isOutage } from '../../kernel/store/outage.ts'
import type { Db } from '../../kernel/store/store.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    request_budgets: RequestBudgetTable
  }
}

/** A token bucket that all nodes share. */
interface RequestBudgetTable {
  /** An API key, or an organisation, and its rate. */
  subject: string
  /** When it will be full again, Unix time [µs]. */
  full_us: number
  /** The tokens given to the last node that asked. */
  taken: number
}

/** A node reserves as much as passes in this time [s]. */
const SLICE_S = 0.25
/** A time further ahead was written by a wrong clock, and is ignored [s]. */
const MAX_AHEAD_S = 10
const SECOND_US = 1_000_000
const MAX_SUBJECTS = 10_000
/** A bucket that has been full for this long is deleted: a new one is equivalent [ms]. */
const KEPT_MS = 60 * 60 * 1000

/** While the database is unavailable, it is not tried again before this time [ms]. */
const AWAY_MS = 1000

/** What this node has reserved of a bucket. */
interface Slice {
  left: number
  /** There are no tokens before this time, so the database is not asked, by the steady clock [ms]. */
  emptyUntil: number
  asking: Promise<void> | null
}

interface Taken {
  requests: number
  /** Time until the next token. */
  waitMs: number
}

/**
 * Token buckets in the database, for several nodes. A node reserves a quarter of a second's worth with one statement, and lets these requests through
 * without another. If the bucket is empty, the node does not ask again before the next slice is available. In any period all nodes together let
 * through the burst, the rate, and at most one slice per node, reserved before. While the database is unavailable, each node counts alone.
 */
export class SharedRates {
  readonly #db: Db
  readonly #now: () => Date
  readonly #steadyMs = (): number => steadyMsOf(this.#db)!
  readonly #alone: RateLimits
  #awayUntil = 0
  readonly #slices = new LRUCache<string, Slice>(atMost(MAX_SUBJECTS))

  constructor(db: Db, now: () => Date, rate: Rate) {
    this.#db = db
    this.#now = now
    this.#alone = new RateLimits(rate)
  }

  /** 0: one more may pass; otherwise the whole seconds after which to retry. A promise only if the database has to be asked. */
  take(subject: string, rate: Rate): number | Promise<number> {
    // A different limit is a different bucket.
    const name = `${subject} ${rate.perSecond}`
    const slice: Slice = this.#slices.get(name) ?? { left: 0, emptyUntil: 0, asking: null }
    this.#slices.set(name, slice)
    return this.#takeLocal(slice) ?? this.#ask(slice, name, rate)
  }

  /** Null: the database has to be asked. */
  #takeLocal(slice: Slice): number | null {
    if (slice.left > 0) {
      slice.left--
      return 0
    }
    const waitMs = slice.emptyUntil - this.#steadyMs()
    return waitMs > 0 ? Math.max(1, Math.ceil(waitMs / 1000)) : null
  }

  /** Requests that arrive meanwhile wait for the same answer. */
  async #ask(slice: Slice, name: string, rate: Rate): Promise<number> {
    for (;;) {
      if (this.#steadyMs() < this.#awayUntil) return this.#takeAlone(name, rate)
      slice.asking ??= this.#fetch(slice, name, rate).finally(() => {
        slice.asking = null
      })
      try {
        await slice.asking
      } catch (error) {
        if (!isOutage(error)) throw error
        this.#awayUntil = this.#steadyMs() + AWAY_MS
        return this.#takeAlone(name, rate)
      }
      const waitS = this.#takeLocal(slice)
      if (waitS !== null) return waitS
    }
  }

  #takeAlone(name: string, rate: Rate): number {
    return this.#alone.take(name, this.#steadyMs(), rate)
  }

  async #fetch(slice: Slice, subject: string, rate: Rate): Promise<void> {
    const askedMs = this.#steadyMs()
    const { requests, waitMs } = await takeFrom(this.#db, subject, rate, this.#now().getTime())
    slice.left += requests
    if (requests === 0) slice.emptyUntil = askedMs + Math.max(waitMs, 1000 * SLICE_S)
  }
}

/** Takes a slice, or what is left. One statement, so that two nodes never take the same tokens. */
async function takeFrom(db: Db, subject: string, { burst, perSecond }: Rate, nowMs: number): Promise<Taken> {
  const step = Math.ceil(SECOND_US / perSecond)
  const most = Math.min(burst, Math.max(1, Math.floor(perSecond * SLICE_S)))
  const now = Math.round(nowMs * 1000)
  // With an explicit type: PostgreSQL cannot infer one from two bare parameters.
  const number = (value: number) => sql<number>`cast(${value} as bigint)`
  const full = sql<number>`request_budgets.full_us`
  const end = number(now + burst * step)
  const isAhead = sql<boolean>`${full} > ${number(now)} and ${full} <= ${end} + ${number(MAX_AHEAD_S * SECOND_US)}`
  const from = sql<number>`case when ${isAhead} then ${full} else ${number(now)} end`
  const there = sql<number>`(${end} - (${from})) / ${number(step)}`
  const taken = sql<number>`case when ${there} >= ${number(most)} then ${number(most)}
    when ${there} > 0 then ${there} else 0 end`
  const row = await db
    .insertInto('request_budgets')
    .values({ subject, full_us: now + most * step, taken: most })
    .onConflict(conflict =>
      conflict.column('subject').doUpdateSet({ full_us: sql<number>`(${from}) + (${taken}) * ${number(step)}`, taken }),
    )
    .returning(['full_us', 'taken'])
    .executeTakeFirstOrThrow()
  const lackingUs = Number(row.full_us) + step - (now + burst * step)
  return { requests: Number(row.taken), waitMs: Math.max(0, Math.ceil(lackingUs / 1000)) }
}

/** To be called regularly. */
export async function sweepBudgets(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom('request_budgets')
    .where('full_us', '<', (now.getTime() - KEPT_MS) * 1000)
    .execute()
}
