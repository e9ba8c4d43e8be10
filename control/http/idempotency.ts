import { nodeOf } from '../databases/node.ts'
import { hmac, seal, sha256, unseal } from '../secrets.ts'
import type { Store } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import { type Problem, problem } from './errors.ts'

const WINDOW_MS = 24 * 60 * 60 * 1000
export const MAX_KEY_LENGTH = 255
/** How long the attempt of a dead node holds its key. */
export const ATTEMPT_LEASE_MS = 60_000
/** No request takes as long. */
const LONGEST_ATTEMPT_MS = 60 * 60 * 1000

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

/**
 * Enters an attempt: null when it is the first and shall act, the stored answer of the first, or why not.
 *
 * Neither the parameters (a PIN may be among them) nor the answer (a new key's secret may be in it) can be read from the
 * database: the row holds a hash of the key, a fingerprint keyed by it, and the answer sealed by it.
 */
export async function beginAttempt(
  store: Store,
  attempt: Attempt,
  parameters: unknown,
  now: Date,
): Promise<Replay | Problem | null> {
  const { method, path, key, tenant } = attempt
  const fingerprint = hmac(key, canonicalJson(parameters))
  const cutoff = new Date(now.getTime() - WINDOW_MS).toISOString()
  await store.db.deleteFrom('idempotency_keys').where('created', '<=', cutoff).execute()
  const at = now.toISOString()
  const row = {
    organisation_id: tenant.organisationId,
    livemode: tenant.livemode ? 1 : 0,
    method,
    path,
    key: sha256(key),
    fingerprint,
    created: at,
    lease: nodeOf(store.db),
    leased_until: leaseFrom(now),
  }
  const enter = async (): Promise<boolean> => {
    const inserting = store.db.insertInto('idempotency_keys').values({ ...row, status: null, body: null })
    const { numInsertedOrUpdatedRows } = await inserting.onConflict(conflict => conflict.doNothing()).executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  if (await enter()) return null
  const first = await rowOf(store, attempt).executeTakeFirst()
  if (first !== undefined && first.status === null && (first.leased_until ?? '') <= at) {
    // Its node has died. Of several that find it so, one deletes it as it is and enters.
    const dead = matching(forTenant(store.db, tenant).delete('idempotency_keys'), attempt)
    await dead.where('status', 'is', null).where('leased_until', '<=', at).execute()
    if (await enter()) return null
  }
  if (first !== undefined && first.fingerprint !== fingerprint) {
    return problem('idempotency_key_reused', 'This Idempotency-Key was used with other parameters.')
  }
  if (first === undefined || first.status === null || first.body === null) {
    return problem('idempotency_key_in_use', 'The first request with this Idempotency-Key is still running.')
  }
  return { status: first.status, body: unseal(first.body, key) }
}

/**
 * Keeps the answer of the first attempt; a failure of ours (5xx) or a 429 is forgotten, for it is to be tried again, and so is a
 * streamed answer, whose `body` is null.
 */
export async function endAttempt(store: Store, attempt: Attempt, status: number, body: string | null): Promise<void> {
  const node = nodeOf(store.db)
  if (status >= 500 || status === 429 || body === null) {
    const forgotten = matching(forTenant(store.db, attempt.tenant).delete('idempotency_keys'), attempt)
    await forgotten.where('lease', '=', node).execute()
    return
  }
  const sealed = { status, body: seal(body, attempt.key), lease: null, leased_until: null }
  const kept = matching(forTenant(store.db, attempt.tenant).update('idempotency_keys').set(sealed), attempt)
  await kept.where('lease', '=', node).execute()
}

/** Keeps the attempts under way in this process from being taken for dead; to be called well within `ATTEMPT_LEASE_MS`. */
export async function renewAttempts({ db }: Store, now: Date): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ leased_until: leaseFrom(now) })
    .where('lease', '=', nodeOf(db))
    .where('created', '>', new Date(now.getTime() - LONGEST_ATTEMPT_MS).toISOString())
    .execute()
}

/**
 * Forgets attempts that this node's process left unfinished when it died; to be called before the first request. Those of
 * other nodes may be running.
 */
export async function forgetInterruptedAttempts({ db }: Store): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('lease', '=', nodeOf(db)).execute()
}

const leaseFrom = (now: Date): string => new Date(now.getTime() + ATTEMPT_LEASE_MS).toISOString()

const rowOf = (store: Store, attempt: Attempt) =>
  matching(forTenant(store.db, attempt.tenant).select('idempotency_keys').selectAll(), attempt)

function matching<Q extends { where(column: never, op: never, value: never): unknown }>(query: Q, attempt: Attempt): Q {
  const whereable = query as unknown as { where(column: string, op: string, value: string): typeof whereable }
  return whereable
    .where('method', '=', attempt.method)
    .where('path', '=', attempt.path)
    .where('key', '=', sha256(attempt.key)) as unknown as Q
}

/** JSON with the keys of every object in order, so that equal parameters give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
