import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { freeAgents } from '../queues/ringing/rounds.ts'
import { attempts, type Taking } from './calling.ts'
import { callsForAgents, type Reached } from './pacing.ts'
import { settingsOf } from './schema.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** Calls that agents could take; without end where no agents lead. */
export async function agentsCouldTake(
  deps: Pick<CallCentreParts, 'devicesOf'>,
  trx: Trx,
  tenant: Tenant,
  { campaign, settings, now }: Taking,
): Promise<number> {
  const { queue_id: queueId, mode, abandoned_limit_pct: limitPct } = settings
  if (queueId === null) return Number.POSITIVE_INFINITY
  // Agents say themselves when.
  if (mode === 'preview') return 0
  const free = await freeAgents(deps, trx, tenant, { queueId, now })
  if (free <= 0) return 0
  const ringing = await ringingFor(trx, tenant, queueId)
  const reached = await reachedBy(trx, tenant, campaign.id, now)
  return callsForAgents(mode, { free, ringing, reached, limitPct })
}

/** Calls of all campaigns whose answer needs an agent of this queue; those that an agent has asked for have theirs. */
async function ringingFor(trx: Trx, tenant: Tenant, queueId: string): Promise<number> {
  const scoped = forTenant(trx, tenant)
  const rows = await scoped
    .select('campaign_attempts')
    .select(['campaign_id', eb => eb.fn.countAll().as('n')])
    .where('user_id', 'is', null)
    .where('ended_at', 'is', null)
    .where('answered_at', 'is', null)
    // A machine that is still on the line needs nobody.
    .where(eb => eb.or([eb('answered_by', 'is', null), eb('answered_by', '=', 'human')]))
    .groupBy('campaign_id')
    .execute()
  if (rows.length === 0) return 0
  const ids = rows.map(row => row.campaign_id)
  const campaigns = await scoped.select('campaigns').select(['id', 'settings']).where('id', 'in', ids).execute()
  const ofQueue = new Set(campaigns.filter(row => settingsOf(row).queue_id === queueId).map(({ id }) => id))
  return rows.reduce((sum, row) => sum + (ofQueue.has(row.campaign_id) ? Number(row.n) : 0), 0)
}

/** What has become of a campaign's attempts in the last 24 hours. */
async function reachedBy(trx: Trx, tenant: Tenant, campaignId: string, now: Date): Promise<Reached> {
  const since = new Date(now.getTime() - DAY_MS).toISOString()
  const rows = await attempts(trx, tenant)
    .select(['result', eb => eb.fn.countAll().as('n')])
    .where('campaign_id', '=', campaignId)
    .where('started_at', '>', since)
    .where('result', 'is not', null)
    .groupBy('result')
    .execute()
  const count = (result: string) => Number(rows.find(row => row.result === result)?.n ?? 0)
  const tried = rows.reduce((sum, row) => sum + Number(row.n), 0)
  const abandoned = count('abandoned')
  return { tried, answered: count('answered') + abandoned, abandoned }
}
