import Type, { type Static } from 'typebox'
import type { UserRow } from '../contact-centre/tables.ts'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listParameters, page } from '../http/list.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import { type Route, route } from '../http/route.ts'
import { idParams, input, nullable, oneOf, timestamp } from '../http/schema.ts'
import { newId } from '../ids.ts'
import type { Db, Store, Trx } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'

export interface UserDeps {
  store: Store
  now: () => Date
  teamExists: Exists
  /** A member who is deactivated answers no more calls. */
  signOut: (trx: Trx, context: Context, userId: string) => Promise<void>
}

const INVITATION_DAYS = 14
const DAY_MS = 24 * 60 * 60 * 1000

const role = oneOf(['owner', 'admin', 'supervisor', 'agent'])
const fields = {
  name: Type.String({ maxLength: 200 }),
  team_id: nullable(Type.String({ maxLength: 200 })),
  extension: nullable(Type.String({ pattern: '^[0-9]{2,8}$', description: '2 to 8 digits, of one member only.' })),
  billing: Type.Boolean({ description: 'Sees and pays the bills.' }),
  takes_seat: Type.Boolean({ description: 'Counts as a paid seat.' }),
}

/** Specification, "User". */
export const userSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('user'),
  livemode: Type.Boolean(),
  name: fields.name,
  email: Type.String(),
  email_verified: Type.Boolean(),
  role,
  status: oneOf(['active', 'deactivated', 'invited']),
  team_id: fields.team_id,
  extension: fields.extension,
  billing: fields.billing,
  takes_seat: fields.takes_seat,
  last_login: nullable(timestamp()),
  created: timestamp(),
})
type User = Static<typeof userSchema>

const invitationSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('invitation'),
  livemode: Type.Boolean(),
  user_id: Type.String({ description: 'The member with status `invited` that it made.' }),
  email: Type.String(),
  role,
  expires_at: timestamp(),
  created: timestamp(),
})

const invitationBody = input({
  email: Type.String({ format: 'email', maxLength: 254 }),
  name: Type.Optional(fields.name),
  role: Type.Optional(role),
  team_id: Type.Optional(fields.team_id),
  extension: Type.Optional(fields.extension),
  billing: Type.Optional(fields.billing),
  takes_seat: Type.Optional(fields.takes_seat),
})

const changeBody = input({
  name: Type.Optional(fields.name),
  role: Type.Optional(role),
  status: Type.Optional(oneOf(['active', 'deactivated'], { description: '`active` also admits an invited member.' })),
  team_id: Type.Optional(fields.team_id),
  extension: Type.Optional(fields.extension),
  billing: Type.Optional(fields.billing),
  takes_seat: Type.Optional(fields.takes_seat),
})

const userListQuery = Type.Object(
  {
    ...listParameters,
    role: Type.Optional(role),
    status: Type.Optional(oneOf(['active', 'deactivated', 'invited'])),
    team_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only members of this team.' })),
  },
  { additionalProperties: false },
)

export function userRoutes(deps: UserDeps): Route[] {
  const { store } = deps
  return [
    route({
      method: 'POST',
      path: '/invitations',
      id: 'createInvitation',
      summary: 'Invite a member',
      description: 'Makes a member with status `invited`. 409 when a member has this address or extension already.',
      tag: 'Users',
      scope: 'users:write',
      body: invitationBody,
      status: 201,
      reply: invitationSchema,
      errors: [409],
      handler: (context, { body }) => invite(deps, context, body),
    }),
    route({
      method: 'GET',
      path: '/users',
      id: 'listUsers',
      summary: 'List members',
      description: 'Deactivated ones too, newest first.',
      tag: 'Users',
      scope: 'users:read',
      query: userListQuery,
      status: 200,
      reply: listOf(userSchema),
      handler: (context, { query }) => {
        let rows = forTenant(store.db, context).select('users').selectAll()
        if (query.role !== undefined) rows = rows.where('role', '=', query.role)
        if (query.status !== undefined) rows = rows.where('status', '=', query.status)
        if (query.team_id !== undefined) rows = rows.where('team_id', '=', query.team_id)
        return page(rows, query, '/v1/users', toUser)
      },
    }),
    route({
      method: 'GET',
      path: '/users/:id',
      id: 'getUser',
      summary: 'Retrieve a member',
      tag: 'Users',
      scope: 'users:read',
      params: idParams,
      status: 200,
      reply: userSchema,
      errors: [404],
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('users', params.id)
        return row === undefined ? missing('user', params.id) : toUser(row)
      },
    }),
    route({
      method: 'PATCH',
      path: '/users/:id',
      id: 'updateUser',
      summary: 'Change a member',
      description: 'A member who is deactivated goes offline; 409 when another member has the extension.',
      tag: 'Users',
      scope: 'users:write',
      params: idParams,
      body: changeBody,
      status: 200,
      reply: userSchema,
      errors: [404, 409],
      handler: (context, { params, body }) => change(deps, context, params.id, body),
    }),
  ]
}

/** Active members of each of these teams that has any. */
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

/** Leaves the members of a team in no team. */
export async function leaveTeam(trx: Trx, tenant: Tenant, teamId: string): Promise<void> {
  await forTenant(trx, tenant).update('users').set({ team_id: null }).where('team_id', '=', teamId).execute()
}

async function invite(deps: UserDeps, context: Context, body: Static<typeof invitationBody>) {
  const at = deps.now()
  const created = at.toISOString()
  const row: UserRow = {
    id: newId('user'),
    organisation_id: context.organisationId,
    livemode: context.livemode ? 1 : 0,
    name: body.name ?? '',
    email: body.email.toLowerCase(),
    email_verified: 0,
    role: body.role ?? 'agent',
    status: 'invited',
    team_id: body.team_id ?? null,
    extension: body.extension ?? null,
    billing: (body.billing ?? body.role === 'owner') ? 1 : 0,
    takes_seat: (body.takes_seat ?? true) ? 1 : 0,
    last_login: null,
    created,
  }
  const expires_at = new Date(at.getTime() + INVITATION_DAYS * DAY_MS).toISOString()
  const invitation = { id: newId('invitation'), user_id: row.id, expires_at, created }
  return deps.store.transaction(async trx => {
    const refused = (await teamProblem(deps, trx, context, row)) ?? (await takenProblem(trx, context, row))
    if (refused !== null) return refused
    await forTenant(trx, context).insert('users', row)
    await forTenant(trx, context).insert('invitations', invitation)
    const { email, role } = row
    return { ...invitation, object: 'invitation' as const, livemode: context.livemode, email, role }
  })
}

async function change(deps: UserDeps, context: Context, id: string, body: Static<typeof changeBody>) {
  return deps.store.transaction(async (trx): Promise<User | Problem> => {
    const row = await forTenant(trx, context).find('users', id)
    if (row === undefined) return missing('user', id)
    const { billing, takes_seat, ...same } = body
    const flags = {
      ...(billing === undefined ? {} : { billing: billing ? 1 : 0 }),
      ...(takes_seat === undefined ? {} : { takes_seat: takes_seat ? 1 : 0 }),
    }
    const changed: UserRow = { ...row, ...same, ...flags }
    const refused = (await teamProblem(deps, trx, context, changed)) ?? (await takenProblem(trx, context, changed))
    if (isProblem(refused)) return refused
    if (Object.keys(body).length > 0) {
      await forTenant(trx, context)
        .update('users')
        .set({ ...same, ...flags })
        .where('id', '=', id)
        .execute()
    }
    if (body.status === 'deactivated') await deps.signOut(trx, context, id)
    return toUser(changed)
  })
}

const teamProblem = (deps: UserDeps, db: Db, tenant: Tenant, row: UserRow): Promise<Problem | null> =>
  referenceProblem(db, tenant, [{ param: 'team_id', id: row.team_id, kind: 'team', exists: deps.teamExists }])

/** An address and an extension belong to one member. */
async function takenProblem(db: Db, tenant: Tenant, row: UserRow): Promise<Problem | null> {
  const others = forTenant(db, tenant).select('users').select('id').where('id', '!=', row.id)
  const sameEmail = await others.where('email', '=', row.email).executeTakeFirst()
  if (sameEmail !== undefined) return conflict('email_taken', `A member has this address already: ${sameEmail.id}`)
  if (row.extension === null) return null
  const sameExtension = await others.where('extension', '=', row.extension).executeTakeFirst()
  if (sameExtension === undefined) return null
  return conflict('extension_taken', `A member has this extension already: ${sameExtension.id}`)
}

const toUser = (row: UserRow): User => ({
  id: row.id,
  object: 'user',
  livemode: row.livemode === 1,
  name: row.name,
  email: row.email,
  email_verified: row.email_verified === 1,
  role: row.role,
  status: row.status,
  team_id: row.team_id,
  extension: row.extension,
  billing: row.billing === 1,
  takes_seat: row.takes_seat === 1,
  last_login: row.last_login,
  created: row.created,
})
