import { hmac, seal, sha256, unseal } from '../secrets.ts'
import type { Store } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import { type Problem, problem } from './errors.ts'

const WINDOW_MS = 24 * 60 * 60 * 1000
export const MAX_KEY_LENGTH = 255

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
  const row = { method, path, key: sha256(key), fingerprint, status: null, body: null, created: now.toISOString() }
  const inserted = await store.db
    .insertInto('idempotency_keys')
    .values({ ...row, organisation_id: tenant.organisationId, livemode: tenant.livemode ? 1 : 0 })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  if (inserted.numInsertedOrUpdatedRows === 1n) return null
  const first = await rowOf(store, attempt).executeTakeFirst()
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
  if (status >= 500 || status === 429 || body === null) {
    await matching(forTenant(store.db, attempt.tenant).delete('idempotency_keys'), attempt).execute()
    return
  }
  const sealed = { status, body: seal(body, attempt.key) }
  await matching(forTenant(store.db, attempt.tenant).update('idempotency_keys').set(sealed), attempt).execute()
}

/** Forgets attempts that a control process left unfinished when it died; to be called before the first request. */
export async function forgetInterruptedAttempts(store: Store): Promise<void> {
  await store.db.deleteFrom('idempotency_keys').where('status', 'is', null).execute()
}

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
