import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../../kernel/tenancy.ts'
import { callsOf, daysBy, dimensionsOf } from './gather.ts'
import { ALL, dayAt, periodOfDay } from './parts.ts'
import { Tally } from './tally.ts'
import { Themes } from './themes.ts'

interface InsightDaysParts {
  store: Store
  now: () => Date
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
  /** Time limit of one run; the next one continues [ms]. */
  budgetMs?: number
}

const DAY_MS = 86_400_000
/** Maximum length of a period together with the previous one [days]. */
const MAX_DAYS = 800
const BUDGET_MS = 4000
const ROWS_AT_ONCE = 50

interface Due {
  day: string
  version: number
}

/**
 * Stores the insights of completed days. A day is counted if nothing of it has changed since the previous run. By then, any change that
 * was in progress has finished, so it is either counted or noticed. Several nodes may do this at once.
 */
export class InsightDays {
  readonly #parts: InsightDaysParts
  /** The version at the previous run, by tenant and day. */
  #seen = new Map<string, number>()

  constructor(parts: InsightDaysParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    const { store, now, budgetMs = BUDGET_MS } = this.#parts
    const until = performance.now() + budgetMs
    const seen = new Map<string, number>()
    const organisations = await store.db.selectFrom('organisations').select('id').execute()
    for (const { id: organisationId } of organisations) {
      for (const livemode of [true, false]) {
        const tenant = { organisationId, livemode }
        await mark(store, tenant, now())
        for (const due of await dueOf(store.db, tenant)) {
          const key = `${organisationId} ${livemode} ${due.day}`
          seen.set(key, due.version)
          if (this.#seen.get(key) === due.version && performance.now() < until) await this.#build(tenant, due)
        }
      }
    }
    this.#seen = seen
  }

  async #build(tenant: Tenant, { day, version }: Due): Promise<void> {
    const { store, now, timezoneOf } = this.#parts
    const timezone = await timezoneOf(store.db, tenant)
    const rows = await countDay(store.reads, tenant, day, timezone)
    await store.transaction(async trx => {
      const scoped = forTenant(trx, tenant)
      const kept = await scoped
        .update('insight_days')
        .set({ built: now().toISOString(), timezone })
        .where('day', '=', day)
        .where('version', '=', version)
        .executeTakeFirst()
      // Not counted: something has changed meanwhile.
      if (Number(kept.numUpdatedRows) === 0) return
      await scoped.delete('insight_tallies').where('day', '=', day).execute()
      const own = { ...ownedBy(tenant), day }
      for (let i = 0; i < rows.length; i += ROWS_AT_ONCE) {
        const some = rows.slice(i, i + ROWS_AT_ONCE).map(row => ({ ...own, ...row }))
        await trx.insertInto('insight_tallies').values(some).execute()
      }
    })
  }
}

/** Adds rows for completed days with calls. */
async function mark(store: Store, tenant: Tenant, now: Date): Promise<void> {
  const scoped = forTenant(store.db, tenant)
  const calls = scoped.select('calls').select('created').orderBy('created').limit(1)
  const oldest = await calls.executeTakeFirst()
  if (oldest === undefined) return
  const known = await scoped.select('insight_days').select('day').execute()
  const days = new Set(known.map(({ day }) => day))
  const today = Date.parse(dayAt(now.getTime()))
  const from = Math.max(Date.parse(oldest.created.slice(0, 10)), today - MAX_DAYS * DAY_MS)
  for (let at = from; at < today; at += DAY_MS) {
    if (days.has(dayAt(at))) continue
    const row = { ...ownedBy(tenant), day: dayAt(at) }
    const insert = store.db.insertInto('insight_days').values({ ...row, version: 0, built: null, timezone: null })
    await insert.onConflict(conflict => conflict.doNothing()).execute()
  }
}

/** The newest first. */
const dueOf = (db: Db, tenant: Tenant): Promise<Due[]> =>
  forTenant(db, tenant)
    .select('insight_days')
    .select(['day', 'version'])
    .where('built', 'is', null)
    .orderBy('day', 'desc')
    .execute()

async function countDay(db: Db, tenant: Tenant, day: string, timezone: string) {
  const dayOf = daysBy(timezone)
  const groups = new Map<string, { key: string[]; tally: Tally; themes: Themes }>()
  for await (const call of callsOf(db, tenant, periodOfDay(day))) {
    const { day: local, userId, queueId, profileId } = dimensionsOf(call, dayOf)
    for (const key of [
      [local, userId ?? '', queueId ?? '', profileId ?? ''],
      [local, ALL, ALL, ALL],
    ]) {
      const name = key.join(' ')
      const group = groups.get(name) ?? { key, tally: new Tally(), themes: new Themes() }
      groups.set(name, group)
      group.tally.add(call)
      group.themes.add(call)
    }
  }
  return [...groups.values()].map(({ key: [local_day = '', user_id = '', queue_id = '', profile_id = ''], ...of }) => ({
    ...{ local_day, user_id, queue_id, profile_id },
    tally: JSON.stringify(of.tally.packed),
    themes: JSON.stringify(of.themes.packed),
  }))
}
