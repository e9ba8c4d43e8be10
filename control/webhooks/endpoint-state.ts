import { appendEvent } from '../kernel/events/log.ts'
import { rowBy } from '../kernel/store/compiled.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { overlaps, toWebhookEndpoint } from './endpoint-schema.ts'
import { DISABLE_AFTER_MS } from './schedule.ts'
import type { SigningKey } from './sign.ts'
import type { WebhookEndpointRow } from './tables.ts'

type DisabledReason = 'gone' | 'failing' | 'requested'

/** The keys that sign now: the current one and, during a rotation's overlap, the previous one. */
export function signingKeys(row: WebhookEndpointRow, vault: Pick<Vault, 'open'>, now: Date): SigningKey[] {
  const keys: SigningKey[] = [{ algorithm: row.algorithm, secret: vault.open(row.signing_key, row.id) }]
  if (overlaps(row, now) && row.previous_algorithm !== null && row.previous_signing_key !== null) {
    keys.push({ algorithm: row.previous_algorithm, secret: vault.open(row.previous_signing_key, row.id) })
  }
  return keys
}

/** Notes a success, after which earlier failures no longer count. */
export async function noteSuccess(trx: Trx, endpointId: string): Promise<void> {
  const row = await rowBy(trx, 'webhook_endpoints', { id: endpointId })
  if (row === undefined || row.failing_since === null) return
  await trx.updateTable('webhook_endpoints').set({ failing_since: null }).where('id', '=', endpointId).execute()
}

/** Notes a failure. Status 410 (`gone`), or failures for days without a success in between, disable the endpoint. */
export async function noteFailure(trx: Trx, endpointId: string, gone: boolean, now: Date): Promise<void> {
  await trx
    .updateTable('webhook_endpoints')
    .set({ failing_since: now.toISOString() })
    .where('id', '=', endpointId)
    .where('failing_since', 'is', null)
    .execute()
  const row = await trx
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('id', '=', endpointId)
    .where('status', '=', 'enabled')
    .executeTakeFirst()
  if (row === undefined) return
  const failingMs = row.failing_since === null ? 0 : now.getTime() - Date.parse(row.failing_since)
  if (gone) await disable(trx, row, 'gone', now)
  else if (failingMs >= DISABLE_AFTER_MS) await disable(trx, row, 'failing', now)
}

/** Disables an endpoint. An event tells the organisation's other endpoints, since no client has asked for this. */
async function disable(trx: Trx, row: WebhookEndpointRow, reason: DisabledReason, now: Date): Promise<void> {
  const at = now.toISOString()
  const change = { status: 'disabled' as const, disabled_reason: reason, updated: at }
  const { numUpdatedRows } = await trx
    .updateTable('webhook_endpoints')
    .set(change)
    .where('id', '=', row.id)
    .where('status', '=', 'enabled')
    .executeTakeFirst()
  // Another control process has already done it.
  if (numUpdatedRows === 0n) return
  await abandonPending(trx, at, row.id)
  await appendEvent(trx, tenantOf(row), {
    type: 'webhook_endpoint.disabled',
    at,
    object: toWebhookEndpoint({ ...row, ...change }, now),
    before: toWebhookEndpoint(row, now),
  })
}

/** Deliveries of one transaction: calls wait for it. */
export const MOST_ABANDONED = 200

/**
 * Fails pending deliveries of disabled endpoints, or of this one, so that they do not arrive unexpectedly later. A replay can send them. Returns how
 * many: after `MOST_ABANDONED` the dispatcher goes on with the rest.
 */
export async function abandonPending(db: Db, at: string, endpointId?: string): Promise<number> {
  const disabled = db.selectFrom('webhook_endpoints').select('id').where('status', '=', 'disabled')
  const these = endpointId === undefined ? disabled : disabled.where('id', '=', endpointId)
  const pending = db.selectFrom('webhook_deliveries').select('id').where('status', '=', 'pending')
  const some = pending.where('endpoint_id', 'in', these).limit(MOST_ABANDONED)
  const free = { next_attempt_at: null, lease: null, leased_until: null, updated: at }
  const { numUpdatedRows } = await db
    .updateTable('webhook_deliveries')
    .set({ status: 'failed', error: 'endpoint_disabled', ...free })
    .where('id', 'in', some)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
