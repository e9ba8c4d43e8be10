import { sql } from 'kysely'
import { SUSPENDED } from '../http/auth.ts'
import { type Problem, problem } from '../http/errors.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { written } from '../kernel/store/after-commit.ts'
import { rowBy } from '../kernel/store/compiled.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import type { PartnerOrganisationRow } from '../kernel/store/tables.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import { type CallLimit, limitsOf, reachedBy, toPartnerOrganisation } from './client.ts'

const MINUTE_MS = 60_000
const BUSY_RETRY_S = 5
/** Minimum interval between reports of the same limit. */
const TELL_EVERY_MS = 60 * MINUTE_MS

/** Why an organisation that a partner manages may not have one more call, of which the partner is notified. Null: it may. `at`: ISO 8601 UTC. */
export async function callProblem(trx: Trx, tenant: Tenant, at: string): Promise<Problem | null> {
  const row = await rowBy(trx, 'partner_organisations', { id: tenant.organisationId })
  if (row === undefined) return null
  const { concurrent_calls: most } = limitsOf(row)
  if (row.suspended === 0 && most !== null && (await running(trx, tenant, most)) >= most) {
    await tellReached(trx, row, 'concurrent_calls', at)
    const message = 'The organisation has reached the concurrent calls of its plan.'
    return problem('capacity_exhausted', message, { retryAfterS: BUSY_RETRY_S })
  }
  const refused = await legProblem(trx, tenant, at)
  if (refused?.problem === 'plan_limit') await tellReached(trx, row, 'call_minutes_per_month', at)
  return refused
}

/** Why no further leg may be dialled for a running call, which is already counted; null: one may. */
export async function legProblem(db: Db, tenant: Tenant, at: string): Promise<Problem | null> {
  const row = await rowBy(db, 'partner_organisations', { id: tenant.organisationId })
  if (row === undefined) return null
  if (row.suspended === 1) return SUSPENDED
  const { call_minutes_per_month: minutes } = limitsOf(row)
  if (minutes !== null && (await talkedMs(db, tenant, at.slice(0, 7))) >= minutes * MINUTE_MS) {
    return problem('plan_limit', 'The organisation has reached the minutes of its plan for this month.')
  }
  return null
}

/** The problem if the organisation is suspended; null: it is not. */
export async function suspensionOf(
  db: Db,
  { organisationId }: Pick<Tenant, 'organisationId'>,
): Promise<Problem | null> {
  const row = await rowBy(db, 'partner_organisations', { id: organisationId })
  return row?.suspended === 1 ? SUSPENDED : null
}

/** Notifies the partner that a call could not begin. */
async function tellReached(trx: Trx, row: PartnerOrganisationRow, limit: CallLimit, at: string): Promise<void> {
  const before = reachedBy(row)
  const last = before[limit]
  if (last !== null && Date.parse(at) - Date.parse(last) < TELL_EVERY_MS) return
  const limits_reached = JSON.stringify({ ...before, [limit]: at })
  const partner = tenantOf(row)
  await forTenant(trx, partner).change('partner_organisations', row.id, { limits_reached })
  const object = toPartnerOrganisation({ ...row, limits_reached })
  await appendEvent(trx, partner, { type: 'partner.organisation.limit_reached', at, object })
}

async function running(db: Db, tenant: Tenant, most: number): Promise<number> {
  const rows = await sql<{ id: string }>`select id from calls where organisation_id = ${tenant.organisationId}
    and livemode = ${tenant.livemode ? 1 : 0} and kind = 'party' and ended_at is null limit ${sql.lit(most)}`.execute(
    db,
  )
  return rows.rows.length
}

/** Duration of calls that began in a month (`2026-11`) [ms]. */
async function talkedMs(db: Db, tenant: Tenant, month: string): Promise<number> {
  await written(db)
  const row = await forTenant(db, tenant)
    .select('usage_entries')
    .select(({ fn }) => fn.sum<number | string | null>('quantity').as('ms'))
    .where('meter', '=', 'call_ms')
    .where('at', '>=', month)
    .where('at', '<', `${month}~`)
    .executeTakeFirst()
  return Number(row?.ms ?? 0)
}
