import { triedOf as callbackTried, dialForAssistant, offerCallback } from '../callbacks/returning.ts'
import { nextOpen } from '../contact-centre/business-hours.ts'
import type { AgentStatusRow, CallbackRow, QueueCallRow, QueueRow, UserRow } from '../contact-centre/tables.ts'
import { newId } from '../ids.ts'
import { allQueues, settingsOf } from '../resources/queues/store.ts'
import type { Db, Trx } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import { markOffered } from './agent-status.ts'
import type { CallCentreDeps } from './deps.ts'
import { type Agent, distribute, type QueueDecision, type QueueRules, type Waiting } from './distributor.ts'
import { startRing } from './rings.ts'
import { leadTo, overflowTarget } from './targets.ts'
import { leaveQueue, offerTo, triedOf } from './waiting-calls.ts'

/** One round of an organisation's queues: its rows are read, `distributor.ts` decides, and what it decided is written. */

/** How long an agent's phone rings for a callback of no queue. */
const RING_TIMEOUT_S = 20
/** Callbacks that are looked at in one round. */
const MAX_CALLBACKS = 200

export interface RoundRows {
  queues: QueueRow[]
  calls: QueueCallRow[]
  callbacks: CallbackRow[]
  users: UserRow[]
  statuses: AgentStatusRow[]
  engaged: Set<string>
}

/** Whose callers wait, or whose callbacks are due. */
export async function tenantsWaiting(db: Db, at: string): Promise<Tenant[]> {
  const calls = await db.selectFrom('queue_calls').select(['organisation_id', 'livemode']).distinct().execute()
  const due = await db
    .selectFrom('callbacks')
    .select(['organisation_id', 'livemode'])
    .distinct()
    .where('status', '=', 'pending')
    .where('due_at', '<=', at)
    .execute()
  const tenants = new Map<string, Tenant>()
  for (const { organisation_id, livemode } of [...calls, ...due]) {
    tenants.set(`${organisation_id} ${livemode}`, { organisationId: organisation_id, livemode: livemode === 1 })
  }
  return [...tenants.values()]
}

/** Returns how many decisions were carried out. */
export async function round(deps: CallCentreDeps, trx: Trx, tenant: Tenant, now: Date): Promise<number> {
  const at = now.toISOString()
  const rows = await readRows(trx, tenant, at)
  const isOpen = rows.callbacks.length > 0 && (await isOpenNow(deps, trx, tenant, now))
  const callbacks = isOpen ? rows.callbacks : []
  let done = 0
  for (const row of callbacks) {
    if (row.route === 'assistant' && (await dialForAssistant(trx, tenant, row, at)) !== null) done++
    if (row.route === 'agent') done += await ringOwnAgent(deps, trx, tenant, { row, rows, at })
  }
  const reachable = await reachableAgents(deps, trx, tenant, { rows, now })
  for (const decision of distribute(worldOf(rows, callbacks, reachable, now))) {
    if (await apply(deps, trx, tenant, { decision, rows, at })) done++
  }
  return done
}

async function isOpenNow(deps: CallCentreDeps, trx: Trx, tenant: Tenant, now: Date): Promise<boolean> {
  return nextOpen(await deps.businessHoursOf(trx, tenant), now)?.getTime() === now.getTime()
}

async function readRows(db: Db, tenant: Tenant, at: string): Promise<RoundRows> {
  const scoped = forTenant(db, tenant)
  const rings = await scoped.select('rings').select('open_user').where('open_user', 'is not', null).execute()
  return {
    queues: await allQueues(db, tenant),
    calls: await scoped.select('queue_calls').selectAll().execute(),
    callbacks: await scoped
      .select('callbacks')
      .selectAll()
      .where('status', '=', 'pending')
      .where('due_at', '<=', at)
      .where(eb => eb.or([eb('window_end', 'is', null), eb('window_end', '>', at)]))
      .orderBy('priority', 'desc')
      .orderBy('due_at')
      .limit(MAX_CALLBACKS)
      .execute(),
    users: await scoped.select('users').selectAll().where('status', '=', 'active').execute(),
    statuses: await scoped.select('agent_statuses').selectAll().where('status', '!=', 'offline').execute(),
    engaged: new Set(rings.map(ring => ring.open_user ?? '')),
  }
}

/** Who could be rung: only of these the devices are asked for. */
async function reachableAgents(
  deps: CallCentreDeps,
  trx: Trx,
  tenant: Tenant,
  { rows, now }: { rows: RoundRows; now: Date },
): Promise<Set<string>> {
  const found = new Set<string>()
  for (const { id, status } of rows.statuses) {
    if (status !== 'available' || rows.engaged.has(id)) continue
    if ((await deps.devicesOf(trx, tenant, id, now)).length > 0) found.add(id)
  }
  return found
}

function worldOf(rows: RoundRows, callbacks: CallbackRow[], reachable: ReadonlySet<string>, now: Date) {
  const active = new Set(rows.users.map(user => user.id))
  return {
    queues: rows.queues.map(row => rulesOf(row, rows.users)),
    waiting: [
      ...rows.calls.map(waitingCall),
      ...callbacks.filter(row => row.route === 'agent_queue').map(waitingCallback),
    ],
    agents: rows.statuses.filter(row => active.has(row.id)).map(row => agentOf(row, rows.engaged, reachable)),
    now: now.getTime(),
  }
}

function rulesOf(row: QueueRow, users: readonly UserRow[]): QueueRules {
  const settings = settingsOf(row)
  const teams = new Set(settings.member_team_ids)
  const named = new Set(settings.member_user_ids)
  const members = users.filter(user => named.has(user.id) || (user.team_id !== null && teams.has(user.team_id)))
  return {
    id: row.id,
    enabled: settings.enabled,
    strategy: settings.strategy,
    members: new Set(members.map(user => user.id)),
    overflowWhenNoAgents: settings.overflow.when_no_agents,
  }
}

const waitingCall = (row: QueueCallRow): Waiting => ({
  kind: 'call',
  id: row.id,
  queueId: row.queue_id,
  since: Date.parse(row.joined_at),
  priority: 0,
  tried: new Set(triedOf(row)),
  isOffered: row.offered_to !== null,
  overflowAt: row.overflow_at === null ? null : Date.parse(row.overflow_at),
})

const waitingCallback = (row: CallbackRow): Waiting => ({
  kind: 'callback',
  id: row.id,
  queueId: row.queue_id,
  since: Date.parse(row.due_at),
  priority: row.priority,
  tried: new Set(callbackTried(row)),
  isOffered: false,
  overflowAt: null,
})

const timeOf = (at: string | null): number => (at === null ? 0 : Date.parse(at))

const agentOf = (row: AgentStatusRow, engaged: ReadonlySet<string>, reachable: ReadonlySet<string>): Agent => ({
  id: row.id,
  isSignedIn: row.status !== 'offline',
  isFree: row.status === 'available' && !engaged.has(row.id),
  isReachable: reachable.has(row.id),
  restUntil: timeOf(row.rest_until),
  idleSince: timeOf(row.idle_since ?? row.since),
  lastOfferedAt: timeOf(row.last_offered_at),
})

async function apply(
  deps: CallCentreDeps,
  trx: Trx,
  tenant: Tenant,
  { decision, rows, at }: { decision: QueueDecision; rows: RoundRows; at: string },
): Promise<boolean> {
  if (decision.kind === 'overflow') {
    const left = await leaveQueue(trx, tenant, decision.id, { outcome: decision.reason, at })
    if (left === null) return false
    const target = await overflowTarget(trx, tenant, left.queue_id)
    await leadTo(deps, trx, tenant, { callId: left.id, legId: left.leg_id ?? '', at }, target)
    return true
  }
  if (decision.to === 'callback') {
    const row = rows.callbacks.find(callback => callback.id === decision.id)
    return row !== undefined && ringForCallback(deps, trx, tenant, { row, userId: decision.agentId, rows, at })
  }
  const call = rows.calls.find(one => one.id === decision.id)
  if (call === undefined) return false
  const ring = await startRing(
    trx,
    tenant,
    {
      callId: call.id,
      purpose: 'queue',
      userId: decision.agentId,
      queueId: call.queue_id,
      callbackId: null,
      mode: null,
      targets: await deps.devicesOf(trx, tenant, decision.agentId, new Date(at)),
      role: 'agent',
      address: decision.agentId,
      timeoutS: timeoutOf(rows, call.queue_id),
    },
    at,
  )
  if (ring === null) return false
  await offerTo(trx, tenant, call.id, decision.agentId, at)
  await markOffered(trx, tenant, decision.agentId, at)
  return true
}

/** A callback of an agent's own waits until that agent is free. */
async function ringOwnAgent(
  deps: CallCentreDeps,
  trx: Trx,
  tenant: Tenant,
  { row, rows, at }: { row: CallbackRow; rows: RoundRows; at: string },
): Promise<number> {
  const status = rows.statuses.find(one => one.id === row.agent_id)
  if (status === undefined || status.status !== 'available' || rows.engaged.has(status.id)) return 0
  if (status.rest_until !== null && status.rest_until > at) return 0
  if (!(await ringForCallback(deps, trx, tenant, { row, userId: status.id, rows, at }))) return 0
  rows.engaged.add(status.id)
  return 1
}

async function ringForCallback(
  deps: CallCentreDeps,
  trx: Trx,
  tenant: Tenant,
  { row, userId, rows, at }: { row: CallbackRow; userId: string; rows: RoundRows; at: string },
): Promise<boolean> {
  const targets = await deps.devicesOf(trx, tenant, userId, new Date(at))
  if (targets.length === 0) return false
  const callId = newId('call')
  const ring = {
    callId,
    purpose: 'callback' as const,
    userId,
    queueId: row.queue_id,
    callbackId: row.id,
    mode: null,
    targets,
    role: 'agent' as const,
    address: userId,
    timeoutS: timeoutOf(rows, row.queue_id),
  }
  if ((await startRing(trx, tenant, ring, at)) === null) return false
  await offerCallback(trx, tenant, row, { userId, callId, at })
  await markOffered(trx, tenant, userId, at)
  return true
}

function timeoutOf(rows: RoundRows, queueId: string | null): number {
  const row = rows.queues.find(queue => queue.id === queueId)
  return row === undefined ? RING_TIMEOUT_S : settingsOf(row).ring_timeout_seconds
}
