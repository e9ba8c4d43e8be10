import { sql } from 'kysely'
import { SUSPENDED } from '../http/auth.ts'
import { type Problem, problem } from '../http/errors.ts'
import { rowBy } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import type { PartnerOrganisationRow } from '../kernel/store/tables.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'

/** What a plan allows; null: no limit. */
export interface Limits {
  requests_per_second: number | null
  concurrent_calls: number | null
  call_minutes_per_month: number | null
}

export const DEFAULT_LIMITS: Limits = {
  requests_per_second: null,
  concurrent_calls: null,
  call_minutes_per_month: null,
}

export const limitsOf = ({ limits }: Pick<PartnerOrganisationRow, 'limits'>): Limits => JSON.parse(limits)

const MINUTE_MS = 60_000
const BUSY_RETRY_S = 5

/** Why an organisation that another one runs may not have one more call; null: it may. `at`: ISO-8601 UTC. */
export async function callProblem(db: Db, tenant: Tenant, at: string): Promise<Problem | null> {
  const row = await rowBy(db, 'partner_organisations', { id: tenant.organisationId })
  if (row === undefined) return null
  const { concurrent_calls: most } = limitsOf(row)
  if (row.suspended === 0 && most !== null && (await running(db, tenant, most)) >= most) {
    const message = 'The organisation has as many calls at once as its plan allows.'
    return problem('capacity_exhausted', message, { retryAfterS: BUSY_RETRY_S })
  }
  return legProblem(db, tenant, at)
}

/** Why nobody outside may be called for a call that runs already, and so counts already; null: somebody may. */
export async function legProblem(db: Db, tenant: Tenant, at: string): Promise<Problem | null> {
  const row = await rowBy(db, 'partner_organisations', { id: tenant.organisationId })
  if (row === undefined) return null
  if (row.suspended === 1) return SUSPENDED
  const { call_minutes_per_month: minutes } = limitsOf(row)
  if (minutes !== null && (await talkedMs(db, tenant, at.slice(0, 7))) >= minutes * MINUTE_MS) {
    return problem('plan_limit', 'The organisation has used up the minutes of this month.')
  }
  return null
}

/** Null: nobody has suspended it. */
export async function suspensionOf(
  db: Db,
  { organisationId }: Pick<Tenant, 'organisationId'>,
): Promise<Problem | null> {
  const row = await rowBy(db, 'partner_organisations', { id: organisationId })
  return row?.suspended === 1 ? SUSPENDED : null
}

async function running(db: Db, tenant: Tenant, most: number): Promise<number> {
  const rows = await sql<{ id: string }>`select id from calls where organisation_id = ${tenant.organisationId}
    and livemode = ${tenant.livemode ? 1 : 0} and kind = 'party' and ended_at is null limit ${most}`.execute(db)
  return rows.rows.length
}

/** Of calls that began in a month (`2026-11`). */
async function talkedMs(db: Db, tenant: Tenant, month: string): Promise<number> {
  const row = await forTenant(db, tenant)
    .select('usage_entries')
    .select(({ fn }) => fn.sum<number | string | null>('quantity').as('ms'))
    .where('meter', '=', 'call_ms')
    .where('at', '>=', month)
    .where('at', '<', `${month}~`)
    .executeTakeFirst()
  return Number(row?.ms ?? 0)
}
