import Type, { type Static } from 'typebox'
import { nullable } from '../kernel/schema.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { ATTEMPT_RESULTS, type AttemptResult } from './outcomes.ts'
import { CONTACT_STATUSES, type ContactStatus, ON_CALL } from './states.ts'
import type { CampaignRow } from './tables.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const counts = <K extends string>(names: readonly K[]) =>
  Type.Object(Object.fromEntries(names.map(name => [name, Type.Integer()])) as Record<K, Type.TInteger>)

const results = counts(ATTEMPT_RESULTS)

export const statsSchema = Type.Object({
  object: Type.Literal('campaign_stats'),
  livemode: Type.Boolean(),
  campaign_id: Type.String(),
  contacts: counts(CONTACT_STATUSES),
  calls_running: Type.Integer(),
  attempts: Type.Object({ total: results, last_24_hours: results }, { description: 'Finished attempts, by result.' }),
  answer_rate: nullable(
    Type.Number({
      description: 'Answered share of the attempts of the last 24 hours, 0 to 1; null: there are none.',
    }),
  ),
  abandoned_rate: nullable(
    Type.Number({
      description: 'Share of the calls answered within 24 hours that no agent reached, 0 to 1; null: there are none.',
    }),
  ),
})
type CampaignStats = Static<typeof statsSchema>

export async function campaignStats(db: Db, tenant: Tenant, { id }: CampaignRow, now: Date): Promise<CampaignStats> {
  const byStatus = await forTenant(db, tenant)
    .select('campaign_contacts')
    .select(['status', eb => eb.fn.countAll().as('count')])
    .where('campaign_id', '=', id)
    .groupBy('status')
    .execute()
  const contacts = Object.fromEntries(CONTACT_STATUSES.map(name => [name, 0])) as Record<ContactStatus, number>
  for (const { status, count } of byStatus) contacts[status] = Number(count)
  const total = await resultsSince(db, tenant, id, '')
  const day = await resultsSince(db, tenant, id, new Date(now.getTime() - DAY_MS).toISOString())
  const tried = ATTEMPT_RESULTS.filter(result => result !== 'capacity').reduce((sum, result) => sum + day[result], 0)
  const reached = day.answered + day.abandoned
  return {
    object: 'campaign_stats',
    livemode: tenant.livemode,
    campaign_id: id,
    contacts,
    calls_running: ON_CALL.reduce((sum, status) => sum + contacts[status], 0),
    attempts: { total, last_24_hours: day },
    answer_rate: tried === 0 ? null : reached / tried,
    abandoned_rate: reached === 0 ? null : day.abandoned / reached,
  }
}

export async function resultsSince(
  db: Db,
  tenant: Tenant,
  campaignId: string,
  since: string,
): Promise<Record<AttemptResult, number>> {
  const rows = await forTenant(db, tenant)
    .select('campaign_attempts')
    .select(['result', eb => eb.fn.countAll().as('count')])
    .where('campaign_id', '=', campaignId)
    .where('started_at', '>', since)
    .where('result', 'is not', null)
    .groupBy('result')
    .execute()
  const counted = Object.fromEntries(ATTEMPT_RESULTS.map(name => [name, 0])) as Record<AttemptResult, number>
  for (const { result, count } of rows) if (result !== null) counted[result] = Number(count)
  return counted
}
