import { DateTime } from 'luxon'
import type { CallRow } from '../calls/tables.ts'
import { runningAlerts } from '../copilot/sessions/running-alerts.ts'
import { conflict, invalid, isProblem, type Problem, problem } from '../http/errors.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import { beginningOf } from '../organisation/business-hours.ts'
import { organisationSettings } from '../organisation/routes.ts'
import type { UserRole } from '../organisation/tables.ts'
import { agentStatusesOf } from '../queues/agent-status.ts'
import type { BrowserSessionRow } from '../queues/agents/tables.ts'
import type { CallCentre } from '../queues/call-centre.ts'
import { type SuperviseMode, supervise } from '../queues/call-handling.ts'
import { DEFAULT_SERVICE_S, queueStatsOf } from '../queues/settings/stats.ts'
import type { RingRow } from '../queues/tables.ts'

/** Roles that may see the calls of others and listen in. */
const SUPERVISORS: readonly UserRole[] = ['owner', 'admin', 'supervisor']
/** Limit of each list; beyond it, use the API. */
const MAX_SHOWN = 100
const MODES: readonly unknown[] = ['monitor', 'whisper', 'barge', 'stop'] satisfies SuperviseMode[]

export interface FloorDeps {
  store: { db: Db }
  now: () => Date
  centre: Pick<CallCentre, 'handle' | 'changeSupervision'>
}

export type Floor = Awaited<ReturnType<typeof floorOf>>

/** Why the member may not see the floor; null: the member may. */
export async function floorProblem(db: Db, tenant: Tenant, userId: string): Promise<Problem | null> {
  const user = await forTenant(db, tenant).find('users', userId)
  if (user?.status === 'active' && SUPERVISORS.includes(user.role)) return null
  return problem('scope_missing', 'Only supervisors, admins and owners see the floor.')
}

/** What the floor shows: agents who are signed in, queues, and the agents' calls. */
export async function floorOf({ now }: Pick<FloorDeps, 'now'>, db: Db, tenant: Tenant) {
  const scoped = forTenant(db, tenant)
  const signedIn = scoped.select('agent_statuses').select('id').where('status', '!=', 'offline')
  const users = await scoped
    .select('users')
    .selectAll()
    .where('status', '=', 'active')
    .where('id', 'in', signedIn)
    .orderBy('name')
    .limit(MAX_SHOWN)
    .execute()
  const agents = await agentStatusesOf(db, tenant, users)
  const queues = await scoped.select('queues').selectAll().orderBy('name').limit(MAX_SHOWN).execute()
  const { timezone } = await organisationSettings(db, tenant)
  const midnight = beginningOf(DateTime.fromJSDate(now(), { zone: timezone }))
  const period = { from: midnight.toJSDate().toISOString(), serviceS: DEFAULT_SERVICE_S }
  const calls = await agentsCalls(db, tenant)
  const alerts = await runningAlerts(
    db,
    tenant,
    calls.map(({ call_id }) => call_id),
  )
  return {
    at: now().toISOString(),
    agents: agents.map(({ user_id, status, since, ringing, call }, at) => ({
      user_id,
      name: users[at]?.name || users[at]?.email,
      status,
      since,
      ringing,
      call_id: call?.call_id ?? null,
    })),
    queues: (await queueStatsOf(db, tenant, queues, period)).map(stats => ({
      queue_id: stats.queue_id,
      name: stats.name,
      waiting: stats.waiting,
      longest_wait_since: stats.longest_wait_since,
      answered: stats.answered,
      abandoned: stats.abandoned,
      service_level_pct: stats.service_level_pct,
    })),
    calls: calls.map(call => ({ ...call, alerts: alerts.filter(({ call_id }) => call_id === call.call_id) })),
  }
}

async function agentsCalls(db: Db, tenant: Tenant) {
  const scoped = forTenant(db, tenant)
  const rings = await scoped
    .select('rings')
    .selectAll()
    .where('state', '=', 'talking')
    .where('purpose', '!=', 'supervise')
    .where('user_id', 'is not', null)
    .orderBy('id')
    .limit(MAX_SHOWN)
    .execute()
  const ids = rings.map(({ call_id }) => call_id)
  const calls = ids.length === 0 ? [] : await scoped.select('calls').selectAll().where('id', 'in', ids).execute()
  return rings.flatMap(ring => {
    const call = calls.find(({ id }) => id === ring.call_id)
    return call === undefined || call.ended_at !== null ? [] : [callLine(ring, call)]
  })
}

const callLine = ({ user_id, queue_id, started_at }: RingRow, call: CallRow) => ({
  call_id: call.id,
  user_id,
  queue_id,
  party: call.direction === 'outbound' ? call.to_address : call.from_address,
  status: call.status,
  started: started_at,
})

/** Rings the supervisor's own devices into a call, or changes how it is listened to. Undefined: done. */
export async function superviseFrom(
  { store, centre }: FloorDeps,
  media: MediaPort,
  session: BrowserSessionRow,
  { call_id: callId, mode }: Record<string, unknown>,
): Promise<Problem | undefined> {
  if (!MODES.includes(mode)) return invalid('mode', 'No such mode.')
  const tenant = tenantOf(session)
  const call = await forTenant(store.db, tenant).find('calls', String(callId))
  if (call === undefined) return conflict('not_running', 'The call is over.')
  const wish = { mode: mode as SuperviseMode, userId: session.user_id }
  const ring = await centre.handle({ tenant, callId: call.id }, handling => supervise(handling, wish))
  if (isProblem(ring)) return ring
  if (ring !== null) await centre.changeSupervision(media, ring)
  return undefined
}
