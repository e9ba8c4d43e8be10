import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { missing, type Problem } from '../http/errors.ts'
import { listOf, listParameters, pageOf } from '../http/list.ts'
import type { Exists } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { input, oneOf } from '../kernel/schema.ts'
import { sentColumns } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { memberProblem } from './members.ts'
import type { UserRow } from './tables.ts'
import { toUser, type User, userFields, userRole, userSchema } from './user-schema.ts'

const api = operations('Users', 'users')

export interface UserDeps {
  store: Store
  now: () => Date
  teamExists: Exists
  /** Called for a deactivated member, who answers no more calls. */
  signOut: (trx: Trx, context: Context, userId: string) => Promise<void>
  /** Called after a change of team, since the member may answer other queues now. */
  teamChanged: (trx: Trx, tenant: Tenant, userId: string) => Promise<void>
}

const changeBody = input({
  name: Type.Optional(userFields.name),
  role: Type.Optional(userRole),
  status: Type.Optional(oneOf(['active', 'deactivated'], { description: '`active` also admits an invited member.' })),
  team_id: Type.Optional(userFields.team_id),
  extension: Type.Optional(userFields.extension),
  takes_seat: Type.Optional(userFields.takes_seat),
})

const userListQuery = input({
  ...listParameters,
  role: Type.Optional(userRole),
  status: Type.Optional(oneOf(['active', 'deactivated', 'invited'])),
  team_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only members of this team.' })),
})

export function userRoutes(deps: UserDeps): Route[] {
  const { store } = deps
  return [
    api.get({
      path: '/users',
      id: 'listUsers',
      summary: 'List members',
      description: 'Deactivated ones too, newest first.',
      query: userListQuery,
      reply: listOf(userSchema),
      handler: (context, { query }) => {
        const { role, status, team_id } = query
        const where = { role, status, team_id }
        return pageOf({ db: store.db, tenant: context, table: 'users', where }, query, '/v1/users', toUser)
      },
    }),
    api.get({
      path: '/users/:id',
      id: 'getUser',
      summary: 'Retrieve a member',
      reply: userSchema,
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('users', params.id)
        return row === undefined ? missing('user', params.id) : toUser(row)
      },
    }),
    api.patch({
      path: '/users/:id',
      id: 'updateUser',
      summary: 'Change a member',
      description:
        'When a member is deactivated, its phones and softphone tokens are forgotten, a call that rings there rings the next agent, and its softphone is closed after the running call; its callbacks are returned by the other agents, and who calls it is turned away (`not_found`). 409 if another member has the extension.',
      body: changeBody,
      reply: userSchema,
      errors: [409],
      handler: (context, { params, body }) => change(deps, context, params.id, body),
    }),
  ]
}

/** Number of active members, by ID of each of these teams that has any. */
export async function memberCounts(db: Db, tenant: Tenant, teamIds: string[]): Promise<Map<string, number>> {
  if (teamIds.length === 0) return new Map()
  const rows = await forTenant(db, tenant)
    .select('users')
    .select(['team_id', query => query.fn.countAll<number>().as('members')])
    .where('status', '=', 'active')
    .where('team_id', 'in', teamIds)
    .groupBy('team_id')
    .execute()
  return new Map(rows.map(row => [row.team_id ?? '', Number(row.members)]))
}

/** Removes the members of a team from it. */
export async function leaveTeam(trx: Trx, tenant: Tenant, teamId: string): Promise<void> {
  await forTenant(trx, tenant).update('users').set({ team_id: null }).where('team_id', '=', teamId).execute()
}

async function change(deps: UserDeps, context: Context, id: string, body: Static<typeof changeBody>) {
  return deps.store.transaction(async (trx): Promise<User | Problem> => {
    const row = await forTenant(trx, context).find('users', id)
    if (row === undefined) return missing('user', id)
    const sent = sentColumns(body)
    const changed: UserRow = { ...row, ...sent }
    const isBack = row.status === 'deactivated' && changed.status !== 'deactivated'
    const full = isBack ? await context.limitProblem(trx, 'invitations') : null
    const refused = full ?? (await memberProblem(trx, context, changed, deps.teamExists))
    if (refused !== null) return refused
    if (Object.keys(body).length > 0) await forTenant(trx, context).change('users', id, sent)
    if (body.team_id !== undefined) await deps.teamChanged(trx, context, id)
    if (body.status === 'deactivated') await deps.signOut(trx, context, id)
    return toUser(changed)
  })
}
