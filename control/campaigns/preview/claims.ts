import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { reserveAgent } from '../../queues/agent-status.ts'
import { UNCLAIMED } from '../calling.ts'
import type { CampaignSettings } from '../schema.ts'
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

/** Ends the agent's reservation for a call. One for a contact on the screen remains. */
export async function freeAgent(trx: Trx, tenant: Tenant, userId: string, at: string): Promise<void> {
  const claim = await claimOf(trx, tenant, userId, at)
  await reserveAgent(trx, tenant, userId, { until: claim?.claimed_until ?? null, at })
}

/** Reserves the agent until the contact that is being called has answered. */
export function keepForCall(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  { settings: { ring_timeout_s }, at }: { settings: CampaignSettings; at: string },
): Promise<void> {
  const until = new Date(Date.parse(at) + ring_timeout_s * 1000 + FINDING_OUT_MS).toISOString()
  return reserveAgent(trx, tenant, userId, { until, at })
}

/** Ends all claims of a campaign that no longer calls, or no longer in mode `preview`. */
export async function endClaims(trx: Trx, tenant: Tenant, campaignId: string, at: string): Promise<void> {
  const claimed = forTenant(trx, tenant).select('campaign_contacts').selectAll().where('campaign_id', '=', campaignId)
  for (const row of await claimed.where('claimed_by', 'is not', null).where('claimed_until', '>', at).execute()) {
    await moveContact(trx, tenant, row, { ...UNCLAIMED, next_attempt_at: at, updated: at })
    await freeAgent(trx, tenant, row.claimed_by!, at)
  }
}
