import { type SqlBool, sql } from 'kysely'
import type { CallbackRow } from '../../callbacks/tables.ts'
import { type Place, rowsOf } from '../../kernel/store/compiled.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'

/** Maximum number of callbacks dialled for assistants in one round; an assistant can talk with any number of people at once. */
const MAX_DIALLED = 200

/** Agents who can take a callback now. */
export interface Takers {
  /** Free agents who can be rung. */
  agents: ReadonlySet<string>
  /** How many of them answer each queue, by queue ID; a queue with none is absent. */
  byQueue: ReadonlyMap<string, number>
}

/** Tenants with due callbacks: one index lookup for each organisation and mode. */
export async function tenantsWithDue(db: Db, at: string): Promise<Tenant[]> {
  const found: Tenant[] = []
  for (const livemode of [true, false]) {
    const build = (place: Place) =>
      db
        .selectFrom('organisations')
        .select('organisations.id')
        .where(eb =>
          eb.exists(
            eb
              .selectFrom('callbacks')
              .select('callbacks.id')
              .whereRef('callbacks.organisation_id', '=', 'organisations.id')
              .where('callbacks.livemode', '=', place('livemode'))
              .where('callbacks.status', '=', 'pending')
              .where('callbacks.due_at', '<=', place('at')),
          ),
        )
    const rows = await rowsOf(db, 'organisations with due callbacks', build, { livemode: livemode ? 1 : 0, at })
    found.push(...rows.map(({ id: organisationId }) => ({ organisationId, livemode })))
  }
  return found
}

/** Whether any callback of a tenant is due. A cheap query, asked before the expensive ones. */
export async function isCallbackDue(db: Db, tenant: Tenant, at: string): Promise<boolean> {
  const due = pending(db, tenant).select('id').where('due_at', '<=', at)
  return (await due.limit(1).executeTakeFirst()) !== undefined
}

/**
 * The due callbacks that somebody could take now. For each queue and agent, no more are read than could be taken. So any number of
 * callbacks without a free agent delays no others.
 */
export async function dueCallbacks(
  db: Db,
  tenant: Tenant,
  { at, takers }: { at: string; takers: Takers },
): Promise<CallbackRow[]> {
  // Concatenated so that SQLite does not use an index on the time: it would read what is due in all queues, and sort it.
  const isDue = sql<SqlBool>`due_at || '' <= ${at}`
  const anyOf = (count: number) =>
    pending(db, tenant)
      .selectAll()
      .where(isDue)
      .where(eb => eb.or([eb('window_end', 'is', null), eb('window_end', '>', at)]))
      .limit(count)
  const first = (count: number) => anyOf(count).orderBy('priority', 'desc').orderBy('due_at')
  const found = await first(MAX_DIALLED).where('route', '=', 'assistant').execute()
  for (const id of takers.agents) {
    found.push(...(await first(1).where('route', '=', 'agent').where('agent_id', '=', id).execute()))
  }
  for (const [id, count] of takers.byQueue) {
    found.push(...(await first(count).where('route', '=', 'agent_queue').where('queue_id', '=', id).execute()))
  }
  if (takers.agents.size > 0) {
    const ofNoQueue = anyOf(takers.agents.size).where('route', '=', 'agent_queue').where('queue_id', 'is', null)
    // PostgreSQL does not know that a null column has a single value. Ordering by it first matches the index.
    const inOrder = ofNoQueue.orderBy('queue_id').orderBy('priority', 'desc').orderBy('due_at')
    found.push(...(await inOrder.execute()))
  }
  return found
}

const pending = (db: Db, tenant: Tenant) => forTenant(db, tenant).select('callbacks').where('status', '=', 'pending')
