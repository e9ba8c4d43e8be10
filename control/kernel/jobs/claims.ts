import { randomUUID } from 'node:crypto'
import type { FairShares } from '../../../media/protocol.ts'
import { inList, type Place, rowsOf } from '../store/compiled.ts'
import { nodeOf } from '../store/node.ts'
import type { Db } from '../store/store.ts'
import type { JobRow } from './tables.ts'

/**
 * The database decides who may attempt which job. A claim is a lease, renewed while the attempt runs. If its holder dies, the lease
 * expires, and the job is due again; at once, if the same node restarts.
 */

interface JobClaimRules {
  now: Date
  leaseMs: number
  kinds: readonly string[]
  /** How many jobs each organisation may have running in this process, by `ownerOf`. */
  shares: FairShares
}

/** A row whose lease this process holds. */
export type ClaimedJob = JobRow & { lease: string; due_at: string }

/** The owner of job places: an organisation, or the operator. */
export const ownerOf = ({ organisation_id }: Pick<JobRow, 'organisation_id'>): string => organisation_id ?? ''

/** Number of candidate jobs per query. */
const WINDOW = 100

/** Claims due jobs, the most overdue first, within each owner's share. Each occupies a place until it is released. */
export async function claimJobs(db: Db, rules: JobClaimRules): Promise<ClaimedJob[]> {
  const at = rules.now.toISOString()
  const chosen = await choose(db, at, rules)
  if (chosen.size === 0) return []
  try {
    const claimed = await db
      .updateTable('jobs')
      .set(eb => ({
        lease: randomUUID(),
        leased_until: later(rules),
        node: nodeOf(db),
        attempts: eb('attempts', '+', 1),
      }))
      .where('id', 'in', [...chosen.keys()])
      .where('due_at', '<=', at)
      // Checked again by the claiming statement, so that of two processes with the same candidates only one gets each.
      .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', at)]))
      .returningAll()
      .execute()
    for (const { id } of claimed) chosen.delete(id)
    return (claimed as ClaimedJob[]).sort((a, b) => (a.due_at < b.due_at ? -1 : 1))
  } finally {
    chosen.forEach(owner => rules.shares.giveBack(owner))
  }
}

/** Reserves a place for each job that may begin: its owner by its ID. Owners at their limit are skipped, so that others are found. */
async function choose(db: Db, at: string, { kinds, shares }: JobClaimRules): Promise<Map<string, string>> {
  const chosen = new Map<string, string>()
  const passed = new Set<string>()
  let isThrough = false
  while (!isThrough && shares.free > 0) {
    const rows = await candidates(db, at, kinds, [...passed], [...chosen.keys()])
    for (const row of rows) {
      const owner = ownerOf(row)
      if (!shares.mayTake(owner)) passed.add(owner)
      else {
        shares.take(owner)
        chosen.set(row.id, owner)
      }
    }
    isThrough = rows.length < WINDOW
  }
  return chosen
}

function candidates(db: Db, at: string, kinds: readonly string[], passed: string[], taken: string[]) {
  const lists = { kind: inList('kind', kinds), owner: inList('owner', passed), id: inList('id', taken) }
  const build = (place: Place) => {
    let due = db
      .selectFrom('jobs')
      .select(['id', 'organisation_id'])
      .where('due_at', '<=', place('at'))
      .where('kind', 'in', lists.kind.places(place))
      .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', place('at'))]))
    if (passed.length > 0)
      due = due.where(eb => eb.fn.coalesce('organisation_id', eb.val('')), 'not in', lists.owner.places(place))
    if (taken.length > 0) due = due.where('id', 'not in', lists.id.places(place))
    return due.orderBy('due_at').limit(WINDOW)
  }
  const [owners, ids] = [passed, taken].map(({ length }, i) => (length === 0 ? 0 : [lists.owner, lists.id][i]!.length))
  return rowsOf(db, `due jobs of ${lists.kind.length} kinds without ${owners} owners, ${ids} jobs`, build, {
    at,
    ...lists.kind.values,
    ...lists.owner.values,
    ...lists.id.values,
  })
}

/** Makes this node's previous process's running jobs due at once: that process is dead. To be called before anything is claimed. */
export async function releaseInterruptedJobs({ db }: { db: Db }): Promise<void> {
  const free = db.updateTable('jobs').set({ lease: null, leased_until: null })
  await free.where('node', '=', nodeOf(db)).where('lease', 'is not', null).execute()
}

/** Extends the leases that are still ours, and returns these jobs with their new leases. */
export async function renewLeases(
  db: Db,
  jobs: ClaimedJob[],
  times: { now: Date; leaseMs: number },
): Promise<ClaimedJob[]> {
  const leased_until = later(times)
  const [ids, leases] = [jobs.map(({ id }) => id), [...new Set(jobs.map(({ lease }) => lease))]]
  const ours = db.updateTable('jobs').where('id', 'in', ids).where('lease', 'in', leases)
  const renewed = await ours.set({ leased_until }).returning(['id', 'lease']).execute()
  return jobs
    .filter(job => renewed.some(({ id, lease }) => id === job.id && lease === job.lease))
    .map(job => Object.assign(job, { leased_until }))
}

const later = ({ now, leaseMs }: { now: Date; leaseMs: number }): string =>
  new Date(now.getTime() + leaseMs).toISOString()

/**
 * Ends a claim: the job is done and is deleted. If it was enqueued again meanwhile, it stays for its own attempt. False if the lease
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

/** Changes to a job whose attempt did not finish it. */
export type Leaving = Partial<Pick<JobRow, 'due_at' | 'attempts' | 'last_error' | 'key'>>

/** Ends a claim and leaves the job for later, or for good. If it was enqueued again meanwhile, it stays as enqueued. */
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

/** Makes retries due that wait for longer than `waitMs` says: the clock was set back since they were planned. Looks at the `limit` last ones. */
export async function hastenRetries(db: Db, now: Date, limit: number, waitMs: (job: JobRow) => number): Promise<void> {
  const due_at = now.toISOString()
  const retries = db.selectFrom('jobs').selectAll().where('due_at', '>', due_at).where('attempts', '>', 0)
  const rows = await retries.where('lease', 'is', null).orderBy('due_at', 'desc').limit(limit).execute()
  const ids = rows.filter(job => Date.parse(job.due_at ?? '') - now.getTime() > waitMs(job)).map(({ id }) => id)
  const waiting = db.updateTable('jobs').where('id', 'in', ids).where('lease', 'is', null).where('attempts', '>', 0)
  if (ids.length > 0) await waiting.set({ due_at }).execute()
}

/** Deletes up to `limit` given-up jobs that were enqueued before `before`. Returns the number. */
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
