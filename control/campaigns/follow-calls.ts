import type { EndedReason } from '../../media/protocol.ts'
import { actionFor, type CallAnsweredBy, storedAnswering } from '../calls/answering/schema.ts'
import type { Call } from '../calls/call-schema.ts'
import { mainLeg } from '../calls/legs.ts'
import { isGoing } from '../calls/steps/table.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { AgentStatus } from '../queues/agent-schema.ts'
import type { QueueCall } from '../queues/call-schema.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { freeAgents } from '../queues/ringing/rounds.ts'
import { outcomeOf, resultOf } from './outcomes.ts'
import { MAX_AHEAD_MS, nextFrom } from './pacing.ts'
import { reserve } from './preview/claims.ts'
import { settingsOf } from './schema.ts'
import { moveContact } from './store.ts'
import type { AttemptRow, CampaignRow, ContactRow } from './tables.ts'
import { apologise } from './unserved.ts'

/** Delay of a campaign's next call after one that found no free line [ms]. */
const NO_LINE_MS = 200

type Deps = Pick<CallCentreParts, 'devicesOf'>

/** Events of a campaign's calls, handled in the transaction of the event (`store.within`). */
export const onCampaignCall = (deps: Deps) =>
  only(
    ['agent.status.changed', 'call.answered', 'call.answered_by', 'call.ended', 'queue.call.left'],
    (trx: Trx, fact: Fact): Promise<void> => {
      if (fact.type === 'agent.status.changed') return agentTalks(trx, fact)
      if (fact.type === 'queue.call.left') return leftQueue(trx, fact)
      return fact.type === 'call.answered_by' ? foundOut(trx, fact) : followCall(deps, trx, fact)
    },
  )

/** Whether the answered call goes on to whoever leads the campaign: not if detection is pending, or the leg is hung up or leaves a message. */
async function isLedOn(trx: Trx, tenant: Tenant, { id, answered_by }: Call): Promise<boolean> {
  if (answered_by === null) return false
  const leg = await mainLeg(trx, tenant, id)
  return leg !== undefined && !isGoing(leg.step)
}

/** What answered instead of a person; null: a person. An unknown party counts as what the campaign treats it as. */
async function takenFor(trx: Trx, { tenant }: Fact, { id, answered_by: by }: Call): Promise<'machine' | 'fax' | null> {
  if (by === null || by === 'human') return null
  if (by !== 'unknown') return by
  const call = await forTenant(trx, tenant).find('calls', id)
  const policy = call === undefined ? undefined : storedAnswering(call)?.policy
  return actionFor(policy, by) === 'connect' ? null : 'machine'
}

async function foundOut(trx: Trx, { object, tenant, at }: Fact): Promise<void> {
  const { call_id, answered_by } = object as CallAnsweredBy
  const scoped = forTenant(trx, tenant)
  const attempt = await scoped.findBy('campaign_attempts', { call_id })
  if (attempt !== undefined) await scoped.change('campaign_attempts', attempt.id, { answered_by, found_out_at: at })
}

/** In preview: the agent who has looked at the contact has joined the call. */
async function agentTalks(trx: Trx, { object, tenant, at }: Fact): Promise<void> {
  const { status, call, user_id } = object as AgentStatus
  if (status !== 'busy' || call === null || call.direction !== 'outbound') return
  const scoped = forTenant(trx, tenant)
  const attempt = await scoped.findBy('campaign_attempts', { call_id: call.call_id })
  if (attempt?.user_id !== user_id) return
  await scoped.change('campaign_attempts', attempt.id, { connected_at: at })
  await reserve(trx, tenant, user_id, at)
}

/** An agent of the queue has answered. */
async function leftQueue(trx: Trx, { object, tenant, at }: Fact): Promise<void> {
  const { call_id, outcome } = object as QueueCall
  if (outcome !== 'answered') return
  const scoped = forTenant(trx, tenant)
  const attempt = await scoped.findBy('campaign_attempts', { call_id })
  if (attempt !== undefined) await scoped.change('campaign_attempts', attempt.id, { connected_at: at })
}

async function followCall(deps: Deps, trx: Trx, fact: Fact): Promise<void> {
  const call = fact.object as Call
  // The metadata mark campaign calls, so that other calls cost no query.
  if (call.direction !== 'outbound' || call.metadata.campaign_contact_id === undefined) return
  const scoped = forTenant(trx, fact.tenant)
  const attempt = await scoped.findBy('campaign_attempts', { call_id: call.id })
  if (attempt === undefined || attempt.ended_at !== null) return
  const contact = await scoped.find('campaign_contacts', attempt.contact_id)
  const campaign = await scoped.find('campaigns', attempt.campaign_id)
  if (contact === undefined || campaign === undefined) return
  const followed = { call, attempt, contact, campaign }
  if (fact.type === 'call.answered') await answered(deps, trx, fact, followed)
  else await ended(trx, fact, followed)
}

interface Followed {
  call: Call
  attempt: AttemptRow
  contact: ContactRow
  campaign: CampaignRow
}

async function answered(
  deps: Deps,
  trx: Trx,
  { at, tenant }: Fact,
  { call, attempt, contact, campaign }: Followed,
): Promise<void> {
  const { queue_id: queueId } = settingsOf(campaign)
  const isLed = call.answering_machine_detection === null || (await isLedOn(trx, tenant, call))
  const connected_at = queueId === null && isLed ? at : null
  await forTenant(trx, tenant).change('campaign_attempts', attempt.id, { answered_at: at, connected_at })
  if (!isLed) return
  await moveContact(trx, tenant, contact, { status: 'connected', updated: at })
  if (queueId === null || attempt.user_id !== null) return
  if ((await freeAgents(deps, trx, tenant, { queueId, now: new Date(at) })) > 0) return
  // No agent is free: the contact hears an apology at once, instead of waiting.
  await apologise(trx, tenant, call.id)
}

async function ended(trx: Trx, fact: Fact, { call, attempt, contact, campaign }: Followed): Promise<void> {
  const { at, tenant } = fact
  const reason = (call.ended_reason ?? 'internal_error') as EndedReason
  const { answered_at, connected_at } = attempt
  const were = { wasAnswered: answered_at !== null, wasConnected: connected_at !== null }
  const result = resultOf({ reason, takenFor: await takenFor(trx, fact, call), ...were })
  // A call that is refused may end before the time at which it was to be dialled.
  const ended_at = at < attempt.started_at ? attempt.started_at : at
  await forTenant(trx, tenant).change('campaign_attempts', attempt.id, { ended_at, result })
  if (attempt.user_id !== null) await reserve(trx, tenant, attempt.user_id, at)
  // No line was free: it was no attempt.
  const attempts = result === 'capacity' ? contact.attempts - 1 : contact.attempts
  if (result === 'capacity') await slowDown(trx, tenant, campaign, Date.parse(at))
  const { max_attempts: maxAttempts, retry_minutes: retry } = settingsOf(campaign)
  const outcome = outcomeOf(result, { attempts, maxAttempts, retry, nowMs: Date.parse(at) })
  await moveContact(trx, tenant, contact, {
    status: outcome.status,
    attempts,
    last_result: result,
    call_id: null,
    next_attempt_at: outcome.status === 'pending' ? new Date(outcome.notBeforeMs).toISOString() : null,
    updated: at,
  })
}

/** Each call that found no free line delays the next one, so that a campaign adapts to the rate of its connections. */
async function slowDown(trx: Trx, tenant: Tenant, { id, next_call_ms }: CampaignRow, nowMs: number): Promise<void> {
  const later = Math.min(nextFrom(next_call_ms, nowMs) + NO_LINE_MS, nowMs + MAX_AHEAD_MS)
  await forTenant(trx, tenant).change('campaigns', id, { next_call_ms: later })
}
