import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { toConsent } from './schema.ts'
import type { ConsentRow, Evidence, Purpose } from './tables.ts'

/** The key of the only valid consent of a number for a purpose. */
export const standingOf = ({ phone, purpose }: { phone: string; purpose: Purpose }): string => `${purpose} ${phone}`

/** A consent that was given. */
export interface Given {
  /** E.164. */
  phone: string
  purpose: Purpose
  evidence: Evidence
  given_at: string
  expires_at: string | null
  metadata?: Record<string, string>
}

export const newConsent = (tenant: Tenant, given: Given, at: string): ConsentRow => ({
  id: newId('consent'),
  ...ownedBy(tenant),
  phone: given.phone,
  purpose: given.purpose,
  standing: standingOf(given),
  evidence: JSON.stringify(given.evidence),
  given_at: given.given_at,
  expires_at: given.expires_at,
  replaced_at: null,
  revoked_at: null,
  revoked_reason: null,
  revoked_call_id: null,
  metadata: JSON.stringify(given.metadata ?? {}),
  created: at,
  updated: at,
})

/** Stores a consent, which replaces the valid one of the same number and purpose. */
export async function giveConsent(trx: Trx, tenant: Tenant, given: Given, { at }: { at: string }): Promise<ConsentRow> {
  const row = newConsent(tenant, given, at)
  const scoped = forTenant(trx, tenant)
  const before = scoped.update('consents').set({ standing: null, replaced_at: at, updated: at })
  await before.where('standing', '=', standingOf(given)).execute()
  await scoped.insert('consents', row)
  const object = toConsent(row, new Date(at))
  const callId = given.evidence.call_id
  await appendEvent(trx, tenant, { type: 'consent.created', at, object, ...(callId === null ? {} : { callId }) })
  return row
}

/** Revokes a valid consent. */
export async function revokeConsent(
  trx: Trx,
  tenant: Tenant,
  row: ConsentRow,
  { at, reason, callId }: { at: string; reason: string; callId: string | null },
): Promise<ConsentRow> {
  const change = { standing: null, revoked_at: at, revoked_reason: reason, revoked_call_id: callId, updated: at }
  await forTenant(trx, tenant).change('consents', row.id, change)
  const revoked = { ...row, ...change }
  await appendEvent(trx, tenant, {
    type: 'consent.revoked',
    at,
    object: toConsent(revoked, new Date(at)),
    before: toConsent(row, new Date(at)),
    ...(callId === null ? {} : { callId }),
  })
  return revoked
}
