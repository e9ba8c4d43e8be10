import type { EndedReason } from '../../media/protocol.ts'
import type { Call } from '../calls/call-schema.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { QueueCall } from '../queues/call-schema.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { freeAgents } from '../queues/ringing/rounds.ts'
import { outcomeOf, resultOf } from './outcomes.ts'
import { settingsOf } from './schema.ts'
import { moveContact } from './store.ts'
import type { CampaignRow } from './tables.ts'
import { apologise } from './unserved.ts'

/** How much later [ms]. */
const NO_LINE_MS = 200

type Deps = Pick<CallCentreParts, 'devicesOf'>

/** What happens to a campaign's call, in the transaction that tells of it (`store.within`). */
export const onCampaignCall = (deps: Deps) =>
  only(
    ['call.answered', 'call.ended', 'queue.call.left'],
    (trx: Trx, fact: Fact): Promise<void> =>
      fact.type === 'queue.call.left' ? leftQueue(trx, fact) : followCall(deps, trx, fact),
  )

/** An agent has come on the line. */
async function leftQueue(trx: Trx, { object, tenant, at }: Fact): Promise<void> {
  const { call_id, outcome } = object as QueueCall
  if (outcome !== 'answered') return
  const scoped = forTenant(trx, tenant)
  const attempt = await scoped.findBy('campaign_attempts', { call_id })
  if (attempt !== undefined) await scoped.change('campaign_attempts', attempt.id, { connected_at: at })
}

async function followCall(deps: Deps, trx: Trx, fact: Fact): Promise<void> {
  const call = fact.object as Call
  // What campaigns place says so; anybody else's call costs no query.
  if (call.direction !== 'outbound' || call.metadata.campaign_contact_id === undefined) return
  const scoped = forTenant(trx, fact.tenant)
  const attempt = await scoped.findBy('campaign_attempts', { call_id: call.id })
  if (attempt === undefined || attempt.ended_at !== null) return
  const contact = await scoped.find('campaign_contacts', attempt.contact_id)
  const campaign = await scoped.find('campaigns', attempt.campaign_id)
  if (contact === undefined || campaign === undefined) return
  const { at, tenant } = fact
  if (fact.type === 'call.answered') {
    const { queue_id: queueId } = settingsOf(campaign)
    const connected_at = queueId === null ? at : null
    await scoped.change('campaign_attempts', attempt.id, { answered_at: at, connected_at })
    await moveContact(trx, tenant, contact, { status: 'connected', updated: at })
    const now = new Date(at)
    if (queueId === null || (await freeAgents(deps, trx, tenant, { queueId, now })) > 0) return
    // Nobody is free: it hears so at once, and waits for nobody.
    await apologise(trx, tenant, call.id)
    return
  }
  const reason = (call.ended_reason ?? 'internal_error') as EndedReason
  const { answered_at, connected_at } = attempt
  const result = resultOf({ reason, wasAnswered: answered_at !== null, wasConnected: connected_at !== null })
  await scoped.change('campaign_attempts', attempt.id, { ended_at: at, result })
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

/** For each call that found no line the next begins later, so that a campaign that is too fast for its connections goes as they do. */
async function slowDown(trx: Trx, tenant: Tenant, { id, next_call_ms }: CampaignRow, nowMs: number): Promise<void> {
  await forTenant(trx, tenant).change('campaigns', id, { next_call_ms: Math.max(next_call_ms, nowMs) + NO_LINE_MS })
}
