import type { EndedReason } from '../../../media/protocol.ts'
import { toCallback } from '../../callbacks/schema-callback.ts'
import type { CallbackRow } from '../../callbacks/tables.ts'
import { insertParty } from '../../calls/records.ts'
import type { EventType } from '../../kernel/events/catalog.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { newId } from '../../kernel/ids.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { type BusinessHours, nextOpen } from '../../organisation/business-hours.ts'
import { isListed } from '../../trunks/do-not-call.ts'
import type { RingRow } from '../tables.ts'
import { triedOf } from '../waiting-calls.ts'
import type { RingTarget } from './rings.ts'

/** The states of a callback while it is returned. Each transition depends on the stored state only. */

/** Waits before the second attempt, the third, and each later one [ms]. */
const BACKOFF_MS = [5 * 60_000, 30 * 60_000, 2 * 60 * 60_000]
/** A call that could not be dialled for lack of capacity is no attempt, and is tried again soon [ms]. */
const CAPACITY_RETRY_MS = 60_000
/** Result of an attempt in which the agent's phone was all that rang. */
const AGENT_MISSED = 'agent-no-answer'
/** How long the person's phone rings. */
const CUSTOMER_TIMEOUT_S = 45

/** Offers a callback to an agent. With a fixed agent this already counts as an attempt. False: it is no longer pending. */
export async function offerCallback(
  trx: Trx,
  tenant: Tenant,
  row: CallbackRow,
  { userId, callId, at }: { userId: string; callId: string; at: string },
): Promise<boolean> {
  const taken = { offered_to: userId, call_id: callId }
  if (row.route === 'agent_queue') {
    return move(trx, tenant, row, ['pending'], { ...taken, status: 'offered' }, { type: 'callback.offered', at })
  }
  return move(trx, tenant, row, ['pending'], { ...taken, ...attempt(row, at) }, { type: 'callback.dialing', at })
}

/** The agent has taken the callback, and the person is dialled. False: it has just been cancelled or has expired. */
export async function agentAccepted(trx: Trx, tenant: Tenant, ring: RingRow, at: string): Promise<boolean> {
  const row = await offeredBy(trx, tenant, ring)
  if (row === undefined) return false
  const isTaken =
    row.status === 'offered'
      ? await move(trx, tenant, row, ['offered'], attempt(row, at), { type: 'callback.dialing', at })
      : row.status === 'dialing'
  if (isTaken) await dialPerson(trx, tenant, row, ring.call_id, at)
  return isTaken
}

/** The callback that this ring offers; undefined: it is offered to nobody, or to another agent by now. */
async function offeredBy(trx: Trx, tenant: Tenant, ring: RingRow): Promise<CallbackRow | undefined> {
  const row = await forTenant(trx, tenant).find('callbacks', ring.callback_id ?? '')
  return row?.call_id === ring.call_id ? row : undefined
}

/**
 * The agent did not answer: the callback is pending for the next agent or, with a fixed agent, the attempt has failed. Where there was no
 * `capacity` for a call, that is a little later, and was no attempt.
 */
export async function agentMissed(
  trx: Trx,
  tenant: Tenant,
  { ring, reason, hours, at }: { ring: RingRow; reason: EndedReason; hours: BusinessHours; at: string },
): Promise<void> {
  const row = await offeredBy(trx, tenant, ring)
  if (row === undefined) return
  if (reason === 'capacity') return attemptFailed(trx, tenant, row, { result: reason, hours, at })
  if (row.status === 'dialing') return attemptFailed(trx, tenant, row, { result: AGENT_MISSED, hours, at })
  const tried = JSON.stringify([...new Set([...triedOf(row), ring.user_id ?? ''])])
  await move(trx, tenant, row, ['offered'], { status: 'pending', offered_to: null, call_id: null, tried }, { at })
}

/** Dials the person of a callback of route `assistant`. Returns the new call's ID; null: the callback is no longer pending. */
export async function dialForAssistant(trx: Trx, tenant: Tenant, row: CallbackRow, at: string): Promise<string | null> {
  const callId = newId('call')
  const change = { ...attempt(row, at), call_id: callId }
  if (!(await move(trx, tenant, row, ['pending'], change, { type: 'callback.dialing', at }))) return null
  await dialPerson(trx, tenant, row, callId, at)
  return callId
}

/** The callback that a call returns. */
export const callbackReturnedBy = (db: Db, tenant: Tenant, callId: string): Promise<CallbackRow | undefined> =>
  forTenant(db, tenant)
    .select('callbacks')
    .selectAll()
    .where('call_id', '=', callId)
    .where('status', 'in', ['offered', 'dialing', 'connected'])
    .executeTakeFirst()

/** The person has answered. */
export async function personAnswered(trx: Trx, tenant: Tenant, row: CallbackRow, at: string): Promise<void> {
  const change = { status: 'connected' as const, last_result: 'answered' }
  await move(trx, tenant, row, ['dialing'], change, { type: 'callback.connected', at })
}

/** The call that returns a callback is over: the callback is completed, or the attempt has failed. */
export async function callBackOver(
  trx: Trx,
  tenant: Tenant,
  row: CallbackRow,
  { reason, hours, at }: { reason: EndedReason; hours: BusinessHours; at: string },
): Promise<void> {
  if (row.status === 'connected') {
    const change = { status: 'completed' as const, open_phone: null, completed_at: at, offered_to: null }
    await move(trx, tenant, row, ['connected'], change, { type: 'callback.completed', at })
  } else if (row.status === 'dialing') {
    await attemptFailed(trx, tenant, row, { result: resultOf(reason), hours, at })
  }
}

async function attemptFailed(
  trx: Trx,
  tenant: Tenant,
  row: CallbackRow,
  { result, hours, at }: { result: string; hours: BusinessHours; at: string },
): Promise<void> {
  // Nobody was dialled: no line was free, or the organisation is at its limit of calls.
  const isNone = result === 'capacity'
  const wasCounted = isNone && row.status === 'dialing'
  const call = isNone || result === AGENT_MISSED ? { call_id: null } : {}
  const free = { ...call, last_result: result, offered_to: null, ...(wasCounted && { attempts: row.attempts - 1 }) }
  if (await isListed(trx, tenant, row.phone)) {
    const change = { ...free, status: 'cancelled' as const, open_phone: null }
    await move(trx, tenant, row, ['offered', 'dialing'], change, { type: 'callback.cancelled', at })
    return
  }
  if (!isNone && row.attempts >= row.max_attempts) {
    const change = { ...free, status: 'failed' as const, open_phone: null }
    await move(trx, tenant, row, ['dialing'], change, { type: 'callback.failed', at })
    return
  }
  const waitMs = isNone ? CAPACITY_RETRY_MS : (BACKOFF_MS[Math.min(row.attempts, BACKOFF_MS.length) - 1] ?? 0)
  const earliest = new Date(Date.parse(at) + waitMs)
  const due_at = (nextOpen(hours, earliest) ?? earliest).toISOString()
  const change = { ...free, status: 'pending' as const, due_at, tried: null }
  await move(trx, tenant, row, ['offered', 'dialing'], change, { type: 'callback.attempt_failed', at })
}

async function dialPerson(trx: Trx, tenant: Tenant, row: CallbackRow, callId: string, at: string): Promise<void> {
  const target = { kind: 'address', to: row.phone, from: null, timeoutS: CUSTOMER_TIMEOUT_S } satisfies RingTarget & {
    timeoutS: number
  }
  await insertParty(
    trx,
    tenant,
    {
      callId,
      legId: newId('participant'),
      direction: 'outbound',
      to: row.phone,
      from: '',
      target: 'callback',
      roomId: null,
      queueId: row.queue_id,
      userId: row.offered_to,
      dial: JSON.stringify(target),
      connectionId: null,
      metadata: { callback_id: row.id },
      role: 'member',
      muted: false,
    },
    at,
  )
}

const attempt = (row: CallbackRow, at: string) =>
  ({ status: 'dialing', attempts: row.attempts + 1, last_attempt_at: at }) as const

function resultOf(reason: EndedReason): string {
  switch (reason) {
    case 'no_answer':
      return 'no-answer'
    case 'busy':
    case 'rejected':
    case 'capacity':
      return reason
    case 'agent_hangup':
    case 'api_hangup':
      return 'cancelled'
    default:
      return 'failed'
  }
}

/** Makes a transition, if the callback is in one of the states `from`. Of several processes that try, one succeeds. */
async function move(
  trx: Trx,
  tenant: Tenant,
  row: CallbackRow,
  from: CallbackRow['status'][],
  change: Partial<CallbackRow>,
  { type, at }: { type?: EventType; at: string },
): Promise<boolean> {
  const written = { ...change, updated: at }
  const update = forTenant(trx, tenant).update('callbacks').set(written).where('id', '=', row.id)
  const { numUpdatedRows } = await update.where('status', 'in', from).executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  if (type !== undefined) {
    const told = { object: toCallback({ ...row, ...written }), before: toCallback(row) }
    await appendEvent(trx, tenant, { type, at, ...told, callId: written.call_id ?? row.call_id ?? undefined })
  }
  return true
}
