import Type, { type Static } from 'typebox'
import type { InboundRouteRow } from '../calls/tables.ts'
import type { Context } from '../http/context.ts'
import { missing, type Problem, problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { type Route, route } from '../http/route.ts'
import { deletedObject, idParams, input, nullable, oneOf, timestamp } from '../http/schema.ts'
import { newId } from '../ids.ts'
import type { Db, Store } from '../store.ts'
import { forTenant, type TableWithId, type Tenant } from '../tenancy.ts'

const pattern = (what: string) =>
  nullable(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[^*\\s]*\\*?$',
      description: `${what}: a number, a user name or a SIP URI; a trailing * makes it a prefix; null: any.`,
    }),
  )

const match = {
  to: pattern('What was dialled'),
  from: pattern('Who calls'),
  connection_id: nullable(Type.String({ maxLength: 200 })),
}
const target = {
  type: oneOf(['room', 'flow', 'assistant', 'queue', 'user', 'echo', 'announcement']),
  id: nullable(Type.String({ maxLength: 200, description: 'Of the target; null for `echo` and `announcement`.' })),
}
const priority = Type.Integer({
  minimum: -1000,
  maximum: 1000,
  description: 'The highest wins, then the most specific.',
})

export const inboundRouteSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('inbound_route'),
  livemode: Type.Boolean(),
  match: Type.Object(match),
  target: Type.Object({
    ...target,
    type: Type.String({ description: 'room, flow, assistant, queue, user, echo, announcement' }),
  }),
  priority: Type.Integer(),
  created: timestamp(),
  updated: timestamp(),
})

const matchInput = input({
  to: Type.Optional(match.to),
  from: Type.Optional(match.from),
  connection_id: Type.Optional(match.connection_id),
})
const createBody = input({
  match: matchInput,
  target: input({ type: target.type, id: Type.Optional(target.id) }),
  priority: Type.Optional(priority),
})
const changeBody = input({
  match: Type.Optional(matchInput),
  target: Type.Optional(input({ type: Type.Optional(target.type), id: Type.Optional(target.id) })),
  priority: Type.Optional(priority),
})

type Columns = Pick<
  InboundRouteRow,
  'match_to' | 'match_from' | 'match_connection_id' | 'target' | 'target_id' | 'priority'
>

export function inboundRouteRoutes(deps: { store: Store; now: () => Date }): Route[] {
  const { store, now } = deps
  return [
    route({
      method: 'POST',
      path: '/inbound_routes',
      id: 'createInboundRoute',
      summary: 'Lead incoming calls to a target',
      tag: 'Inbound routes',
      scope: 'numbers:write',
      body: createBody,
      status: 201,
      reply: inboundRouteSchema,
      handler: async (context, { body }) => {
        const columns = merge(EMPTY, body)
        const refused = await columnsProblem(store.db, context, columns)
        if (refused !== null) return refused
        const at = now().toISOString()
        const row = { ...base(context), id: newId('inbound_route'), ...columns, created: at, updated: at }
        await forTenant(store.db, context).insert('inbound_routes', row)
        return toInboundRoute(row)
      },
    }),
    route({
      method: 'GET',
      path: '/inbound_routes',
      id: 'listInboundRoutes',
      summary: 'List inbound routes',
      tag: 'Inbound routes',
      scope: 'numbers:read',
      query: listQuery,
      status: 200,
      reply: listOf(inboundRouteSchema),
      handler: (context, { query }) => {
        const rows = forTenant(store.db, context).select('inbound_routes').selectAll()
        return page(rows, query, '/v1/inbound_routes', toInboundRoute)
      },
    }),
    route({
      method: 'GET',
      path: '/inbound_routes/:id',
      id: 'getInboundRoute',
      summary: 'Retrieve an inbound route',
      tag: 'Inbound routes',
      scope: 'numbers:read',
      params: idParams,
      status: 200,
      reply: inboundRouteSchema,
      errors: [404],
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('inbound_routes', params.id)
        return row === undefined ? missing('inbound_route', params.id) : toInboundRoute(row)
      },
    }),
    route({
      method: 'PATCH',
      path: '/inbound_routes/:id',
      id: 'updateInboundRoute',
      summary: 'Change an inbound route',
      tag: 'Inbound routes',
      scope: 'numbers:write',
      params: idParams,
      body: changeBody,
      status: 200,
      reply: inboundRouteSchema,
      errors: [404],
      handler: async (context, { params, body }) => {
        const row = await forTenant(store.db, context).find('inbound_routes', params.id)
        if (row === undefined) return missing('inbound_route', params.id)
        const columns = merge(row, body)
        const refused = await columnsProblem(store.db, context, columns)
        if (refused !== null) return refused
        const change = { ...columns, updated: now().toISOString() }
        await forTenant(store.db, context).update('inbound_routes').set(change).where('id', '=', row.id).execute()
        return toInboundRoute({ ...row, ...change })
      },
    }),
    route({
      method: 'DELETE',
      path: '/inbound_routes/:id',
      id: 'deleteInboundRoute',
      summary: 'Delete an inbound route',
      tag: 'Inbound routes',
      scope: 'numbers:write',
      params: idParams,
      status: 200,
      reply: deletedObject('inbound_route'),
      errors: [404],
      handler: async (context, { params }) => {
        const scoped = forTenant(store.db, context)
        const { numDeletedRows } = await scoped.delete('inbound_routes').where('id', '=', params.id).executeTakeFirst()
        if (numDeletedRows === 0n) return missing('inbound_route', params.id)
        return { object: 'inbound_route' as const, id: params.id, deleted: true as const, livemode: context.livemode }
      },
    }),
  ]
}

/** Where the objects lie that calls are led to. */
const TARGET_TABLES: Partial<Record<InboundRouteRow['target'], TableWithId>> = {
  room: 'conference_rooms',
  flow: 'flows',
  assistant: 'assistants',
  queue: 'queues',
  user: 'users',
}

const EMPTY: Columns = {
  match_to: null,
  match_from: null,
  match_connection_id: null,
  target: 'echo',
  target_id: null,
  priority: 0,
}

const base = (context: Context) => ({
  organisation_id: context.organisationId,
  livemode: context.livemode ? 1 : 0,
})

/** Nested objects merge with what is stored; another type of target forgets the old one's ID. */
function merge(row: Columns, body: Static<typeof changeBody>): Columns {
  const { match: matched = {}, target: aim = {} } = body
  const type = aim.type ?? row.target
  const keptId = type === row.target ? row.target_id : null
  return {
    match_to: matched.to === undefined ? row.match_to : matched.to,
    match_from: matched.from === undefined ? row.match_from : matched.from,
    match_connection_id: matched.connection_id === undefined ? row.match_connection_id : matched.connection_id,
    target: type,
    target_id: aim.id === undefined ? keptId : aim.id,
    priority: body.priority ?? row.priority,
  }
}

async function columnsProblem(db: Db, tenant: Tenant, columns: Columns): Promise<Problem | null> {
  const { target: type, target_id: id, match_connection_id: connectionId } = columns
  const scoped = forTenant(db, tenant)
  const table = TARGET_TABLES[type]
  if (table !== undefined) {
    if (id === null) return problem('parameter_missing', `A route to a ${type} needs its ID.`, { param: 'target.id' })
    if ((await scoped.find(table, id)) === undefined) {
      return problem('parameter_invalid', `No such ${type}: ${id}`, { param: 'target.id' })
    }
  } else if (id !== null) {
    return problem('parameter_invalid', `A target of type ${type} has no ID.`, { param: 'target.id' })
  }
  if (connectionId !== null && (await scoped.find('connections', connectionId)) === undefined) {
    return problem('parameter_invalid', `No such connection: ${connectionId}`, { param: 'match.connection_id' })
  }
  return null
}

const toInboundRoute = (row: InboundRouteRow): Static<typeof inboundRouteSchema> => ({
  id: row.id,
  object: 'inbound_route',
  livemode: row.livemode === 1,
  match: { to: row.match_to, from: row.match_from, connection_id: row.match_connection_id },
  target: { type: row.target, id: row.target_id },
  priority: row.priority,
  created: row.created,
  updated: row.updated,
})
