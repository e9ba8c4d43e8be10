import { randomUUID } from 'node:crypto'
import type { Db, Trx } from '../store/store.ts'
import type { JobKind, JobPayloads } from './kinds.ts'

interface EnqueueOptions {
  /** The time of the database. */
  now: Date
  /** Its owner: organisations share the places where jobs run. Null: the operator's. */
  organisationId: string | null
  /** Absent: at once. */
  dueAt?: Date
  /** Replaces a waiting job of this kind and key: payload, time and attempts start again. */
  key?: string
}

/**
 * Writes a job in the transaction that needs it, so that neither exists without the other. A job runs at least once: its handler
 * finds out what is left to do, or finishes the job in the transaction of its effect.
 */
export async function enqueue<K extends JobKind>(
  trx: Trx,
  kind: K,
  payload: JobPayloads[K],
  { now, organisationId, dueAt = now, key }: EnqueueOptions,
): Promise<void> {
  const due_at = dueAt.toISOString()
  const anew = {
    payload: JSON.stringify(payload),
    organisation_id: organisationId,
    due_at,
    attempts: 0,
    last_error: null,
  }
  await trx
    .insertInto('jobs')
    .values({ ...anew, id: randomUUID(), kind, key: key ?? null, version: 0, created: now.toISOString() })
    .onConflict(conflict =>
      conflict.columns(['kind', 'key']).doUpdateSet(eb => ({ ...anew, version: eb('jobs.version', '+', 1) })),
    )
    .execute()
}

/** Deletes the job of this kind and key; its signal notifies a running attempt. False if there is none. */
export async function cancel(trx: Trx, kind: JobKind, key: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('jobs')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** When the job of this kind and key is due; undefined when there is none. */
export async function dueAtOf(db: Db, kind: JobKind, key: string): Promise<Date | undefined> {
  const row = await db
    .selectFrom('jobs')
    .select('due_at')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.due_at == null ? undefined : new Date(row.due_at)
}
