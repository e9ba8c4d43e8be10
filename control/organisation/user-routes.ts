import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import type { Problem } from '../http/errors.ts'
import { listParameters } from '../http/list.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import type { Exists } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { input, oneOf } from '../kernel/schema.ts'
import { sentColumns } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { memberProblem } from './members.ts'
import type { UserRow } from './tables.ts'
import { toUser, type User, userRole, userSchema, userSettings } from './user-schema.ts'

const api = operations('Users', 'users')

interface UserDeps {
  store: Store
  now: () => Date
  teamExists: Exists
  /** Called for a deactivated member, who answers no more calls. */
  signOut: (trx: Trx, context: Context, userId: string) => Promise<void>
  /** Called after a change of team, since the member may answer other queues now. */
  teamChanged: (trx: Trx, tenant: Tenant, userId: string) => Promise<void>
}

const changeBody = input({
  ...userSettings,
  status: Type.Optional(oneOf(['active', 'deactivated'], { description: '`active` also admits an invited member.' })),
})

const userListQuery = input({
  ...listParameters,
  role: Type.Optional(userRole),
  status: Type.Optional(oneOf(['active', 'deactivated', 'invited'])),
  team_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only members of this team.' })),
})

export function userRoutes(deps: UserDeps): Route[] {
  const plain = plainOf({ store: deps.store, table: 'users', api, reply: userSchema, toObject: toUser })
  return [
    listRoute(plain, {
      summary: 'List members',
      description: 'Deactivated ones too, newest first.',
      query: userListQuery,
    }),
    { ...retrieveRoute(plain), summary: 'Retrieve a member' },
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
  return context.withRow('users', 'user', id, async (trx, row): Promise<User | Problem> => {
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
