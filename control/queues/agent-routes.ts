import Type, { type Static } from 'typebox'
import { ANY_AGENT } from '../callbacks/booking.ts'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listParameters, page } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { EVENT_STREAM } from '../http/wire/event-stream.ts'
import { LIVE, type LiveParts, liveAnswer } from '../http/wire/live-answer.ts'
import { input, oneOf } from '../kernel/schema.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { AGENT_STATES, type AgentStatus, agentStatusSchema } from './agent-schema.ts'
import { agentStatusesOf, agentStatusOf, setWish } from './agent-status.ts'
import { forgetDevices } from './agents/shut-out.ts'
import { settingsOf } from './settings/store.ts'

const api = operations('Agents', 'agents')

interface AgentDeps {
  store: Store
  now: () => Date
  live: LiveParts
}

const agentListQuery = input({
  ...listParameters,
  status: Type.Optional(oneOf([...AGENT_STATES])),
  queue_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only agents of this queue.' })),
  team_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only members of this team.' })),
})

const params = Type.Object({ id: Type.String({ pattern: '^usr_[A-Za-z0-9]+$', maxLength: 200 }) })

export function agentRoutes(deps: AgentDeps): Route[] {
  const { store, now } = deps
  return [
    api.get({
      path: '/agents',
      id: 'listAgents',
      summary: "List all agents' presence",
      description: `All active members, newest first. ${LIVE}`,
      query: agentListQuery,
      reply: listOf(agentStatusSchema),
      streamType: EVENT_STREAM,
      handler: (context, { query, headers }) =>
        liveAnswer(deps.live, context, headers.accept, () => presence(store.db, context, query)),
    }),
    api.get({
      path: '/agents/:id/status',
      id: 'getAgentStatus',
      summary: "Retrieve an agent's presence",
      description:
        "A user's presence as a human agent, and the queues they answer. After 20 s without a registered phone or an open softphone it is `offline`.",
      params,
      reply: agentStatusSchema,
      handler: async (context, { params: { id } }) => {
        const user = await forTenant(store.db, context).find('users', id)
        return user === undefined ? missing('user', id) : agentStatusOf(store.db, context, user)
      },
    }),
    api.put({
      path: '/agents/:id/status',
      id: 'setAgentStatus',
      summary: "Set an agent's presence",
      description:
        'During a call the change takes effect after the call; a wrap-up ends at once. A phone that rings for a queue stops when its member is `away` or `offline`, and the next one rings. 409 for a member who is not active.',
      params,
      body: input({ status: oneOf(['available', 'away', 'offline']) }),
      reply: agentStatusSchema,
      errors: [409],
      handler: async (context, { params: { id }, body }) => {
        return context.transaction(async (trx): Promise<AgentStatus | Problem> => {
          const user = await forTenant(trx, context).find('users', id)
          if (user === undefined) return missing('user', id)
          if (user.status !== 'active') return conflict('not_active', `The member has status ${user.status}.`)
          await setWish(trx, context, id, { wish: body.status, at: now().toISOString() })
          return agentStatusOf(trx, context, user)
        })
      },
    }),
  ]
}

/** A member who has no row in `agent_statuses` counts as offline. */
async function presence(db: Db, context: Context, query: Static<typeof agentListQuery>) {
  let users = forTenant(db, context).select('users').selectAll().where('status', '=', 'active')
  if (query.team_id !== undefined) users = users.where('team_id', '=', query.team_id)
  if (query.status !== undefined) {
    const { status } = query
    users = users.where(({ eb, exists, not, or, selectFrom }) => {
      const rows = selectFrom('agent_statuses')
        .select('agent_statuses.id')
        .whereRef('agent_statuses.id', '=', 'users.id')
      const fits = exists(rows.where('agent_statuses.status', '=', status))
      return status === 'offline' ? or([fits, not(exists(rows))]) : eb.and([fits])
    })
  }
  if (query.queue_id !== undefined) {
    const queue = await forTenant(db, context).find('queues', query.queue_id)
    if (queue === undefined) return invalid('queue_id', `No such queue: ${query.queue_id}`)
    const { member_user_ids: userIds, member_team_ids: teamIds } = settingsOf(queue)
    users = users.where(({ eb, or }) => or([eb('id', 'in', ['', ...userIds]), eb('team_id', 'in', ['', ...teamIds])]))
  }
  const list = await page(users, query, '/v1/agents', row => row)
  return isProblem(list) ? list : { ...list, data: await agentStatusesOf(db, context, list.data) }
}

/** Sets a member offline and removes the member's devices; callbacks that the member was to return go to any agent. */
export async function signOut(
  { now }: Pick<AgentDeps, 'now'>,
  trx: Trx,
  context: Context,
  userId: string,
): Promise<void> {
  const at = now().toISOString()
  await setWish(trx, context, userId, { wish: 'offline', at })
  await forgetDevices(trx, context, userId)
  const own = forTenant(trx, context).update('callbacks').where('agent_id', '=', userId).where('route', '=', 'agent')
  await own
    .where('open_phone', 'is not', null)
    .set({ ...ANY_AGENT, updated: at })
    .execute()
}
