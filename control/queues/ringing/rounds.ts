import type { CallbackRow } from '../../callbacks/tables.ts'
import { newId } from '../../kernel/ids.ts'
import { rowsOf } from '../../kernel/store/compiled.ts'
import { faultOf } from '../../kernel/store/faults.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { nextOpen } from '../../organisation/business-hours.ts'
import type { UserRow } from '../../organisation/tables.ts'
import { callProblem } from '../../usage/allowance.ts'
import { markOffered, REST_MS } from '../agent-status.ts'
import { dueCallbacks, isCallbackDue, type Takers, tenantsWithDue } from '../callbacks/due.ts'
import type { CallCentreParts } from '../deps.ts'
import { type Agent, distribute, isTaker, type QueueDecision, type QueueRules, type Waiting } from '../distributor.ts'
import { allQueues, settingsOf } from '../settings/store.ts'
import type { AgentStatusRow, QueueCallRow, QueueRow } from '../tables.ts'
import { leadTo, overflowTarget } from '../targets.ts'
import { offerTo, stopWaiting, triedOf, waitedMs } from '../waiting-calls.ts'
import { dialForAssistant, offerCallback } from './returning.ts'
import { type NewRing, startRing } from './rings.ts'

/** One round of an organisation's queues: reads the rows, decides by `distributor.ts`, and writes the decisions. */

/** How long an agent's phone rings for a callback without a queue [s]. */
const RING_TIMEOUT_S = 20
interface RoundRows {
  queues: QueueRow[]
  calls: QueueCallRow[]
  /** The legs of the callers of this node: what leads the others on runs on theirs. */
  own: Set<string | null>
  users: UserRow[]
  statuses: AgentStatusRow[]
  engaged: Set<string>
}

/** Tenants with callers waiting on this node, or with due callbacks. */
export async function tenantsWaiting(db: Db, at: string): Promise<Tenant[]> {
  const calls = await rowsOf(
    db,
    'tenants with callers in queues',
    place =>
      db
        .selectFrom('queue_calls')
        .innerJoin('participants', 'participants.id', 'queue_calls.leg_id')
        .select(['queue_calls.organisation_id', 'queue_calls.livemode'])
        .distinct()
        .where('participants.node_id', '=', place('node')),
    { node: nodeOf(db) },
  )
  const tenants = [...calls.map(tenantOf), ...(await tenantsWithDue(db, at))]
  return [...new Map(tenants.map(tenant => [`${tenant.organisationId} ${tenant.livemode}`, tenant])).values()]
}

/** A decision about a call or callback could not be carried out because of a bug; `of`: its ID. */
export class DecisionFault extends Error {
  readonly of: string
  constructor(of: string, cause: unknown) {
    super(`what was decided for ${of} could not be done`, { cause })
    this.of = of
  }
}

/** Returns how many decisions were carried out. `apart`: IDs of calls and callbacks that failed before and are left out. Throws `DecisionFault`. */
export async function round(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { now, apart, isDraining }: { now: Date; apart: Pick<ReadonlySet<string>, 'has'>; isDraining: boolean },
): Promise<number> {
  const at = now.toISOString()
  const rows = await readRows(trx, tenant)
  const agents = await agentsOf(deps, trx, tenant, { rows, now })
  const queues = rows.queues.map(row => rulesOf(row, rows.users))
  const callbacks = isDraining ? [] : await callbacksNow(deps, trx, tenant, { queues, agents, now })
  const waiting: Waiting[] = []
  for (const row of rows.calls.filter(({ id }) => !apart.has(id))) {
    waiting.push(await blamed(row.id, async () => waitingCall(trx, row, { own: rows.own, now })))
  }
  for (const row of callbacks.filter(({ id, route }) => route !== 'assistant' && !apart.has(id))) {
    waiting.push(await blamed(row.id, async () => waitingCallback(row)))
  }
  let done = 0
  for (const row of callbacks) {
    if (row.route !== 'assistant' || apart.has(row.id)) continue
    if ((await callProblem(trx, tenant, at)) !== null) break
    if (await blamed(row.id, async () => (await dialForAssistant(trx, tenant, row, at)) !== null)) done++
  }
  for (const decision of distribute({ queues, waiting, agents, now: now.getTime() })) {
    if (await blamed(decision.id, () => apply(deps, trx, tenant, { decision, rows, callbacks, at }))) done++
  }
  return done
}

async function blamed<T>(id: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    // Faults of the database are not the call's: the transaction is repeated.
    throw faultOf(error) === null ? new DecisionFault(id, error) : error
  }
}

/** The callbacks that somebody could take now; none outside business hours. */
async function callbacksNow(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { queues, agents, now }: { queues: readonly QueueRules[]; agents: readonly Agent[]; now: Date },
): Promise<CallbackRow[]> {
  const at = now.toISOString()
  if (!(await isCallbackDue(trx, tenant, at)) || !(await isOpenNow(deps, trx, tenant, now))) return []
  // Callbacks wait while their organisation is suspended or at its limit of calls.
  if ((await callProblem(trx, tenant, at)) !== null) return []
  return dueCallbacks(trx, tenant, { at, takers: takersOf(queues, agents, now.getTime()) })
}

function takersOf(queues: readonly QueueRules[], agents: readonly Agent[], now: number): Takers {
  const free = new Set(agents.filter(agent => isTaker(agent, now)).map(agent => agent.id))
  const byQueue = new Map<string, number>()
  for (const { id, members } of queues) {
    const count = [...members].filter(member => free.has(member)).length
    if (count > 0) byQueue.set(id, count)
  }
  return { agents: free, byQueue }
}

async function isOpenNow(deps: CallCentreParts, trx: Trx, tenant: Tenant, now: Date): Promise<boolean> {
  return nextOpen(await deps.businessHoursOf(trx, tenant), now)?.getTime() === now.getTime()
}

async function readRows(db: Db, tenant: Tenant): Promise<RoundRows> {
  const scoped = forTenant(db, tenant)
  const rings = await scoped.select('rings').select('open_user').where('open_user', 'is not', null).execute()
  const queued = scoped.select('participants').select('id').where('step', '=', 'queued')
  const own = await queued.where('node_id', '=', nodeOf(db)).execute()
  return {
    queues: await allQueues(db, tenant),
    calls: await scoped.select('queue_calls').selectAll().where('leg_id', 'in', queued).execute(),
    own: new Set(own.map(({ id }) => id)),
    users: await scoped.select('users').selectAll().where('status', '=', 'active').execute(),
    statuses: await scoped.select('agent_statuses').selectAll().where('status', '!=', 'offline').execute(),
    engaged: new Set(rings.map(ring => ring.open_user ?? '')),
  }
}

/** Number of a queue's agents who could take a call now, minus the callers who wait for one. */
export async function freeAgents(
  deps: Pick<CallCentreParts, 'devicesOf'>,
  trx: Trx,
  tenant: Tenant,
  { queueId, now }: { queueId: string; now: Date },
): Promise<number> {
  const rows = await readRows(trx, tenant)
  const queues = rows.queues.filter(({ id }) => id === queueId).map(row => rulesOf(row, rows.users))
  const { byQueue } = takersOf(queues, await agentsOf(deps, trx, tenant, { rows, now }), now.getTime())
  const waiting = forTenant(trx, tenant).select('queue_calls').select('id').where('queue_id', '=', queueId)
  return (byQueue.get(queueId) ?? 0) - (await waiting.where('offered_to', 'is', null).execute()).length
}

/** The agents who are signed in. Devices are looked up only for those who could be rung. */
async function agentsOf(
  deps: Pick<CallCentreParts, 'devicesOf'>,
  trx: Trx,
  tenant: Tenant,
  { rows, now }: { rows: RoundRows; now: Date },
): Promise<Agent[]> {
  const active = new Set(rows.users.map(user => user.id))
  const agents: Agent[] = []
  for (const row of rows.statuses) {
    if (!active.has(row.id)) continue
    const isFree = row.status === 'available' && !rows.engaged.has(row.id)
    const isReachable = isFree && (await deps.devicesOf(trx, tenant, row.id, now)).length > 0
    agents.push(agentOf(row, { isFree, isReachable }, now.getTime()))
  }
  return agents
}

export function rulesOf(row: QueueRow, users: readonly UserRow[]): QueueRules {
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

/** The wait is measured by the steady clock, so setting the time of day does not change it. */
function waitingCall(db: Db, row: QueueCallRow, { own, now }: { own: RoundRows['own']; now: Date }): Waiting {
  const since = now.getTime() - waitedMs(db, { ...row, back_at: null }, now.toISOString())
  const mayWaitMs = row.overflow_at === null ? null : Date.parse(row.overflow_at) - Date.parse(row.joined_at)
  return {
    kind: 'call',
    id: row.id,
    queueId: row.queue_id,
    since,
    onlyAgent: null,
    priority: 0,
    tried: new Set(triedOf(row)),
    isOffered: row.offered_to !== null,
    isElsewhere: !own.has(row.leg_id),
    overflowAt: mayWaitMs === null ? null : since + mayWaitMs,
  }
}

const waitingCallback = (row: CallbackRow): Waiting => ({
  kind: 'callback',
  id: row.id,
  queueId: row.queue_id,
  onlyAgent: row.route === 'agent' ? row.agent_id : null,
  since: Date.parse(row.due_at),
  priority: row.priority,
  tried: new Set(triedOf(row)),
  isOffered: false,
  isElsewhere: false,
  overflowAt: null,
})

const timeOf = (at: string | null): number => (at === null ? 0 : Date.parse(at))

const restOf = ({ rest_until }: AgentStatusRow, nowMs: number): number =>
  timeOf(rest_until) > nowMs + REST_MS ? 0 : timeOf(rest_until)

const agentOf = (row: AgentStatusRow, free: Pick<Agent, 'isFree' | 'isReachable'>, nowMs: number): Agent => ({
  id: row.id,
  isSignedIn: row.status !== 'offline',
  ...free,
  restUntil: Math.max(restOf(row, nowMs), timeOf(row.reserved_until)),
  idleSince: timeOf(row.idle_since ?? row.since),
  lastOfferedAt: timeOf(row.last_offered_at),
})

async function apply(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { decision, rows, callbacks, at }: { decision: QueueDecision; rows: RoundRows; callbacks: CallbackRow[]; at: string },
): Promise<boolean> {
  if (decision.kind === 'overflow') {
    const left = await stopWaiting(trx, tenant, decision.id, { outcome: decision.reason, at })
    if (left === null) return false
    const target = await overflowTarget(trx, tenant, left.queue_id)
    await leadTo(deps, trx, tenant, { callId: left.id, legId: left.leg_id ?? '', at }, target)
    return true
  }
  if (decision.to === 'callback') {
    const row = callbacks.find(callback => callback.id === decision.id)
    return row !== undefined && ringForCallback(deps, trx, tenant, { row, userId: decision.agentId, rows, at })
  }
  const call = rows.calls.find(one => one.id === decision.id)
  if (call === undefined) return false
  const offer = { purpose: 'queue', callId: call.id, queueId: call.queue_id, callbackId: null } as const
  const isRung = await ringAgent(deps, trx, tenant, { offer, userId: decision.agentId, rows, at })
  return isRung && offerTo(trx, tenant, call.id, decision.agentId, at)
}

async function ringForCallback(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { row, userId, rows, at }: { row: CallbackRow; userId: string; rows: RoundRows; at: string },
): Promise<boolean> {
  const callId = newId('call')
  const offer = { purpose: 'callback', callId, queueId: row.queue_id, callbackId: row.id } as const
  const isRung = await ringAgent(deps, trx, tenant, { offer, userId, rows, at })
  return isRung && offerCallback(trx, tenant, row, { userId, callId, at })
}

type Offer = Pick<NewRing, 'purpose' | 'callId' | 'queueId' | 'callbackId'>

async function ringAgent(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { offer, userId, rows, at }: { offer: Offer; userId: string; rows: RoundRows; at: string },
): Promise<boolean> {
  const targets = await deps.devicesOf(trx, tenant, userId, new Date(at))
  const timeoutS = timeoutOf(rows, offer.queueId)
  const ring = { ...offer, userId, mode: null, targets, role: 'agent' as const, address: userId, timeoutS }
  if (targets.length === 0 || (await startRing(trx, tenant, ring, at)) === null) return false
  await markOffered(trx, tenant, userId, at)
  return true
}

function timeoutOf(rows: RoundRows, queueId: string | null): number {
  const row = rows.queues.find(queue => queue.id === queueId)
  return row === undefined ? RING_TIMEOUT_S : settingsOf(row).ring_timeout_seconds
}
