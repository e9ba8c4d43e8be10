import Type from 'typebox'
import type { AgentState, UserRow } from '../contact-centre/tables.ts'
import { appendEvent } from '../events/log.ts'
import type { Context } from '../http/context.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import { type Route, route } from '../http/route.ts'
import { input, oneOf } from '../http/schema.ts'
import { type AgentStatus, agentStatusSchema } from '../schemas/agent-status.ts'
import type { Db, Store, Trx } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'

export interface AgentDeps {
  store: Store
  now: () => Date
  /** Queues that a user answers, as a member or through this team. */
  queuesOf: (db: Db, tenant: Tenant, user: { id: string; teamId: string | null }) => Promise<string[]>
}

const params = Type.Object({ id: Type.String({ pattern: '^usr_[A-Za-z0-9]+$', maxLength: 200 }) })

export function agentRoutes(deps: AgentDeps): Route[] {
  const { store, now } = deps
  return [
    route({
      method: 'GET',
      path: '/agents/:id/status',
      id: 'getAgentStatus',
      summary: "Retrieve an agent's presence",
      description: "A user's presence as a human agent, and the queues they answer.",
      tag: 'Agents',
      scope: 'agents:read',
      params,
      status: 200,
      reply: agentStatusSchema,
      errors: [404],
      handler: async (context, { params: { id } }) => {
        const user = await forTenant(store.db, context).find('users', id)
        return user === undefined ? missing('user', id) : statusOf(deps, store.db, context, user)
      },
    }),
    route({
      method: 'PUT',
      path: '/agents/:id/status',
      id: 'setAgentStatus',
      summary: "Set an agent's presence",
      description: '409 for a member who is not active.',
      tag: 'Agents',
      scope: 'agents:write',
      params,
      body: input({ status: oneOf(['available', 'away', 'offline']) }),
      status: 200,
      reply: agentStatusSchema,
      errors: [404, 409],
      handler: (context, { params: { id }, body }) =>
        store.transaction(async (trx): Promise<AgentStatus | Problem> => {
          const user = await forTenant(trx, context).find('users', id)
          if (user === undefined) return missing('user', id)
          if (user.status !== 'active') return conflict('not_active', `The member is ${user.status}.`)
          return setStatus(deps, trx, context, { user, status: body.status, at: now().toISOString() })
        }),
    }),
  ]
}

/** Puts a member offline, who may have been so before. */
export async function signOut(deps: AgentDeps, trx: Trx, context: Context, userId: string): Promise<void> {
  const user = await forTenant(trx, context).find('users', userId)
  if (user === undefined) return
  await setStatus(deps, trx, context, { user, status: 'offline', at: deps.now().toISOString() })
}

/** Writes the status and its event; what is so already stays as it is, since then. */
async function setStatus(
  deps: AgentDeps,
  trx: Trx,
  context: Context,
  change: { user: UserRow; status: AgentState; at: string },
): Promise<AgentStatus> {
  const { user, status, at } = change
  const before = await statusOf(deps, trx, context, user)
  if (before.status === status) return before
  const scoped = forTenant(trx, context)
  await scoped.delete('agent_statuses').where('id', '=', user.id).execute()
  await scoped.insert('agent_statuses', { id: user.id, status, since: at })
  const object: AgentStatus = { ...before, status, since: at }
  const previousAttributes = { status: before.status, since: before.since }
  await appendEvent(trx, context, { type: 'agent.status.changed', at, object, previousAttributes, request: context })
  return object
}

async function statusOf(deps: AgentDeps, db: Db, tenant: Tenant, user: UserRow): Promise<AgentStatus> {
  const scoped = forTenant(db, tenant)
  const row = await scoped.find('agent_statuses', user.id)
  const offer = await scoped.select('queue_calls').select('id').where('offered_to', '=', user.id).executeTakeFirst()
  const isActive = user.status === 'active'
  return {
    object: 'agent_status',
    livemode: tenant.livemode,
    user_id: user.id,
    status: row?.status ?? 'offline',
    since: row?.since ?? user.created,
    ringing: offer !== undefined,
    queue_ids: isActive ? await deps.queuesOf(db, tenant, { id: user.id, teamId: user.team_id }) : [],
    call: null,
    wrap_up_until: null,
  }
}
