import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { reserveAgent } from '../../queues/agent-status.ts'
import { UNCLAIMED } from '../calling.ts'
import { settingsOf } from '../schema.ts'
import { moveContact } from '../store.ts'
import type { ContactRow } from '../tables.ts'

/**
 * A contact that an agent looks at is reserved for that agent for a while, and the agent for the contact: no queue rings the agent, and no
 * campaign counts the agent as free, until the contact answers or is not called.
 */

/** Margin of an agent's reservation after the ringing time: longer than detection takes [ms]. The reservation ends with the call at the latest. */
const FINDING_OUT_MS = 60_000

/** The contact of any campaign that this agent looks at now. */
export const claimOf = (db: Db, tenant: Tenant, userId: string, at: string): Promise<ContactRow | undefined> =>
  forTenant(db, tenant)
    .select('campaign_contacts')
    .selectAll()
    .where('claimed_by', '=', userId)
    .where('claimed_until', '>', at)
    .executeTakeFirst()

/** Reserves the agent for the contact on the screen and for the call that is to reach the agent, whichever takes longer, or for nothing. */
export async function reserve(trx: Trx, tenant: Tenant, userId: string, at: string): Promise<void> {
  const claim = await claimOf(trx, tenant, userId, at)
  const ends = [claim?.claimed_until ?? null, await callUntil(trx, tenant, userId)].filter(end => end !== null)
  await reserveAgent(trx, tenant, userId, { until: ends.sort().at(-1) ?? null, at })
}

/** Until when a contact that was called for this agent has answered or not; null: there is none. */
async function callUntil(trx: Trx, tenant: Tenant, userId: string): Promise<string | null> {
  const scoped = forTenant(trx, tenant)
  const calls = scoped.select('campaign_attempts').selectAll().where('user_id', '=', userId)
  const open = calls.where('ended_at', 'is', null).where('connected_at', 'is', null).orderBy('id', 'desc').limit(1)
  const call = await open.executeTakeFirst()
  const campaign = call && (await scoped.find('campaigns', call.campaign_id))
  if (call === undefined || campaign === undefined) return null
  const ringingMs = settingsOf(campaign).ring_timeout_s * 1000
  return new Date(Date.parse(call.started_at) + ringingMs + FINDING_OUT_MS).toISOString()
}

/** Ends all claims of a campaign that no longer calls, or no longer in mode `preview`. */
export async function endClaims(trx: Trx, tenant: Tenant, campaignId: string, at: string): Promise<void> {
  const claimed = forTenant(trx, tenant).select('campaign_contacts').selectAll().where('campaign_id', '=', campaignId)
  for (const row of await claimed.where('claimed_by', 'is not', null).where('claimed_until', '>', at).execute()) {
    await moveContact(trx, tenant, row, { ...UNCLAIMED, next_attempt_at: at, updated: at })
    await reserve(trx, tenant, row.claimed_by!, at)
  }
}
