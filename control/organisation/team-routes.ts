import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { deleteRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { apiObject, input, objectName, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { TeamRow } from './tables.ts'

const api = operations('Teams', 'users')

interface TeamDeps {
  store: Store
  now: () => Date
  /** Number of active members, by ID of each team that has any. */
  memberCounts: (db: Db, tenant: Tenant, teamIds: string[]) => Promise<Map<string, number>>
  /** Removes a deleted team from its members and from queues. */
  forgetTeam: (trx: Trx, tenant: Tenant, teamId: string) => Promise<void>
}

/** Specification, "Team". */
const teamSchema = apiObject('team', {
  name: Type.String(),
  member_count: Type.Integer({ description: 'Active members.' }),
  created: timestamp(),
})
type Team = Static<typeof teamSchema>

const name = objectName()

export function teamRoutes(deps: TeamDeps): Route[] {
  const { store, now } = deps
  return [
    api.post({
      path: '/teams',
      id: 'createTeam',
      summary: 'Create a team',
      body: input({ name }),
      status: 201,
      errors: [409],
      reply: teamSchema,
      handler: async (context, { body }) => {
        const row = { id: newId('team'), name: body.name, created: now().toISOString() }
        return context.transaction(async trx => {
          await forTenant(trx, context).insert('teams', row)
          return toTeam({ ...row, livemode: context.livemode ? 1 : 0 }, 0)
        })
      },
    }),
    api.get({
      path: '/teams',
      id: 'listTeams',
      summary: 'List teams',
      query: listQuery,
      reply: listOf(teamSchema),
      handler: async (context, { query }) => {
        const rows = forTenant(store.db, context).select('teams').selectAll()
        const list = await page(rows, query, '/v1/teams', row => row)
        return isProblem(list) ? list : { ...list, data: await toTeams(deps, context, list.data) }
      },
    }),
    api.get({
      path: '/teams/:id',
      id: 'getTeam',
      summary: 'Retrieve a team',
      reply: teamSchema,
      handler: (context, { params }) => retrieve(deps, store.db, context, params.id),
    }),
    api.patch({
      path: '/teams/:id',
      id: 'updateTeam',
      summary: 'Change a team',
      body: input({ name: Type.Optional(name) }),
      reply: teamSchema,
      handler: (context, { params, body }) =>
        store.transaction(async trx => {
          if (body.name !== undefined) await forTenant(trx, context).change('teams', params.id, { name: body.name })
          return retrieve(deps, trx, context, params.id)
        }),
    }),
    deleteRoute(
      { table: 'teams', object: 'team', path: '/teams', api },
      {
        description: 'Its members stay in the organisation without a team. Queues that list it no longer reach them.',
        before: async (trx, context, { id }) => {
          await deps.forgetTeam(trx, context, id)
          return null
        },
      },
    ),
  ]
}

async function retrieve(deps: TeamDeps, db: Db, context: Context, id: string): Promise<Team | Problem> {
  const row = await forTenant(db, context).find('teams', id)
  if (row === undefined) return missing('team', id)
  const counts = await deps.memberCounts(db, context, [id])
  return toTeam(row, counts.get(id) ?? 0)
}

async function toTeams(deps: TeamDeps, context: Context, rows: TeamRow[]): Promise<Team[]> {
  const ids = rows.map(row => row.id)
  const counts = await deps.memberCounts(deps.store.db, context, ids)
  return rows.map(row => toTeam(row, counts.get(row.id) ?? 0))
}

const toTeam = (row: Pick<TeamRow, 'id' | 'livemode' | 'name' | 'created'>, memberCount: number): Team =>
  showRow(teamSchema, row, { member_count: memberCount })
