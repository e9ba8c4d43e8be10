import { conflict, invalid, isProblem, missing, type Problem } from '../../http/errors.ts'
import { appendEvent, type Cause } from '../../kernel/events/log.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { allQueues, answeredBy } from '../../queues/settings/store.ts'
import { callProblem } from '../../usage/allowance.ts'
import { type CallingDeps, callContact, dueContacts, judgeOf, leftToday, type Taking, UNCLAIMED } from '../calling.ts'
import { type CampaignContact, toContact } from '../contact-schema.ts'
import { type Rate, rateAllows, startOf } from '../pacing.ts'
import { type CampaignSettings, settingsOf } from '../schema.ts'
import { moveContact, onCall } from '../store.ts'
import type { ContactRow } from '../tables.ts'
import { claimOf, reserve } from './claims.ts'

/** What agents do in mode `preview`, in which they see a contact before it is called: by the API or on their desktops. */

type By = Tenant & Cause

/** A contact, and the agent who requests something for it. */
interface Wanted {
  id: string
  contactId: string
  userId: string
}

/** The campaign, if it is running in mode `preview`. */
async function running({ now }: CallingDeps, trx: Trx, by: By, id: string): Promise<Taking | Problem> {
  const campaign = await forTenant(trx, by).find('campaigns', id)
  if (campaign === undefined) return missing('campaign', id)
  const settings = settingsOf(campaign)
  if (settings.mode !== 'preview') return conflict('not_preview', 'The campaign is not in the mode `preview`.')
  if (campaign.status !== 'running') {
    return conflict(`campaign_${campaign.status}`, `The campaign is ${campaign.status}.`)
  }
  return { campaign, settings, now: now() }
}

async function agentProblem(
  trx: Trx,
  by: By,
  { queue_id: queueId }: CampaignSettings,
  userId: string,
): Promise<Problem | null> {
  const user = await forTenant(trx, by).find('users', userId)
  const agent = user?.status === 'active' ? { id: user.id, teamId: user.team_id } : null
  const queues = agent === null ? [] : answeredBy(await allQueues(trx, by), agent)
  if (queues.includes(queueId ?? '')) return null
  return invalid('user_id', `No agent of the queue has this ID: ${userId}`)
}

/** Reserves the next contact that may be called now for this agent, for a limited time. */
export async function claim(
  deps: CallingDeps,
  trx: Trx,
  by: By,
  id: string,
  userId: string,
): Promise<CampaignContact | Problem> {
  const taking = await running(deps, trx, by, id)
  if (isProblem(taking)) return taking
  const { settings, now } = taking
  const noAgent = await agentProblem(trx, by, settings, userId)
  if (noAgent !== null) return noAgent
  const at = now.toISOString()
  const own = await claimOf(trx, by, userId, at)
  if (own?.campaign_id === id) return toContact(own)
  if (own !== undefined) return conflict('contact_claimed', 'The agent is looking at a contact of another campaign.')
  const due = await dueContacts(trx, by, id, now)
  const judge = await judgeOf(deps, trx, by, taking, due)
  for (const contact of due) {
    const refused = await judge(contact)
    if (refused !== null) {
      await moveContact(trx, by, contact, { ...refused, ...UNCLAIMED, updated: at })
      continue
    }
    const claimed_until = new Date(now.getTime() + settings.claim_seconds * 1000).toISOString()
    // The contact is due again when the claim expires.
    const claimed = { claimed_by: userId, claimed_until, next_attempt_at: claimed_until, updated: at }
    const object = await told(trx, by, contact, claimed, 'campaign.contact.claimed')
    await reserve(trx, by, userId, at)
    return object
  }
  return conflict('no_contact_due', 'No contact may be called now.')
}

async function told(
  trx: Trx,
  by: By,
  row: ContactRow,
  change: Partial<ContactRow> & { updated: string },
  type: 'campaign.contact.claimed' | 'campaign.contact.skipped',
): Promise<CampaignContact> {
  const object = toContact({ ...row, ...change })
  await appendEvent(trx, by, { type, at: change.updated, object })
  await moveContact(trx, by, row, change)
  return object
}

/** A contact that the agent has claimed, if the claim has not expired. */
async function claimed(trx: Trx, by: By, { id, contactId, userId }: Wanted, at: string): Promise<ContactRow | Problem> {
  const row = await forTenant(trx, by).find('campaign_contacts', contactId)
  if (row === undefined || row.campaign_id !== id) return missing('campaign_contact', contactId)
  const isOurs = row.status === 'pending' && row.claimed_by === userId && (row.claimed_until ?? '') > at
  return isOurs ? row : conflict('not_claimed', 'The agent has not claimed the contact, or the claim has expired.')
}

/** Why this agent cannot take a call now. */
async function unavailable(
  deps: CallingDeps,
  trx: Trx,
  by: By,
  { userId, settings, now }: { userId: string; settings: CampaignSettings; now: Date },
): Promise<Problem | null> {
  const noAgent = await agentProblem(trx, by, settings, userId)
  if (noAgent !== null) return noAgent
  const scoped = forTenant(trx, by)
  const isBusy = (await scoped.findBy('rings', { open_user: userId })) !== undefined
  const isFree = !isBusy && (await scoped.find('agent_statuses', userId))?.status === 'available'
  if (isFree && (await deps.devicesOf(trx, by, userId, now)).length > 0) return null
  return conflict('agent_unavailable', 'The agent is not available, or has no device.')
}

/** Calls a claimed contact. No queue rings its agent meanwhile. */
export async function dial(deps: CallingDeps, trx: Trx, by: By, wanted: Wanted): Promise<CampaignContact | Problem> {
  const taking = await running(deps, trx, by, wanted.id)
  if (isProblem(taking)) return taking
  const { campaign, settings, now } = taking
  const { id, userId } = wanted
  const at = now.toISOString()
  const contact = await claimed(trx, by, wanted, at)
  if (isProblem(contact)) return contact
  const refused = (await unavailable(deps, trx, by, { userId, settings, now })) ?? (await fullProblem(trx, by, taking))
  if (refused !== null) return refused
  const unwanted = await (await judgeOf(deps, trx, by, taking, [contact]))(contact)
  if (unwanted !== null) {
    await moveContact(trx, by, contact, { ...unwanted, ...UNCLAIMED, updated: at })
    await reserve(trx, by, userId, at)
  } else {
    const suspended = await callProblem(trx, by, at)
    if (suspended !== null) return suspended
    const rate = rateOf(taking)
    const turn = campaign.calls_begun
    await callContact(trx, by, { ...taking, contact, turn, startMs: startOf(rate, 0), userId })
    await reserve(trx, by, userId, at)
    await forTenant(trx, by).change('campaigns', id, { next_call_ms: startOf(rate, 1), calls_begun: turn + 1 })
  }
  return toContact((await forTenant(trx, by).find('campaign_contacts', contact.id)) ?? contact)
}

const rateOf = ({ campaign, settings, now }: Taking): Rate => ({
  nextCallMs: campaign.next_call_ms,
  perSecond: settings.calls_per_second,
  nowMs: now.getTime(),
})

/** Why the campaign may begin no call now: its limits apply to preview calls too. */
async function fullProblem(trx: Trx, by: By, taking: Taking): Promise<Problem | null> {
  const { campaign, settings, now } = taking
  const left = await leftToday(trx, by, campaign, settings, now)
  if (left <= 0 || (await onCall(trx, by, campaign.id)) >= settings.max_concurrent) {
    return conflict('campaign_full', 'The campaign has reached its limit of concurrent calls.')
  }
  if (rateAllows(rateOf(taking)) > 0) return null
  return conflict('campaign_rate', 'The campaign has reached its calls per second: try again.')
}

/** Releases a claimed contact, which is called later or not at all. */
export async function skip(
  { now }: Pick<CallingDeps, 'now'>,
  trx: Trx,
  by: By,
  wanted: Wanted,
  { reason, retry_minutes: minutes = null }: { reason?: string; retry_minutes?: number | null },
): Promise<CampaignContact | Problem> {
  const at = now().toISOString()
  const contact = await claimed(trx, by, wanted, at)
  if (isProblem(contact)) return contact
  const skipped = { ...UNCLAIMED, skip_reason: reason ?? null, last_result: 'skipped' as const, updated: at }
  const next = minutes === null ? null : new Date(Date.parse(at) + minutes * 60_000).toISOString()
  const then = { status: next === null ? ('failed' as const) : ('pending' as const), next_attempt_at: next }
  const object = await told(trx, by, contact, { ...skipped, ...then }, 'campaign.contact.skipped')
  await reserve(trx, by, wanted.userId, at)
  return object
}
