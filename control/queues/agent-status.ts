import { decideAnew } from '../calls/steps/follow.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { rowsOf } from '../kernel/store/compiled.ts'
import { elapsedMs, nodeOf, steadyMsOf } from '../kernel/store/node.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { UserRow } from '../organisation/tables.ts'
import type { AgentStatus } from './agent-schema.ts'
import { allQueues, answeredBy, recallRings } from './settings/store.ts'
import type { AgentStatusRow, AgentWish } from './tables.ts'

/** An agent's presence. The agent sets `available`, `away` and `offline`; calls lead to `busy` and `wrap_up`, and back to the last setting. */

/** How long an agent's phone stays silent after a missed call [ms]. A `rest_until` further ahead was written before the clock was set back. */
export const REST_MS = 5000

/** The agent's row, or an offline one with `since` null if none has been written yet. */
async function rowOf(
  db: Db,
  tenant: Tenant,
  userId: string,
): Promise<Omit<AgentStatusRow, 'since'> & { since: string | null }> {
  const row = await forTenant(db, tenant).find('agent_statuses', userId)
  return (
    row ?? {
      ...ownedBy(tenant),
      id: userId,
      status: 'offline',
      since: null,
      since_ms: null,
      since_on: null,
      wanted: null,
      idle_since: null,
      wrap_up_until: null,
      rest_until: null,
      reserved_until: null,
      last_offered_at: null,
      deviceless_since: null,
    }
  )
}

/** Organisations and modes in which some agent is available. */
export const tenantsWithAvailable = (db: Db): Promise<Pick<AgentStatusRow, 'organisation_id' | 'livemode'>[]> =>
  db
    .selectFrom('agent_statuses')
    .select(['organisation_id', 'livemode'])
    .distinct()
    .where('status', '=', 'available')
    .execute()

export async function agentStatusOf(db: Db, tenant: Tenant, user: UserRow): Promise<AgentStatus> {
  const [status] = await agentStatusesOf(db, tenant, [user])
  return status as AgentStatus
}

/** The presence of these users, in the same order, with four queries at most. */
export async function agentStatusesOf(db: Db, tenant: Tenant, users: readonly UserRow[]): Promise<AgentStatus[]> {
  if (users.length === 0) return []
  const scoped = forTenant(db, tenant)
  const ids = users.map(({ id }) => id)
  const rows = await scoped.select('agent_statuses').selectAll().where('id', 'in', ids).execute()
  const rings = await scoped.select('rings').selectAll().where('open_user', 'in', ids).execute()
  const talks = rings.filter(ring => ring.state === 'talking').map(ring => ring.call_id)
  const calls = talks.length === 0 ? [] : await scoped.select('calls').selectAll().where('id', 'in', talks).execute()
  const queues = await allQueues(db, tenant)
  return users.map((user): AgentStatus => {
    const row = rows.find(({ id }) => id === user.id)
    const ring = rings.find(({ open_user }) => open_user === user.id)
    const call = ring?.state === 'talking' ? calls.find(({ id }) => id === ring.call_id) : undefined
    return {
      object: 'agent_status',
      livemode: tenant.livemode,
      user_id: user.id,
      status: row?.status ?? 'offline',
      since: row?.since ?? user.created,
      ringing: ring?.state === 'ringing',
      queue_ids: user.status === 'active' ? answeredBy(queues, { id: user.id, teamId: user.team_id }) : [],
      call:
        ring === undefined || call === undefined
          ? null
          : { call_id: call.id, direction: call.direction, queue_id: ring.queue_id, started: ring.started_at },
      wrap_up_until: row?.wrap_up_until ?? null,
    }
  })
}

/** Sets the status that the agent wants. It takes effect at once, or after the current call, and ends a wrap-up. */
export async function setWish(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  { wish, at }: { wish: AgentWish; at: string },
): Promise<void> {
  const row = await rowOf(trx, tenant, userId)
  if (row.status === 'busy') return save(trx, tenant, row, { wanted: wish }, at)
  const isBack = wish === 'available' && row.status !== 'available'
  const change = {
    status: wish,
    wanted: wish,
    wrap_up_until: null,
    rest_until: null,
    deviceless_since: null,
    ...(isBack ? { idle_since: at } : {}),
  }
  await save(trx, tenant, row, change, at)
  await recallRings(trx, tenant, 'user_id', userId)
}

/** Sets the agent busy; the status before is kept for after the call. */
export async function becomeBusy(trx: Trx, tenant: Tenant, userId: string, at: string): Promise<void> {
  const row = await rowOf(trx, tenant, userId)
  const before = row.status === 'busy' || row.status === 'wrap_up' ? 'available' : row.status
  const change = { status: 'busy' as const, wanted: row.wanted ?? before, wrap_up_until: null }
  await save(trx, tenant, row, change, at)
}

/** After a call: wrap-up, if there is one, then the status that the agent wants. */
export async function endWork(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  { wrapUpSeconds, at }: { wrapUpSeconds: number; at: string },
): Promise<void> {
  const row = await rowOf(trx, tenant, userId)
  if (row.status !== 'busy') return
  const change =
    wrapUpSeconds > 0
      ? { status: 'wrap_up' as const, wrap_up_until: after(at, wrapUpSeconds * 1000) }
      : { status: row.wanted ?? ('available' as const), idle_since: at, wrap_up_until: null }
  await save(trx, tenant, row, change, at)
}

/** Keeps queues from ringing the agent until then; null: they may ring at once. */
export async function reserveAgent(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  { until, at }: { until: string | null; at: string },
): Promise<void> {
  const row = await rowOf(trx, tenant, userId)
  if (row.reserved_until !== until) await save(trx, tenant, row, { reserved_until: until }, at)
}

/** The agent did not answer: the phone rests, and the agent becomes `away` if `isAway`. */
export async function missedRing(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  { isAway, at }: { isAway: boolean; at: string },
): Promise<void> {
  const row = await rowOf(trx, tenant, userId)
  const away = isAway && row.status === 'available' ? { status: 'away' as const, wanted: 'away' as const } : {}
  await save(trx, tenant, row, { rest_until: after(at, REST_MS), ...away }, at)
}

export const markOffered = async (trx: Trx, tenant: Tenant, userId: string, at: string): Promise<void> =>
  save(trx, tenant, await rowOf(trx, tenant, userId), { last_offered_at: at }, at)

/** Agents of all organisations whose wrap-up is over, as far as this node can judge it. */
export async function wrapUpsOver(db: Db, at: string): Promise<AgentStatusRow[]> {
  const rows = await rowsOf(
    db,
    'wrap-ups',
    () =>
      db
        .selectFrom('agent_statuses')
        .leftJoin('nodes', 'nodes.id', 'since_on')
        .selectAll('agent_statuses')
        .select(['nodes.id as node', 'lost_at'])
        .where('wrap_up_until', 'is not', null),
    {},
  )
  // Each node judges by its own steady clock, so others take over only the rows of a node that is gone.
  const isOurs = ({ node, lost_at }: (typeof rows)[number]) => node === null || node === nodeOf(db) || lost_at !== null
  return rows.filter(row => isOurs(row) && isWrappedUp(db, row, at))
}

/** Measured by the steady clock, if it is known. */
function isWrappedUp(
  db: Db,
  row: Pick<AgentStatusRow, 'since' | 'since_ms' | 'since_on' | 'wrap_up_until'>,
  at: string,
) {
  const { since, since_ms: steadyMs, since_on: node, wrap_up_until } = row
  const lastsMs = wrap_up_until === null ? Number.POSITIVE_INFINITY : Date.parse(wrap_up_until) - Date.parse(since)
  return elapsedMs(db, { steadyMs, node, at: since }, at) >= lastsMs
}

/** Ends a wrap-up, unless it was changed meanwhile. */
export async function endWrapUp(trx: Trx, ended: AgentStatusRow, at: string): Promise<void> {
  const tenant = tenantOf(ended)
  const row = await rowOf(trx, tenant, ended.id)
  const { since, wrap_up_until: until } = row
  if (since === null || until === null || !isWrappedUp(trx, { ...row, since }, at)) return
  const status = row.wanted ?? 'available'
  await save(trx, tenant, row, { status, wrap_up_until: null, idle_since: until < at ? until : at }, at)
}

/** Notes since when the agent has no device. */
export const noteDeviceless = (trx: Trx, row: AgentStatusRow, at: string): Promise<void> =>
  save(trx, tenantOf(row), row, { deviceless_since: at }, at)

/** Sets an agent without a device offline. The wanted status is kept for when there is a device again. */
export const goWithout = (trx: Trx, row: AgentStatusRow, at: string): Promise<void> =>
  save(trx, tenantOf(row), row, { status: 'offline', wanted: row.wanted ?? (row.status as AgentWish) }, at)

/** The agent has a device again, and gets back the wanted status, which may be `offline`. */
export function comeBack(trx: Trx, row: AgentStatusRow, at: string): Promise<void> {
  const isBack = row.status === 'offline' && row.wanted !== null
  const back = isBack ? { status: row.wanted as AgentWish, idle_since: at } : {}
  return save(trx, tenantOf(row), row, { ...back, deviceless_since: null }, at)
}

/** Writes the row, and an event if the status changes. Requests a run of the call centre, since a free agent may get a call. */
async function save(
  trx: Trx,
  tenant: Tenant,
  row: Awaited<ReturnType<typeof rowOf>>,
  change: Partial<AgentStatusRow>,
  at: string,
): Promise<void> {
  const status = change.status ?? row.status
  const isNew = status !== row.status
  const scoped = forTenant(trx, tenant)
  const user = isNew ? await scoped.find('users', row.id) : undefined
  const before = user === undefined ? null : await agentStatusOf(trx, tenant, user)
  const isFirst = isNew || row.since === null
  const since = isFirst ? at : row.since!
  const steady = isFirst ? { since_ms: steadyMsOf(trx), since_on: nodeOf(trx) } : {}
  if (row.since !== null) {
    await scoped.change('agent_statuses', row.id, { ...change, since, ...steady })
  } else {
    const { organisation_id: _o, livemode: _l, ...fresh } = row
    await scoped.insert('agent_statuses', { ...fresh, ...change, since, ...steady })
  }
  decideAnew(trx)
  if (before === null || user === undefined) return
  const object = await agentStatusOf(trx, tenant, user)
  await appendEvent(trx, tenant, { type: 'agent.status.changed', at, object, before })
}

const after = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString()
