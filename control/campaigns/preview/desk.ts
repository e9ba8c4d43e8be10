import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { allQueues, answeredBy } from '../../queues/settings/store.ts'
import { settingsOf } from '../schema.ts'
import type { CampaignRow, ContactRow } from '../tables.ts'
import { claimOf } from './claims.ts'

/** The part of an agent's desktop for preview campaigns. */
export interface Desk {
  /** Campaigns whose next contact the agent may claim. */
  campaigns: { id: string; name: string }[]
  /** The contact that the agent looks at, is calling, or talks with; null: none. */
  contact: SeenContact | null
}

interface SeenContact
  extends Pick<
    ContactRow,
    'id' | 'campaign_id' | 'phone' | 'name' | 'status' | 'attempts' | 'last_result' | 'call_id'
  > {
  metadata: Record<string, string>
  /** How long it is still reserved for this agent; null: it is being called. */
  seconds_left: number | null
}

export async function deskOf(db: Db, tenant: Tenant, userId: string, now: Date): Promise<Desk> {
  const campaigns = await campaignsOf(db, tenant, userId)
  const contact = (await claimOf(db, tenant, userId, now.toISOString())) ?? (await calledBy(db, tenant, userId))
  return {
    campaigns: campaigns.map(({ id, name }) => ({ id, name })),
    contact: contact === undefined ? null : seen(contact, now),
  }
}

async function campaignsOf(db: Db, tenant: Tenant, userId: string): Promise<CampaignRow[]> {
  const scoped = forTenant(db, tenant)
  const running = await scoped.select('campaigns').selectAll().where('status', '=', 'running').orderBy('name').execute()
  const previews = running.filter(row => settingsOf(row).mode === 'preview')
  const user = previews.length === 0 ? undefined : await scoped.find('users', userId)
  if (user?.status !== 'active') return []
  const queues = answeredBy(await allQueues(db, tenant), { id: user.id, teamId: user.team_id })
  return previews.filter(row => queues.includes(settingsOf(row).queue_id ?? ''))
}

async function calledBy(db: Db, tenant: Tenant, userId: string): Promise<ContactRow | undefined> {
  const scoped = forTenant(db, tenant)
  const calls = scoped.select('campaign_attempts').select('contact_id').where('user_id', '=', userId)
  const running = await calls.where('ended_at', 'is', null).orderBy('id', 'desc').limit(1).executeTakeFirst()
  return running === undefined ? undefined : scoped.find('campaign_contacts', running.contact_id)
}

function seen(row: ContactRow, now: Date): SeenContact {
  const { id, campaign_id, phone, name, status, attempts, last_result, call_id, claimed_until } = row
  return {
    ...{ id, campaign_id, phone, name, status, attempts, last_result, call_id },
    metadata: JSON.parse(row.metadata),
    seconds_left: claimed_until === null ? null : Math.max(0, (Date.parse(claimed_until) - now.getTime()) / 1000),
  }
}
