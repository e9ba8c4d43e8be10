import { randomUUID } from 'node:crypto'
import type { Db, Store } from '../store.ts'
import type { JobRow } from './tables.ts'

/**
 * Who may attempt which job, decided in the database: a claim is a lease, renewed while the attempt runs. When its holder dies, it
 * runs out, and the job is due again.
 */

export interface JobClaimRules {
  now: Date
  leaseMs: number
  limit: number
  kinds: readonly string[]
}

/** A row whose lease is ours. */
export type ClaimedJob = JobRow & { lease: string; due_at: string }

/** Takes at most `limit` jobs that are due, the most overdue first. */
export async function claimJobs({ db, engine }: Store, rules: JobClaimRules): Promise<ClaimedJob[]> {
  const at = rules.now.toISOString()
  const claimed = await db
    .with('picked', cte =>
      cte
        .selectFrom('jobs')
        .select('id')
        .where('due_at', '<=', at)
        .where('kind', 'in', rules.kinds)
        .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', at)]))
        .orderBy('due_at')
        .limit(rules.limit)
        .$if(engine === 'postgres', query => query.forUpdate().skipLocked()),
    )
    .updateTable('jobs')
    .set(eb => ({ lease: randomUUID(), leased_until: later(rules), attempts: eb('attempts', '+', 1) }))
    .where('id', 'in', eb => eb.selectFrom('picked').select('picked.id'))
    .returningAll()
    .execute()
  return (claimed as ClaimedJob[]).sort((a, b) => (a.due_at < b.due_at ? -1 : 1))
}

/** Lengthens the leases that are still ours; returns these jobs with what they have now. */
export async function renewLeases(
  db: Db,
  jobs: ClaimedJob[],
  times: { now: Date; leaseMs: number },
): Promise<ClaimedJob[]> {
  const leased_until = later(times)
  const renewed = await db
    .updateTable('jobs')
    .set({ leased_until })
    .where(
      'id',
      'in',
      jobs.map(job => job.id),
    )
    .where('lease', 'in', [...new Set(jobs.map(job => job.lease))])
    .returning(['id', 'lease'])
    .execute()
  return jobs
    .filter(job => renewed.some(({ id, lease }) => id === job.id && lease === job.lease))
    .map(job => Object.assign(job, { leased_until }))
}

const later = ({ now, leaseMs }: { now: Date; leaseMs: number }): string =>
  new Date(now.getTime() + leaseMs).toISOString()

/**
 * Ends a claim: the job is done and goes. One that was enqueued again meanwhile stays for its own attempt. False when the lease
 * was lost: then another attempt decides.
 */
export async function finishJob(db: Db, { id, lease, version }: ClaimedJob): Promise<boolean> {
  const done = await db
    .deleteFrom('jobs')
    .where('id', '=', id)
    .where('lease', '=', lease)
    .where('version', '=', version)
    .executeTakeFirst()
  return done.numDeletedRows === 1n || releaseJob(db, { id, lease, version }, {})
}

/** How an attempt that is not done leaves its job. */
export type Leaving = Partial<Pick<JobRow, 'due_at' | 'attempts' | 'last_error' | 'key'>>

/** Ends a claim and leaves the job for later, or for good; one that was enqueued again meanwhile stays as that made it. */
export async function releaseJob(
  db: Db,
  { id, lease, version }: Pick<ClaimedJob, 'id' | 'lease' | 'version'>,
  leaving: Leaving,
): Promise<boolean> {
  const free = { lease: null, leased_until: null }
  const ours = db.updateTable('jobs').where('id', '=', id).where('lease', '=', lease)
  const left = await ours
    .set({ ...leaving, ...free })
    .where('version', '=', version)
    .executeTakeFirst()
  if (left.numUpdatedRows === 1n) return true
  const { numUpdatedRows } = await ours.set(free).executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Forgets up to `limit` given-up jobs that were enqueued before `before`. Returns how many. */
export async function forgetGivenUp(db: Db, before: Date, limit: number): Promise<number> {
  const old = db
    .selectFrom('jobs')
    .select('id')
    .where('due_at', 'is', null)
    .where('created', '<', before.toISOString())
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('jobs').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
