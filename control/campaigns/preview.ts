import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { type Route, route } from '../http/route.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { idParams, input, nullable } from '../kernel/schema.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { allQueues, answeredBy } from '../queues/settings/store.ts'
import { callProblem } from '../usage/allowance.ts'
import { callContact, callsTo, dueContacts, leftToday, type Taking, UNCLAIMED, whyNotNow } from './calling.ts'
import { type CampaignContact, contactParams, contactSchema, toContact } from './contact-schema.ts'
import { settingsOf } from './schema.ts'
import { moveContact, onCall } from './store.ts'
import type { ContactRow } from './tables.ts'

export interface PreviewDeps {
  store: Store
  now: () => Date
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
  devicesOf: CallCentreParts['devicesOf']
}

const userId = Type.String({ minLength: 1, maxLength: 200, description: 'The agent, who answers the queue.' })
const ofAgent = input({ user_id: userId })
const skipBody = input({
  user_id: userId,
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  retry_minutes: Type.Optional(
    nullable(
      Type.Integer({ minimum: 1, maximum: 43_200, description: 'When it is due again; null, or absent: never.' }),
    ),
  ),
})

const common = {
  method: 'POST',
  tag: 'Campaigns',
  scope: 'campaigns:write',
  status: 200,
  reply: contactSchema,
} as const

/** Agents who see a contact before it is called (mode `preview`). */
export function campaignPreviewRoutes(deps: PreviewDeps): Route[] {
  return [
    route({
      ...common,
      path: '/campaigns/:id/claim',
      id: 'claimCampaignContact',
      summary: 'Get the next contact of a campaign for an agent to look at',
      description:
        'Of a campaign in the mode `preview`. The contact is this agent’s for `claim_seconds`: who asks again meanwhile gets the same. 409 when none may be called now.',
      params: idParams,
      body: ofAgent,
      errors: [404, 409],
      handler: (context, { params, body }) =>
        context.transaction(trx => claim(deps, trx, context, params.id, body.user_id)),
    }),
    route({
      ...common,
      path: '/campaigns/:id/contacts/:contact_id/dial',
      id: 'dialCampaignContact',
      summary: 'Call a claimed contact',
      description:
        'The agent’s devices ring when it has answered. One that must not be called any more is told as it is then. 409 unless the agent has claimed it and is available.',
      params: contactParams,
      body: ofAgent,
      errors: [404, 409],
      handler: (context, { params, body }) =>
        context.transaction(trx => dial(deps, trx, context, { ...params, userId: body.user_id })),
    }),
    route({
      ...common,
      path: '/campaigns/:id/contacts/:contact_id/skip',
      id: 'skipCampaignContact',
      summary: 'Do not call a claimed contact',
      description: 'It comes back after `retry_minutes`, else it is done: `failed`, with the result `skipped`.',
      params: contactParams,
      body: skipBody,
      errors: [404, 409],
      handler: (context, { params, body }) => context.transaction(trx => skip(deps, trx, context, { ...params, body })),
    }),
  ]
}

/** A running campaign in this mode. */
async function running({ now }: PreviewDeps, trx: Trx, context: Context, id: string): Promise<Taking | Problem> {
  const campaign = await forTenant(trx, context).find('campaigns', id)
  if (campaign === undefined) return missing('campaign', id)
  const settings = settingsOf(campaign)
  if (settings.mode !== 'preview') return conflict('not_preview', 'The campaign calls by itself.')
  if (campaign.status !== 'running') {
    return conflict(`campaign_${campaign.status}`, `The campaign is ${campaign.status}.`)
  }
  return { campaign, settings, now: now() }
}

async function claim(
  deps: PreviewDeps,
  trx: Trx,
  context: Context,
  id: string,
  user_id: string,
): Promise<CampaignContact | Problem> {
  const taking = await running(deps, trx, context, id)
  if (isProblem(taking)) return taking
  const { settings, now } = taking
  const user = await forTenant(trx, context).find('users', user_id)
  const agent = user === undefined ? null : { id: user.id, teamId: user.team_id }
  const queues = agent === null ? [] : answeredBy(await allQueues(trx, context), agent)
  if (user?.status !== 'active' || !queues.includes(settings.queue_id ?? '')) {
    return problem('parameter_invalid', `No agent of the queue: ${user_id}`, { param: 'user_id' })
  }
  const at = now.toISOString()
  const rows = forTenant(trx, context).select('campaign_contacts').selectAll().where('campaign_id', '=', id)
  const own = await rows.where('claimed_by', '=', user_id).where('claimed_until', '>', at).executeTakeFirst()
  if (own !== undefined) return toContact(own)
  const due = await dueContacts(trx, context, id, now)
  const timezone = settings.timezone ?? (await deps.timezoneOf(trx, context))
  const history = await callsTo(trx, context, due, now)
  for (const contact of due) {
    const before = history.get(contact.phone)
    const refused = await whyNotNow(trx, context, { contact, settings, timezone, before, now })
    if (refused !== null) {
      await moveContact(trx, context, contact, { ...refused, ...UNCLAIMED, updated: at })
      continue
    }
    const claimed_until = new Date(now.getTime() + settings.claim_seconds * 1000).toISOString()
    // It is due again when the claim is over.
    const claimed = { claimed_by: user_id, claimed_until, next_attempt_at: claimed_until, updated: at }
    return told(trx, context, contact, claimed, 'campaign.contact.claimed')
  }
  return conflict('no_contact_due', 'No contact may be called now.')
}

async function told(
  trx: Trx,
  context: Context,
  row: ContactRow,
  change: Partial<ContactRow> & { updated: string },
  type: 'campaign.contact.claimed' | 'campaign.contact.skipped',
): Promise<CampaignContact> {
  const object = toContact({ ...row, ...change })
  await appendEvent(trx, context, { type, at: change.updated, object, request: context })
  await moveContact(trx, context, row, change)
  return object
}

/** A contact that the agent has claimed, and not for too long. */
async function claimed(
  trx: Trx,
  context: Context,
  { campaignId, contactId, userId: by, at }: { campaignId: string; contactId: string; userId: string; at: string },
): Promise<ContactRow | Problem> {
  const row = await forTenant(trx, context).find('campaign_contacts', contactId)
  if (row === undefined || row.campaign_id !== campaignId) return missing('campaign_contact', contactId)
  const isOurs = row.status === 'pending' && row.claimed_by === by && (row.claimed_until ?? '') > at
  return isOurs ? row : conflict('not_claimed', 'The agent has not claimed the contact, or for too long.')
}

async function dial(
  deps: PreviewDeps,
  trx: Trx,
  context: Context,
  { id, contact_id: contactId, userId: by }: { id: string; contact_id: string; userId: string },
): Promise<CampaignContact | Problem> {
  const taking = await running(deps, trx, context, id)
  if (isProblem(taking)) return taking
  const { campaign, settings, now } = taking
  const updated = now.toISOString()
  const contact = await claimed(trx, context, { campaignId: id, contactId, userId: by, at: updated })
  if (isProblem(contact)) return contact
  const scoped = forTenant(trx, context)
  const isBusy = (await scoped.findBy('rings', { open_user: by })) !== undefined
  const isFree = !isBusy && (await scoped.find('agent_statuses', by))?.status === 'available'
  if (!isFree || (await deps.devicesOf(trx, context, by, now)).length === 0) {
    return conflict('agent_unavailable', 'The agent is not available, or has no device.')
  }
  const left = await leftToday(trx, context, campaign, settings, now)
  if (left <= 0 || (await onCall(trx, context, id)) >= settings.max_concurrent) {
    return conflict('campaign_full', 'The campaign has as many calls as it may.')
  }
  const timezone = settings.timezone ?? (await deps.timezoneOf(trx, context))
  const before = (await callsTo(trx, context, [contact], now)).get(contact.phone)
  const refused = await whyNotNow(trx, context, { contact, settings, timezone, before, now })
  if (refused !== null) await moveContact(trx, context, contact, { ...refused, ...UNCLAIMED, updated })
  else {
    const suspended = await callProblem(trx, context, updated)
    if (suspended !== null) return suspended
    await callContact(trx, context, { ...taking, contact, turn: campaign.calls_begun, userId: by })
    await scoped.change('campaigns', id, { calls_begun: campaign.calls_begun + 1 })
  }
  return toContact((await scoped.find('campaign_contacts', contactId)) ?? contact)
}

async function skip(
  { now }: PreviewDeps,
  trx: Trx,
  context: Context,
  { id, contact_id: contactId, body }: { id: string; contact_id: string; body: Static<typeof skipBody> },
): Promise<CampaignContact | Problem> {
  const at = now().toISOString()
  const contact = await claimed(trx, context, { campaignId: id, contactId, userId: body.user_id, at })
  if (isProblem(contact)) return contact
  const { reason = null, retry_minutes: minutes = null } = body
  const skipped = { ...UNCLAIMED, skip_reason: reason, last_result: 'skipped' as const, updated: at }
  const next = minutes === null ? null : new Date(Date.parse(at) + minutes * 60_000).toISOString()
  const then = { status: next === null ? ('failed' as const) : ('pending' as const), next_attempt_at: next }
  return told(trx, context, contact, { ...skipped, ...then }, 'campaign.contact.skipped')
}
