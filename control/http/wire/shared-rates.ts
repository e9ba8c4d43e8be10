import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { atMost, type Rate, RateLimits } from '../../../media/protocol.ts'
import { isOutage } from '../../kernel/store/outage.ts'
import type { Db } from '../../kernel/store/store.ts'

declare module '../../kernel/store/tables.ts' {
  interface Database {
    request_budgets: RequestBudgetTable
  }
}

/** A bucket that all nodes take from. */
export interface RequestBudgetTable {
  /** An API key, or an organisation, and its rate. */
  subject: string
  /** When it is full again, Unix time [µs]. */
  full_us: number
  /** What the last one who asked was given. */
  taken: number
}

/** A node takes what passes in this time at once [s]. */
const SLICE_S = 0.25
/** What lies further ahead was written by a clock that went wrong, and counts for nothing [s]. */
const MAX_AHEAD_S = 10
const SECOND_US = 1_000_000
const MAX_SUBJECTS = 10_000
/** A bucket that has been full for so long is forgotten: it is as good as a new one [ms]. */
const KEPT_MS = 60 * 60 * 1000

/** The database is away, and nobody waits for it again before then [ms]. */
const AWAY_MS = 1000

/** What this node has of a bucket. */
interface Slice {
  left: number
  /** Nothing is there before, so nobody asks [Unix ms]. */
  emptyUntil: number
  asking: Promise<void> | null
}

interface Taken {
  requests: number
  /** Before the next one is there. */
  waitMs: number
}

/**
 * Token buckets in the database, for several nodes. A node takes a quarter of a second's worth by one statement and lets that through without another;
 * where nothing is left it asks again no sooner than the next slice is there. In any time all nodes together let through the burst, the rate, and
 * at most one slice for each node, which it has taken before. While the database is away, each node counts by itself.
 */
export class SharedRates {
  readonly #db: Db
  readonly #now: () => Date
  readonly #alone: RateLimits
  #awayUntil = 0
  readonly #slices = new LRUCache<string, Slice>(atMost(MAX_SUBJECTS))

  constructor(db: Db, now: () => Date, rate: Rate) {
    this.#db = db
    this.#now = now
    this.#alone = new RateLimits(rate)
  }

  /** 0: one more may pass; else the whole seconds after which to try again. A promise only where the database has to be asked. */
  take(subject: string, rate: Rate): number | Promise<number> {
    // Another limit is another bucket.
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
    const waitMs = slice.emptyUntil - this.#now().getTime()
    return waitMs > 0 ? Math.max(1, Math.ceil(waitMs / 1000)) : null
  }

  /** Who comes while one asks waits for the same answer. */
  async #ask(slice: Slice, name: string, rate: Rate): Promise<number> {
    for (;;) {
      if (this.#now().getTime() < this.#awayUntil) return this.#takeAlone(name, rate)
      slice.asking ??= this.#fetch(slice, name, rate).finally(() => {
        slice.asking = null
      })
      try {
        await slice.asking
      } catch (error) {
        if (!isOutage(error)) throw error
        this.#awayUntil = this.#now().getTime() + AWAY_MS
        return this.#takeAlone(name, rate)
      }
      const waitS = this.#takeLocal(slice)
      if (waitS !== null) return waitS
    }
  }

  #takeAlone(name: string, rate: Rate): number {
    return this.#alone.take(name, this.#now().getTime(), rate)
  }

  async #fetch(slice: Slice, subject: string, rate: Rate): Promise<void> {
    const now = this.#now().getTime()
    const { requests, waitMs } = await takeFrom(this.#db, subject, rate, now)
    slice.left += requests
    if (requests === 0) slice.emptyUntil = now + Math.max(waitMs, 1000 * SLICE_S)
  }
}

/** Takes a slice, or what there is of it. One statement, so that two nodes never take the same. */
async function takeFrom(db: Db, subject: string, { burst, perSecond }: Rate, nowMs: number): Promise<Taken> {
  const step = Math.ceil(SECOND_US / perSecond)
  const most = Math.min(burst, Math.max(1, Math.floor(perSecond * SLICE_S)))
  const now = Math.round(nowMs * 1000)
  // As text of a type: PostgreSQL knows none of two bare parameters.
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

/** To be called from time to time. */
export async function sweepBudgets(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom('request_budgets')
    .where('full_us', '<', (now.getTime() - KEPT_MS) * 1000)
    .execute()
}
