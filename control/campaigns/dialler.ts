import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { MediaClient } from '../media-link/client.ts'
import { callProblem } from '../usage/allowance.ts'
import {
  type CallingDeps,
  callContact,
  dueContacts,
  judgeOf,
  leftToday,
  MAX_LOOKED_AT,
  pending,
  type Taking,
} from './calling.ts'
import { agentsCouldTake } from './for-agents.ts'
import { AHEAD_MS, type Rate, rateAllows, startOf } from './pacing.ts'
import { settingsOf } from './schema.ts'
import { moveCampaign, moveContact, onCall } from './store.ts'
import type { CampaignRow, ContactRow } from './tables.ts'
import { sendAway, unservedCalls } from './unserved.ts'
import { wakefulCampaigns } from './wakeful.ts'

interface DiallerDeps extends CallingDeps {
  log: { error(fields: object, message: string): void }
}

/** Maximum number of transactions in a row for one campaign, while due contacts turn out not to be callable. */
const MAX_TURNS = 10
/** How long a campaign pauses if its organisation is suspended or at its limit of calls [ms]. */
const HELD_MS = 1000

/**
 * Takes due contacts of running campaigns and stores their calls in the same transaction. So a contact that is taken has its call even if the process
 * dies, and no other node takes it too. The call's leg has the step `to_dial`: it is dialled after the commit, by this process or the next one.
 */
export class Dialler {
  readonly #deps: DiallerDeps

  constructor(deps: DiallerDeps) {
    this.#deps = deps
  }

  /** Called periodically; two statements if there is nothing to do. Without media, or while it is draining, nothing is taken. A failure affects only its own campaign. */
  async run({ state, isDraining }: Pick<MediaClient, 'state' | 'isDraining'>): Promise<void> {
    if (state !== 'ready' || isDraining) return
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

  /** Handles one batch of a campaign. Returns whether to repeat at once: more calls may begin, and more contacts are due than were checked. */
  async #take(trx: Trx, tenant: Tenant, id: string): Promise<boolean> {
    const now = this.#deps.now()
    const campaign = await forTenant(trx, tenant).find('campaigns', id)
    if (campaign === undefined) return false
    const running = await onCall(trx, tenant, id)
    if (campaign.status === 'stopping' && running === 0) return endCampaign(trx, tenant, campaign, 'stopped', now)
    if (campaign.status !== 'running') return false
    if (running === 0 && !(await anyPending(trx, tenant, id)))
      return endCampaign(trx, tenant, campaign, 'completed', now)
    const settings = settingsOf(campaign)
    const rate = { nextCallMs: campaign.next_call_ms, perSecond: settings.calls_per_second, nowMs: now.getTime() }
    const left = await leftToday(trx, tenant, campaign, settings, now)
    const most = Math.min(rateAllows(rate), settings.max_concurrent - running, left)
    if (most <= 0) return false
    const due = await dueContacts(trx, tenant, id, now)
    const limit = Math.min(most, await agentsCouldTake(this.#deps, trx, tenant, { campaign, settings, now }))
    if (limit <= 0) return false
    const { calls, isHeld } = await this.#dial(trx, tenant, { campaign, settings, due, limit, rate, now })
    const begun = calls === 0 ? campaign.next_call_ms : startOf(rate, calls)
    const next = isHeld ? Math.max(begun, now.getTime() + HELD_MS + AHEAD_MS) : begun
    if (next !== campaign.next_call_ms) {
      const calls_begun = campaign.calls_begun + calls
      await forTenant(trx, tenant).change('campaigns', id, { next_call_ms: next, calls_begun })
    }
    return !isHeld && calls < limit && due.length === MAX_LOOKED_AT
  }

  /** `isHeld`: the organisation may begin no calls now. */
  async #dial(
    trx: Trx,
    tenant: Tenant,
    { campaign, settings, due, limit, rate, now }: Taking & { due: ContactRow[]; limit: number; rate: Rate },
  ): Promise<{ calls: number; isHeld: boolean }> {
    const judge = await judgeOf(this.#deps, trx, tenant, { campaign, settings, now }, due)
    const updated = now.toISOString()
    let calls = 0
    for (const contact of due) {
      if (calls === limit) break
      const refused = await judge(contact)
      if (refused !== null) await moveContact(trx, tenant, contact, { ...refused, updated })
      else {
        // Contacts wait while their organisation is suspended or at its limit of calls.
        if ((await callProblem(trx, tenant, updated)) !== null) return { calls, isHeld: true }
        const [turn, startMs] = [campaign.calls_begun + calls, startOf(rate, calls)]
        await callContact(trx, tenant, { campaign, settings, now, contact, turn, startMs })
        calls++
      }
    }
    return { calls, isHeld: false }
  }
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

const anyPending = async (db: Db, tenant: Tenant, campaignId: string): Promise<boolean> =>
  (await pending(db, tenant, campaignId).select('id').limit(1).executeTakeFirst()) !== undefined
