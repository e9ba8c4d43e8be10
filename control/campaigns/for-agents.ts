import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { freeAgents } from '../queues/ringing/rounds.ts'
import type { Taking } from './calling.ts'
import { callsForAgents, type Reached } from './pacing.ts'
import { settingsOf } from './schema.ts'
import { resultsSince } from './stats.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** How many more calls agents could take; infinite if no queue leads the campaign. */
export async function agentsCouldTake(
  deps: Pick<CallCentreParts, 'devicesOf'>,
  trx: Trx,
  tenant: Tenant,
  { campaign, settings, now }: Taking,
): Promise<number> {
  const { queue_id: queueId, mode, abandoned_limit_pct: limitPct } = settings
  if (queueId === null) return Number.POSITIVE_INFINITY
  // In preview, agents begin the calls themselves.
  if (mode === 'preview') return 0
  const free = await freeAgents(deps, trx, tenant, { queueId, now })
  if (free <= 0) return 0
  const { ringing, leaving } = await inTheAir(trx, tenant, { queueId, campaignId: campaign.id })
  const { tried, answered, abandoned } = await reachedBy(trx, tenant, campaign.id, now)
  const reached = { tried, answered, abandoned: abandoned + leaving }
  return callsForAgents(mode, { free, ringing, reached, limitPct })
}

/**
 * Running calls of all campaigns for this queue. `ringing`: those that may need an agent: ringing or just answered. Calls waiting in the queue are
 * counted there, and preview calls have their agent. `leaving`: those of this campaign that hear the apology, and count as abandoned.
 */
async function inTheAir(
  trx: Trx,
  tenant: Tenant,
  { queueId, campaignId }: { queueId: string; campaignId: string },
): Promise<{ ringing: number; leaving: number }> {
  const scoped = forTenant(trx, tenant)
  const rows = await scoped
    .select('campaign_attempts')
    .select(['campaign_id', 'call_id', 'answered_at'])
    .where('user_id', 'is', null)
    .where('ended_at', 'is', null)
    .where('connected_at', 'is', null)
    // A machine that is still on the line needs no agent.
    .where(eb => eb.or([eb('answered_by', 'is', null), eb('answered_by', '=', 'human')]))
    .where('call_id', 'not in', scoped.select('queue_calls').select('id'))
    .execute()
  if (rows.length === 0) return { ringing: 0, leaving: 0 }
  const ids = [...new Set(rows.map(row => row.campaign_id))]
  const campaigns = await scoped.select('campaigns').select(['id', 'settings']).where('id', 'in', ids).execute()
  const ofQueue = new Set(campaigns.filter(row => settingsOf(row).queue_id === queueId).map(({ id }) => id))
  const away = await leavingOf(
    trx,
    tenant,
    rows.filter(({ answered_at }) => answered_at !== null).map(({ call_id }) => call_id),
  )
  const isLeaving = ({ call_id }: { call_id: string }) => away.has(call_id)
  return {
    ringing: rows.filter(row => ofQueue.has(row.campaign_id) && !isLeaving(row)).length,
    leaving: rows.filter(row => row.campaign_id === campaignId && isLeaving(row)).length,
  }
}

async function leavingOf(trx: Trx, tenant: Tenant, callIds: readonly string[]): Promise<Set<string>> {
  if (callIds.length === 0) return new Set()
  const legs = forTenant(trx, tenant).select('participants').select('call_id').where('call_id', 'in', callIds)
  const rows = await legs.where('step', 'in', ['leaving', 'hanging_up', 'ended']).execute()
  return new Set(rows.map(row => row.call_id))
}

/** Results of a campaign's attempts in the last 24 hours. */
async function reachedBy(trx: Trx, tenant: Tenant, campaignId: string, now: Date): Promise<Reached> {
  const since = new Date(now.getTime() - DAY_MS).toISOString()
  const counted = await resultsSince(trx, tenant, campaignId, since)
  const { answered, abandoned, capacity } = counted
  const tried = Object.values(counted).reduce((sum, count) => sum + count, -capacity)
  return { tried, answered: answered + abandoned, abandoned }
}
