import Type from 'typebox'
import { forgetDevices } from '../agents/shut-out.ts'
import type { Context } from '../http/context.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import { type Route, route } from '../http/route.ts'
import { input, oneOf } from '../http/schema.ts'
import { agentStatusOf, setWish } from '../queues/agent-status.ts'
import { type AgentStatus, agentStatusSchema } from '../schemas/agent-status.ts'
import type { Store, Trx } from '../store.ts'
import { forTenant } from '../tenancy.ts'

export interface AgentDeps {
  store: Store
  now: () => Date
  /** Somebody may be free now: who waits shall not wait for the next round. */
  onChange: () => void
}

const params = Type.Object({ id: Type.String({ pattern: '^usr_[A-Za-z0-9]+$', maxLength: 200 }) })

export function agentRoutes(deps: AgentDeps): Route[] {
  const { store, now, onChange } = deps
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
        return user === undefined ? missing('user', id) : agentStatusOf(store.db, context, user)
      },
    }),
    route({
      method: 'PUT',
      path: '/agents/:id/status',
      id: 'setAgentStatus',
      summary: "Set an agent's presence",
      description:
        'During a call the change is kept until it is over; a wrap-up ends with it. 409 for a member who is not active.',
      tag: 'Agents',
      scope: 'agents:write',
      params,
      body: input({ status: oneOf(['available', 'away', 'offline']) }),
      status: 200,
      reply: agentStatusSchema,
      errors: [404, 409],
      handler: async (context, { params: { id }, body }) => {
        const answer = await store.transaction(async (trx): Promise<AgentStatus | Problem> => {
          const user = await forTenant(trx, context).find('users', id)
          if (user === undefined) return missing('user', id)
          if (user.status !== 'active') return conflict('not_active', `The member is ${user.status}.`)
          await setWish(trx, context, id, { wish: body.status, at: now().toISOString(), request: context })
          return agentStatusOf(trx, context, user)
        })
        onChange()
        return answer
      },
    }),
  ]
}

/** Puts a member offline, who may have been so before, and takes from it what it can be reached at. */
export async function signOut({ now }: AgentDeps, trx: Trx, context: Context, userId: string): Promise<void> {
  await setWish(trx, context, userId, { wish: 'offline', at: now().toISOString(), request: context })
  await forgetDevices(trx, context, userId)
}
