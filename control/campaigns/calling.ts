import { insertProgram } from '../calls/programs/records.ts'
import { insertParty } from '../calls/records.ts'
import { contactProblem } from '../consents/required.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import type { RingTarget } from '../queues/ringing/rings.ts'
import { linesOut } from '../trunks/outbound.ts'
import { WEEK_MS, whenAllowed } from './allowed.ts'
import { listeningOf } from './answering.ts'
import { callerNumber } from './caller-numbers.ts'
import type { CampaignSettings } from './schema.ts'
import { moveContact } from './store.ts'
import type { CampaignRow, ContactRow } from './tables.ts'

/** Decides which contacts a campaign may call now, and stores their calls. */

/** Maximum number of contacts checked in one transaction, so that it delays nobody for long. */
export const MAX_LOOKED_AT = 50
const DAY_MS = 24 * 60 * 60 * 1000
const RETRY_SOON_MS = 60_000

export const UNCLAIMED = { claimed_by: null, claimed_until: null } as const

export interface Taking {
  campaign: CampaignRow
  settings: CampaignSettings
  now: Date
}

/** For a contact that may not be called at any time within a year. */
const NEVER = { status: 'failed', next_attempt_at: null } as const

/** Whether some connection can call this number. */
type HasLine = (phone: string) => boolean

/** `HasLine` for a campaign. In test mode calls need no connection. */
const hasLineFor = (db: Db, tenant: Tenant, { caller_ids: numbers }: CampaignSettings): Promise<HasLine> | HasLine =>
  tenant.livemode ? linesOut(db, tenant, numbers) : () => true

/** What deciding about contacts needs. */
export interface CallingDeps {
  store: Store
  now: () => Date
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
  devicesOf: CallCentreParts['devicesOf']
}

/** Judges these contacts of a campaign: the change of one that must not be called now; null: it may be called. */
export async function judgeOf(
  deps: Pick<CallingDeps, 'timezoneOf'>,
  trx: Trx,
  tenant: Tenant,
  { settings, now }: Taking,
  contacts: readonly ContactRow[],
): Promise<(contact: ContactRow) => Promise<Partial<ContactRow> | null>> {
  const ofCampaign = settings.timezone ?? (await deps.timezoneOf(trx, tenant))
  const history = await callsTo(trx, tenant, contacts, now)
  const hasLine = await hasLineFor(trx, tenant, settings)
  return async ({ phone, timezone }) => {
    const asked = { to: phone, purposes: settings.require_consents, at: now.toISOString() }
    const unwanted = await contactProblem(trx, tenant, asked)
    if (unwanted !== null) {
      const last_result = unwanted.problem === 'do_not_call' ? 'do_not_call' : 'no_consent'
      return { status: 'excluded', last_result, next_attempt_at: null }
    }
    const hours = { hours: settings.allowed_hours, timezone: timezone ?? ofCampaign }
    const before = history.get(phone) ?? { at: [], isRunning: false }
    // A call that cannot be placed is no attempt: the contact waits for the connection.
    const allowed =
      before.isRunning || !hasLine(phone)
        ? new Date(now.getTime() + RETRY_SOON_MS)
        : whenAllowed({ hours, caps: settings.caps, calls: before.at }, now.getTime())
    if (allowed === null) return NEVER
    return allowed > now ? { next_attempt_at: allowed.toISOString() } : null
  }
}

export const pending = (db: Db, tenant: Tenant, campaignId: string) =>
  forTenant(db, tenant)
    .select('campaign_contacts')
    .where('campaign_id', '=', campaignId)
    .where('status', '=', 'pending')

export const dueContacts = (db: Db, tenant: Tenant, campaignId: string, now: Date): Promise<ContactRow[]> =>
  pending(db, tenant, campaignId)
    .selectAll()
    .where('next_attempt_at', '<=', now.toISOString())
    .orderBy('next_attempt_at')
    .limit(MAX_LOOKED_AT)
    .execute()

const attempts = (db: Db, tenant: Tenant) =>
  forTenant(db, tenant)
    .select('campaign_attempts')
    .where(eb => eb.or([eb('result', 'is', null), eb('result', '!=', 'capacity')]))

export async function leftToday(
  db: Db,
  tenant: Tenant,
  { id }: CampaignRow,
  { caps: { per_day } }: CampaignSettings,
  now: Date,
): Promise<number> {
  if (per_day === null) return Number.POSITIVE_INFINITY
  const since = new Date(now.getTime() - DAY_MS).toISOString()
  const made = attempts(db, tenant).where('campaign_id', '=', id).where('started_at', '>', since)
  return per_day - Number((await made.select(eb => eb.fn.countAll().as('n')).executeTakeFirstOrThrow()).n)
}

/** By number: when any campaign has called it within a week, oldest first, and whether it is being called now. */
async function callsTo(
  db: Db,
  tenant: Tenant,
  contacts: readonly ContactRow[],
  now: Date,
): Promise<Map<string, { at: number[]; isRunning: boolean }>> {
  const calls = new Map<string, { at: number[]; isRunning: boolean }>()
  if (contacts.length === 0) return calls
  const since = new Date(now.getTime() - WEEK_MS).toISOString()
  const rows = attempts(db, tenant)
    .select(['phone', 'started_at', 'ended_at'])
    .where(
      'phone',
      'in',
      contacts.map(({ phone }) => phone),
    )
    .where('started_at', '>', since)
    .orderBy('started_at')
  for (const { phone, started_at, ended_at } of await rows.execute()) {
    const { at, isRunning } = calls.get(phone) ?? { at: [], isRunning: false }
    calls.set(phone, { at: [...at, Date.parse(started_at)], isRunning: isRunning || ended_at === null })
  }
  return calls
}

/** Stores a call to a contact, and the attempt. `startMs`: when the call is dialled, Unix time [ms]. */
export async function callContact(
  trx: Trx,
  tenant: Tenant,
  {
    campaign,
    settings,
    now,
    contact,
    turn,
    startMs,
    userId = null,
  }: Taking & { contact: ContactRow; turn: number; startMs: number; userId?: string | null },
): Promise<void> {
  const [callId, legId] = [newId('call'), newId('participant')]
  const at = now.toISOString()
  const to = contact.phone
  const from = callerNumber(settings.caller_ids, { to, turn, isLocal: settings.local_presence })
  const pace = { id: campaign.id, callsPerSecond: Math.ceil(settings.calls_per_second) }
  const target: RingTarget & { timeoutS: number } = {
    ...{ kind: 'address', to, from, startMs, pace },
    timeoutS: settings.ring_timeout_s,
  }
  const { assistant_id: assistantId, flow_id: flowId, queue_id: queueId } = settings
  const program = flowId !== null ? { flowId } : assistantId !== null ? { assistantId } : null
  await insertParty(
    trx,
    tenant,
    {
      ...{ callId, legId, direction: 'outbound', to, from: from ?? '' },
      // In preview, the call is for the agent who has looked at the contact, not for others of the queue.
      target: userId !== null ? 'user' : queueId !== null ? 'queue' : flowId !== null ? 'flow' : 'assistant',
      queueId,
      userId,
      roomId: null,
      dial: JSON.stringify(target),
      connectionId: null,
      answering: listeningOf(settings.answering_machine_detection),
      program: program ?? {},
      metadata: { ...JSON.parse(contact.metadata), campaign_id: campaign.id, campaign_contact_id: contact.id },
      role: 'member',
      muted: false,
    },
    at,
  )
  if (program !== null) await insertProgram(trx, tenant, { callId, legId }, program, at)
  const number = contact.attempts + 1
  const started_at = new Date(startMs).toISOString()
  await forTenant(trx, tenant).insert('campaign_attempts', {
    id: newId('campaign_attempt'),
    campaign_id: campaign.id,
    contact_id: contact.id,
    phone: to,
    from_number: from,
    number,
    call_id: callId,
    user_id: userId,
    started_at,
  })
  await moveContact(trx, tenant, contact, {
    status: 'calling',
    attempts: number,
    call_id: callId,
    last_attempt_at: started_at,
    next_attempt_at: null,
    ...UNCLAIMED,
    updated: at,
  })
}
