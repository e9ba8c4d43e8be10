import type { Updateable } from 'kysely'
import { forgetOld } from '../kernel/jobs/forget.ts'
import { hmac, seal, sha256, unseal } from '../kernel/secrets.ts'
import { insertNew } from '../kernel/store/compiled.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { type Problem, problem } from './errors.ts'

const WINDOW_MS = 24 * 60 * 60 * 1000
export const MAX_KEY_LENGTH = 255
/** How long an attempt of a dead node locks its key. */
export const ATTEMPT_LEASE_MS = 60_000

/** At most this many unwritten answers are retried at once; for others a retry waits until the lease expires. */
const MAX_UNWRITTEN = 1000

/** The attempts that run in this process, and the outcomes that could not be written. */
interface Ledger {
  /** The hashes of their keys, by attempt. */
  running: Map<string, string>
  unwritten: { attempt: Attempt; outcome: Outcome }[]
}

const ledgers = new WeakMap<Store['db'], Ledger>()

const nameOf = ({ tenant, method, path, key }: Attempt): string =>
  JSON.stringify([tenant.organisationId, tenant.livemode, method, path, key])

function ledgerOf(db: Store['db']): Ledger {
  const known = ledgers.get(db)
  if (known !== undefined) return known
  const ledger: Ledger = { running: new Map(), unwritten: [] }
  ledgers.set(db, ledger)
  return ledger
}

/** One request under an `Idempotency-Key`; keys are scoped to organisation, mode, method and path. */
export interface Attempt {
  tenant: Tenant
  method: string
  path: string
  key: string
}

export interface Replay {
  status: number
  body: string
}

/** `first`: carry it out. `resumed`: carry it out again, because the previous attempt was interrupted and committed nothing. */
export type Entry = 'first' | 'resumed'

/**
 * Registers an attempt, or returns the answer of the previous one, or a problem.
 *
 * Neither the parameters (which may include a PIN) nor the answer (which may include a new key's secret) can be read from the
 * database: the row has a hash of the key, a fingerprint keyed by it, and the answer sealed by it.
 */
export async function beginAttempt(
  store: Store,
  attempt: Attempt,
  parameters: unknown,
  now: Date,
): Promise<Entry | Replay | Problem> {
  const { method, path, key, tenant } = attempt
  const fingerprint = hmac(key, canonicalJson(parameters))
  const at = now.toISOString()
  const row = {
    ...ownedBy(tenant),
    method,
    path,
    key: sha256(key),
    fingerprint,
    created: at,
    lease: nodeOf(store.db),
    leased_until: leaseFrom(now),
  }
  const insert = () => insertNew(store.db, 'idempotency_keys', { ...row, status: null, body: null })
  if ((await insert()) || ((await isOver(store.db, attempt, now)) && (await insert()))) {
    ledgerOf(store.db).running.set(nameOf(attempt), row.key)
    return 'first'
  }
  const rows = forTenant(store.db, tenant).select('idempotency_keys').selectAll()
  const before = await matching(rows, attempt).executeTakeFirst()
  if (before !== undefined && before.fingerprint !== fingerprint) {
    return problem('idempotency_key_reused', 'This Idempotency-Key was used with other parameters.')
  }
  const isRunning = before === undefined || (before.leased_until ?? '') > at
  if (!isRunning && before.status !== null && before.body !== null) {
    return { status: before.status, body: unseal(before.body, key) }
  }
  if (!isRunning && (await takeOver(store, attempt, now))) {
    ledgerOf(store.db).running.set(nameOf(attempt), row.key)
    return 'resumed'
  }
  return problem('idempotency_key_in_use', 'The first request with this Idempotency-Key is still running.')
}

/** Whether the attempt of an earlier time under this key no longer counts, and is deleted: the others are when their turn comes (`forgetAttempts`). */
async function isOver(db: Db, attempt: Attempt, now: Date): Promise<boolean> {
  const before = matching(forTenant(db, attempt.tenant).delete('idempotency_keys'), attempt)
  const { numDeletedRows } = await before.where('created', '<=', forgottenBy(now)).executeTakeFirst()
  return numDeletedRows > 0n
}

const forgottenBy = (now: Date): string => new Date(now.getTime() - WINDOW_MS).toISOString()

/** Deletes what no retry can get any more. To be called regularly. */
export const forgetAttempts = (store: Store, now: Date): Promise<void> =>
  forgetOld(store, 'idempotency_keys', 'created', forgottenBy(now))

/** If several requests find an interrupted attempt, one of them takes it over. */
async function takeOver(store: Store, attempt: Attempt, now: Date): Promise<boolean> {
  const mine = { lease: nodeOf(store.db), leased_until: leaseFrom(now) }
  const { numUpdatedRows } = await rowOf(store.db, attempt, mine)
    .where('status', 'is', null)
    .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', now.toISOString())]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/**
 * Stores an answer in the transaction of its effect: if this process dies before sending it, a retry gets it.
 * Throws, and so rolls the effect back, if another node has taken over the attempt meanwhile.
 */
export async function keepAnswer(trx: Trx, attempt: Attempt, { status, body }: Replay): Promise<void> {
  const kept = rowOf(trx, attempt, { status, body: seal(body, attempt.key) }).where('lease', '=', nodeOf(trx))
  if ((await kept.executeTakeFirst()).numUpdatedRows === 0n) throw new Error('another node has taken the attempt over')
}

/** The outcome of an attempt: its answer; `forgotten`: to be retried from the beginning; `broken`: it failed at an unknown point. */
export type Outcome = Replay | 'forgotten' | 'broken'

/**
 * A retry gets the same answer that was sent. A broken attempt has the answer that was stored with its effect, or none. An outcome that
 * cannot be written now is written later. Until then a retry is told that the first request is still running, at most until its lease expires.
 */
export async function endAttempt({ db }: Store, attempt: Attempt, outcome: Outcome): Promise<void> {
  const { running, unwritten } = ledgerOf(db)
  running.delete(nameOf(attempt))
  try {
    await writeOutcome(db, attempt, outcome)
  } catch (error) {
    if (unwritten.length < MAX_UNWRITTEN) unwritten.push({ attempt, outcome })
    throw error
  }
}

async function writeOutcome(db: Db, attempt: Attempt, outcome: Outcome): Promise<void> {
  const node = nodeOf(db)
  if (outcome === 'forgotten') {
    const forgotten = matching(forTenant(db, attempt.tenant).delete('idempotency_keys'), attempt)
    await forgotten.where('lease', '=', node).execute()
    return
  }
  const answer = outcome === 'broken' ? {} : { status: outcome.status, body: seal(outcome.body, attempt.key) }
  await rowOf(db, attempt, { ...answer, ...RELEASED })
    .where('lease', '=', node)
    .execute()
}

const RELEASED = { lease: null, leased_until: null }

/**
 * Renews the leases of attempts that run in this process, and writes the outcomes that could not be written. To be called well within `ATTEMPT_LEASE_MS`.
 */
export async function renewAttempts({ db }: Store, now: Date): Promise<void> {
  const { running, unwritten } = ledgerOf(db)
  for (const late of unwritten.splice(0))
    await writeOutcome(db, late.attempt, late.outcome).catch(() => unwritten.push(late))
  if (running.size === 0) return
  await db
    .updateTable('idempotency_keys')
    .set({ leased_until: leaseFrom(now) })
    .where('lease', '=', nodeOf(db))
    .where('key', 'in', [...running.values()])
    .execute()
}

/**
 * Releases the attempts that this node's process left unfinished when it died, so that retries get the stored answer, or act. To be
 * called before the first request. Attempts of other nodes may still be running.
 */
export async function releaseInterruptedAttempts({ db }: Store): Promise<void> {
  await db.updateTable('idempotency_keys').set(RELEASED).where('lease', '=', nodeOf(db)).execute()
}

const leaseFrom = (now: Date): string => new Date(now.getTime() + ATTEMPT_LEASE_MS).toISOString()

const rowOf = (db: Db, attempt: Attempt, change: Updateable<Database['idempotency_keys']>) =>
  matching(forTenant(db, attempt.tenant).update('idempotency_keys').set(change), attempt)

function matching<Q extends { where(column: never, op: never, value: never): unknown }>(query: Q, attempt: Attempt): Q {
  const whereable = query as unknown as { where(column: string, op: string, value: string): typeof whereable }
  return whereable
    .where('method', '=', attempt.method)
    .where('path', '=', attempt.path)
    .where('key', '=', sha256(attempt.key)) as unknown as Q
}

/** JSON with sorted keys, so that equal parameters give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
