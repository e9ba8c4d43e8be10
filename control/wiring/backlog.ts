import type { Db } from '../kernel/store/store.ts'

/** How long counts are cached, however often collectors ask [ms]. */
const KEEP_MS = 5000

/** Work waiting in the database, over all tenants and nodes. */
interface Backlog {
  webhooksPending: number
  /** Pending and due: only our own pace delays them. */
  webhooksOverdue: number
  webhookEndpointsDisabled: number
  jobsWaiting: number
  jobsGivenUp: number
}

/** Counts what waits, and caches the counts briefly. */
export class BacklogReader {
  readonly #db: Db
  readonly #now: () => Date
  #read: { at: number; backlog: Promise<Backlog> } | null = null

  constructor(db: Db, now: () => Date) {
    this.#db = db
    this.#now = now
  }

  /** Null: the database cannot be queried. */
  async read(): Promise<Backlog | null> {
    const now = this.#now()
    if (this.#read === null || Math.abs(now.getTime() - this.#read.at) >= KEEP_MS) {
      this.#read = { at: now.getTime(), backlog: countBacklog(this.#db, now) }
    }
    return this.#read.backlog.catch(() => null)
  }
}

async function countBacklog(db: Db, now: Date): Promise<Backlog> {
  const deliveries = db
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => fn.countAll<number>().as('n'))
    .where('next_attempt_at', 'is not', null)
  const jobs = db.selectFrom('jobs').select(({ fn }) => fn.countAll<number>().as('n'))
  const endpoints = db.selectFrom('webhook_endpoints').select(({ fn }) => fn.countAll<number>().as('n'))
  const count = async (query: typeof deliveries | typeof jobs | typeof endpoints): Promise<number> =>
    Number((await query.executeTakeFirstOrThrow()).n)
  return {
    webhooksPending: await count(deliveries),
    webhooksOverdue: await count(deliveries.where('next_attempt_at', '<=', now.toISOString())),
    webhookEndpointsDisabled: await count(endpoints.where('status', '=', 'disabled')),
    jobsWaiting: await count(jobs.where('due_at', 'is not', null)),
    jobsGivenUp: await count(jobs.where('due_at', 'is', null)),
  }
}
