import { insertProgram } from '../calls/programs/records.ts'
import { insertParty } from '../calls/records.ts'
import { contactProblem } from '../consents/required.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import type { RingTarget } from '../queues/ringing/rings.ts'
import { freeAgents } from '../queues/ringing/rounds.ts'
import { callProblem } from '../usage/allowance.ts'
import { WEEK_MS, whenAllowed } from './allowed.ts'
import { listeningOf } from './answering.ts'
import { callerNumber } from './caller-numbers.ts'
import { callsForAgents, nextCallMs, rateAllows } from './pacing.ts'
import { type CampaignSettings, settingsOf } from './schema.ts'
import { moveCampaign, moveContact, onCall } from './store.ts'
import type { CampaignRow, ContactRow } from './tables.ts'
import { sendAway, unservedCalls } from './unserved.ts'
import { wakefulCampaigns } from './wakeful.ts'

export interface DiallerDeps {
  store: Store
  now: () => Date
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
  devicesOf: CallCentreParts['devicesOf']
  log: { error(fields: object, message: string): void }
}

/** Contacts that one transaction looks at: it holds up nobody for long. */
const MAX_LOOKED_AT = 50
/** Of these one after the other, while contacts are due that must not be called now. */
const MAX_TURNS = 10
/** An organisation that is suspended or at its limit is asked again so late [ms]. */
const HELD_MS = 1000
const DAY_MS = 24 * 60 * 60 * 1000
const RETRY_SOON_MS = 60_000

/**
 * Takes the contacts of running campaigns that are due, and writes their calls down in the transaction that takes them: a contact that is
 * taken has its call, whoever dies, and no other node sees it due any more. The call's leg is in the step `to_dial`, by which it is dialled
 * after the commit, and by the process that follows one that died before it was.
 */
export class Dialler {
  readonly #deps: DiallerDeps

  constructor(deps: DiallerDeps) {
    this.#deps = deps
  }

  /** To be called again and again while media is there: two statements where there is nothing to do. One campaign's failure is none of the others. */
  async run(): Promise<void> {
    const { store, log, now } = this.#deps
    await this.#sendAway(now())
    for (const { id, tenant } of await wakefulCampaigns(store.db, now())) {
      try {
        for (let turn = 0; turn < MAX_TURNS; turn++) {
          if (!(await store.transaction(trx => this.#take(trx, tenant, id)))) break
        }
      } catch (error) {
        log.error({ err: error, campaignId: id }, 'a campaign could not dial')
      }
    }
  }

  async #sendAway(now: Date): Promise<void> {
    const { store, log } = this.#deps
    for (const { callId, tenant } of await unservedCalls(store.db, now)) {
      try {
        await store.transaction(trx => sendAway(trx, tenant, callId, now.toISOString()))
      } catch (error) {
        log.error({ err: error, callId }, 'a call of a campaign that nobody takes could not be ended')
      }
    }
  }

  /** Returns whether it is to be asked again at once: calls may begin, and more contacts are due than it has looked at. */
  async #take(trx: Trx, tenant: Tenant, id: string): Promise<boolean> {
    const now = this.#deps.now()
    const campaign = await forTenant(trx, tenant).find('campaigns', id)
    if (campaign === undefined) return false
    const running = await onCall(trx, tenant, id)
    if (campaign.status === 'stopping' && running === 0) return endCampaign(trx, tenant, campaign, 'stopped', now)
    if (campaign.status !== 'running') return false
    const settings = settingsOf(campaign)
    const rate = {
      nextCallMs: campaign.next_call_ms,
      perSecond: settings.calls_per_second,
      nowMs: now.getTime(),
    }
    const left = await leftToday(trx, tenant, campaign, settings, now)
    const most = Math.min(rateAllows(rate), settings.max_concurrent - running, left)
    if (most <= 0) return false
    const due = await dueContacts(trx, tenant, id, now)
    if (due.length === 0 && running === 0 && !(await anyPending(trx, tenant, id))) {
      return endCampaign(trx, tenant, campaign, 'completed', now)
    }
    const limit = Math.min(most, await this.#forAgents(trx, tenant, { campaign, settings, now }))
    if (limit <= 0) return false
    const { calls, isHeld } = await this.#dial(trx, tenant, { campaign, settings, due, limit, now })
    const next = isHeld ? now.getTime() + HELD_MS : nextCallMs(rate, calls)
    if (next !== campaign.next_call_ms) {
      const calls_begun = campaign.calls_begun + calls
      await forTenant(trx, tenant).change('campaigns', id, { next_call_ms: next, calls_begun })
    }
    return !isHeld && calls < limit && due.length === MAX_LOOKED_AT
  }

  /** Calls that agents could take; without end where no agents lead. */
  async #forAgents(trx: Trx, tenant: Tenant, { campaign, settings, now }: Taking): Promise<number> {
    const { queue_id: queueId, mode, abandoned_limit_pct: limitPct } = settings
    if (queueId === null) return Number.POSITIVE_INFINITY
    const free = await freeAgents(this.#deps, trx, tenant, { queueId, now })
    if (free <= 0) return 0
    const since = new Date(now.getTime() - DAY_MS).toISOString()
    const made = attempts(trx, tenant)
      .where('campaign_id', '=', campaign.id)
      .where('started_at', '>', since)
      // A machine that is still on the line rings no more, and needs nobody.
      .where(eb =>
        eb.or([eb('result', 'is not', null), eb('answered_by', 'is', null), eb('answered_by', '=', 'human')]),
      )
    const rows = await made
      .select(['result', eb => eb.fn.countAll().as('n'), eb => eb.fn.count('answered_at').as('answered')])
      .groupBy('result')
      .execute()
    const count = (result: string | null) => Number(rows.find(row => row.result === result)?.n ?? 0)
    const talking = Number(rows.find(row => row.result === null)?.answered ?? 0)
    const abandoned = count('abandoned')
    const tried = rows.reduce((sum, row) => sum + Number(row.n), 0) - count(null)
    const reached = { tried, answered: count('answered') + abandoned, abandoned }
    return callsForAgents(mode, { free, ringing: count(null) - talking, reached, limitPct })
  }

  /** `isHeld`: of this organisation nobody is called now. */
  async #dial(
    trx: Trx,
    tenant: Tenant,
    { campaign, settings, due, limit, now }: Taking & { due: ContactRow[]; limit: number },
  ): Promise<{ calls: number; isHeld: boolean }> {
    const timezone = settings.timezone ?? (await this.#deps.timezoneOf(trx, tenant))
    const history = await callsTo(trx, tenant, due, now)
    const updated = now.toISOString()
    let calls = 0
    for (const contact of due) {
      if (calls === limit) break
      const asked = { to: contact.phone, purposes: settings.require_consents, at: updated }
      const unwanted = await contactProblem(trx, tenant, asked)
      if (unwanted !== null) {
        const last_result = unwanted.problem === 'do_not_call' ? ('do_not_call' as const) : ('no_consent' as const)
        await moveContact(trx, tenant, contact, { status: 'excluded', last_result, next_attempt_at: null, updated })
        continue
      }
      const before = history.get(contact.phone) ?? { at: [], isRunning: false }
      const hours = { hours: settings.allowed_hours, timezone: contact.timezone ?? timezone }
      const allowed = before.isRunning
        ? new Date(now.getTime() + RETRY_SOON_MS)
        : whenAllowed({ hours, caps: settings.caps, calls: before.at }, now.getTime())
      if (allowed === null) await moveContact(trx, tenant, contact, { ...NEVER, updated })
      else if (allowed > now) {
        await moveContact(trx, tenant, contact, { next_attempt_at: allowed.toISOString(), updated })
      } else {
        // Of an organisation that is suspended or at its limit they wait.
        if ((await callProblem(trx, tenant, updated)) !== null) return { calls, isHeld: true }
        const turn = campaign.calls_begun + calls++
        await callContact(trx, tenant, { campaign, settings, now, contact, turn })
      }
    }
    return { calls, isHeld: false }
  }
}

/** It is allowed at no time within a year. */
const NEVER = { status: 'failed', next_attempt_at: null } as const

interface Taking {
  campaign: CampaignRow
  settings: CampaignSettings
  now: Date
}

async function endCampaign(
  trx: Trx,
  tenant: Tenant,
  row: CampaignRow,
  status: 'stopped' | 'completed',
  now: Date,
): Promise<false> {
  const at = now.toISOString()
  await moveCampaign(trx, tenant, row, { status, ended_at: at, updated: at }, { told: status })
  return false
}

const pending = (db: Db, tenant: Tenant, campaignId: string) =>
  forTenant(db, tenant)
    .select('campaign_contacts')
    .where('campaign_id', '=', campaignId)
    .where('status', '=', 'pending')

const dueContacts = (db: Db, tenant: Tenant, campaignId: string, now: Date): Promise<ContactRow[]> =>
  pending(db, tenant, campaignId)
    .selectAll()
    .where('next_attempt_at', '<=', now.toISOString())
    .orderBy('next_attempt_at')
    .limit(MAX_LOOKED_AT)
    .execute()

const anyPending = async (db: Db, tenant: Tenant, campaignId: string): Promise<boolean> =>
  (await pending(db, tenant, campaignId).select('id').limit(1).executeTakeFirst()) !== undefined

const attempts = (db: Db, tenant: Tenant) =>
  forTenant(db, tenant)
    .select('campaign_attempts')
    .where(eb => eb.or([eb('result', 'is', null), eb('result', '!=', 'capacity')]))

async function leftToday(
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

/** When each of these numbers was called within a week, by any campaign, oldest first; and whether it is being called. */
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

/** Writes down that a contact is called, and its call. */
async function callContact(
  trx: Trx,
  tenant: Tenant,
  { campaign, settings, now, contact, turn }: Taking & { contact: ContactRow; turn: number },
): Promise<void> {
  const [callId, legId] = [newId('call'), newId('participant')]
  const at = now.toISOString()
  const to = contact.phone
  const from = callerNumber(settings.caller_ids, { to, turn, isLocal: settings.local_presence })
  const target: RingTarget & { timeoutS: number } = { kind: 'address', to, from, timeoutS: settings.ring_timeout_s }
  const { assistant_id: assistantId, flow_id: flowId, queue_id: queueId } = settings
  const program = flowId !== null ? { flowId } : assistantId !== null ? { assistantId } : null
  await insertParty(
    trx,
    tenant,
    {
      ...{ callId, legId, direction: 'outbound', to, from: from ?? '' },
      target: queueId !== null ? 'queue' : flowId !== null ? 'flow' : 'assistant',
      queueId,
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
  const scoped = forTenant(trx, tenant)
  await scoped.insert('campaign_attempts', {
    id: newId('campaign_attempt'),
    campaign_id: campaign.id,
    contact_id: contact.id,
    phone: to,
    from_number: from,
    number,
    call_id: callId,
    started_at: at,
    answered_at: null,
    answered_by: null,
    found_out_at: null,
    connected_at: null,
    ended_at: null,
    result: null,
  })
  await moveContact(trx, tenant, contact, {
    status: 'calling',
    attempts: number,
    call_id: callId,
    last_attempt_at: at,
    next_attempt_at: null,
    updated: at,
  })
}
