import { type Problem, problem } from '../http/errors.ts'
import { type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { doNotCallProblem, numberIn } from '../trunks/do-not-call.ts'
import { standingOf } from './standing.ts'
import type { ConsentRow, Purpose } from './tables.ts'

/** The purposes that an organisation may demand a consent for (`require_consent`). */
const DEMANDABLE = ['call', 'record'] as const satisfies readonly Purpose[]
type Demandable = (typeof DEMANDABLE)[number]

const demandsOf = (json: string | null): Demandable[] => (json === null ? [] : JSON.parse(json))

/** Whether the organisation requires a consent for this purpose. */
export async function isDemanded(db: Db, { organisationId: id }: Tenant, purpose: Demandable): Promise<boolean> {
  const build = (place: Place) => db.selectFrom('organisations').select('require_consent').where('id', '=', place('id'))
  const row = await rowOf(db, 'consents demanded', build, { id })
  return demandsOf(row?.require_consent ?? null).includes(purpose)
}

/** The valid consent of a number (E.164) at this time; undefined: none. */
export async function consentOf(
  db: Db,
  tenant: Tenant,
  { phone, purpose, at }: { phone: string; purpose: Purpose; at: string },
): Promise<ConsentRow | undefined> {
  const row = await forTenant(db, tenant).findBy('consents', { standing: standingOf({ phone, purpose }) })
  return row === undefined || (row.expires_at !== null && row.expires_at <= at) ? undefined : row
}

/** Whether a party may be recorded: no consent is required, or the number has given one. `address`: a number or SIP URI. */
export async function mayRecord(db: Db, tenant: Tenant, address: string, at: string): Promise<boolean> {
  if (!(await isDemanded(db, tenant, 'record'))) return true
  const phone = numberIn(address)
  return phone !== null && (await consentOf(db, tenant, { phone, purpose: 'record', at })) !== undefined
}

/** Why a number must not be dialled by the organisation's own rules: a required consent is missing. SIP addresses need none. */
export async function unwantedCallProblem(db: Db, tenant: Tenant, to: string, at: string): Promise<Problem | null> {
  if (numberIn(to) === null || !(await isDemanded(db, tenant, 'call'))) return null
  return consentProblem(db, tenant, { to, purpose: 'call', at })
}

/**
 * The single check before anybody is contacted: why a number or SIP URI must not be dialled. The do-not-call list comes first, then the
 * consent to be called if the organisation requires it, then further purposes (`marketing`).
 */
export async function contactProblem(
  db: Db,
  tenant: Tenant,
  { to, purposes = [], at }: { to: string; purposes?: readonly Purpose[]; at: string },
): Promise<Problem | null> {
  const blocked = (await doNotCallProblem(db, tenant, to)) ?? (await unwantedCallProblem(db, tenant, to, at))
  if (blocked !== null) return blocked
  for (const purpose of purposes) {
    const lacking = await consentProblem(db, tenant, { to, purpose, at })
    if (lacking !== null) return lacking
  }
  return null
}

async function consentProblem(
  db: Db,
  tenant: Tenant,
  { to, purpose, at }: { to: string; purpose: Purpose; at: string },
): Promise<Problem | null> {
  const phone = numberIn(to)
  if (phone !== null && (await consentOf(db, tenant, { phone, purpose, at })) !== undefined) return null
  return consentMissing(purpose, to)
}

export const consentMissing = (purpose: Purpose, who: string): Problem =>
  problem('consent_missing', `There is no valid consent of ${who} (${purpose}).`, {
    param: 'to',
    details: { purpose },
  })
