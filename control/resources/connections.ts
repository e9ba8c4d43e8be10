import Type, { type Static } from 'typebox'
import { parseBlock } from '../../media/protocol.ts'
import type { ConnectionRow } from '../calls/tables.ts'
import { missing, type Problem, problem } from '../http/errors.ts'
import { deleteRoute, listRoute, type Plain, retrieveRoute } from '../http/plain-resource.ts'
import type { UsesOf } from '../http/references.ts'
import { type Route, route } from '../http/route.ts'
import { idParams, input, nullable, oneOf, timestamp } from '../http/schema.ts'
import { newId } from '../ids.ts'
import type { Store } from '../store.ts'
import { forTenant } from '../tenancy.ts'

const name = Type.String({ minLength: 1, maxLength: 200 })
const host = nullable(Type.String({ pattern: '^[A-Za-z0-9.:_\\[\\]-]{1,253}$', description: 'Where calls go out to.' }))
const port = Type.Integer({ minimum: 1, maximum: 65535 })
const transport = oneOf(['udp', 'tcp'])
const allowedIps = Type.Array(Type.String({ maxLength: 50 }), {
  maxItems: 100,
  description: 'Addresses or CIDR blocks that calls may come in from.',
})
const codecs = Type.Array(oneOf(['PCMU', 'PCMA']), { minItems: 1, maxItems: 2, uniqueItems: true })
const maxCalls = nullable(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Calls at once; null: any.' }))

/** Words to come are refused until the engine does what they say. */
const dtmfMode = oneOf(['auto'], { description: 'auto: RFC 4733, SIP INFO and tones are all understood.' })
const srtp = oneOf(['off'])

export const connectionSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('connection'),
  livemode: Type.Boolean(),
  name: Type.String(),
  kind: Type.String({ description: 'trunk (numbers go out over it), peer' }),
  host: nullable(Type.String()),
  port: Type.Integer(),
  transport: Type.String(),
  auth: nullable(Type.Object({ username: Type.String() }, { description: 'The password is never returned.' })),
  allowed_ips: Type.Array(Type.String()),
  codecs: Type.Array(Type.String()),
  dtmf_mode: dtmfMode,
  srtp,
  max_calls: nullable(Type.Integer()),
  enabled: Type.Boolean(),
  status: Type.String({ description: 'enabled, disabled' }),
  created: timestamp(),
  updated: timestamp(),
})

const auth = nullable(
  input({
    username: Type.String({ minLength: 1, maxLength: 200 }),
    password: Type.String({ minLength: 1, maxLength: 200 }),
  }),
)
const common = {
  host: Type.Optional(host),
  port: Type.Optional(port),
  transport: Type.Optional(transport),
  auth: Type.Optional(auth),
  allowed_ips: Type.Optional(allowedIps),
  codecs: Type.Optional(codecs),
  dtmf_mode: Type.Optional(dtmfMode),
  srtp: Type.Optional(srtp),
  max_calls: Type.Optional(maxCalls),
  enabled: Type.Optional(Type.Boolean()),
}
const createBody = input({ name, kind: oneOf(['trunk', 'peer']), ...common })
const changeBody = input({ name: Type.Optional(name), ...common })
type Change = Static<typeof changeBody>
type Columns = Omit<ConnectionRow, 'id' | 'organisation_id' | 'livemode' | 'created' | 'updated'>

export function connectionRoutes(deps: { store: Store; now: () => Date }): Route[] {
  const { store, now } = deps
  const plain: Plain<'connections', typeof connectionSchema> = {
    store,
    table: 'connections',
    object: 'connection',
    path: '/connections',
    area: 'connections',
    tag: 'Connections',
    reply: connectionSchema,
    toObject: toConnection,
  }
  return [
    route({
      method: 'POST',
      path: '/connections',
      id: 'createConnection',
      summary: 'Connect a trunk or a peer',
      tag: 'Connections',
      scope: 'connections:write',
      body: createBody,
      status: 201,
      reply: connectionSchema,
      handler: async (context, { body }) => {
        const columns = merge({ ...EMPTY, name: body.name, kind: body.kind }, body)
        const refused = columnsProblem(columns)
        if (refused !== null) return refused
        const at = now().toISOString()
        const mode = context.livemode ? 1 : 0
        const ids = { id: newId('connection'), organisation_id: context.organisationId, livemode: mode }
        const row = { ...ids, ...columns, created: at, updated: at }
        return context.transaction(async trx => {
          await forTenant(trx, context).insert('connections', row)
          return toConnection(row)
        })
      },
    }),
    listRoute(plain),
    retrieveRoute(plain),
    route({
      method: 'PATCH',
      path: '/connections/:id',
      id: 'updateConnection',
      summary: 'Change a connection',
      tag: 'Connections',
      scope: 'connections:write',
      params: idParams,
      body: changeBody,
      status: 200,
      reply: connectionSchema,
      errors: [404],
      handler: async (context, { params, body }) => {
        const row = await forTenant(store.db, context).find('connections', params.id)
        if (row === undefined) return missing('connection', params.id)
        const { id, organisation_id, livemode, created, updated, ...before } = row
        const columns = merge(before, body)
        const refused = columnsProblem(columns)
        if (refused !== null) return refused
        const change = { ...columns, updated: now().toISOString() }
        await forTenant(store.db, context).update('connections').set(change).where('id', '=', id).execute()
        return toConnection({ ...row, ...change })
      },
    }),
    deleteRoute(plain, {
      description: '409 while a number or a route uses it; `details.used_by` lists them.',
      usesOf,
    }),
  ]
}

const usesOf: UsesOf = async (db, tenant, id) => {
  const scoped = forTenant(db, tenant)
  const numbers = await scoped.select('phone_numbers').select('id').where('connection_id', '=', id).execute()
  const routes = await scoped.select('inbound_routes').select('id').where('match_connection_id', '=', id).execute()
  return [
    ...numbers.map(row => ({ object: 'phone_number', id: row.id })),
    ...routes.map(row => ({ object: 'inbound_route', id: row.id })),
  ]
}

const EMPTY: Omit<Columns, 'name' | 'kind'> = {
  host: null,
  port: 5060,
  transport: 'udp',
  auth_username: null,
  auth_password: null,
  allowed_ips: '[]',
  codecs: '["PCMU","PCMA"]',
  max_calls: null,
  enabled: 1,
}

const merge = (row: Columns, body: Change): Columns => ({
  name: body.name ?? row.name,
  kind: row.kind,
  host: body.host === undefined ? row.host : body.host,
  port: body.port ?? row.port,
  transport: body.transport ?? row.transport,
  auth_username: body.auth === undefined ? row.auth_username : (body.auth?.username ?? null),
  auth_password: body.auth === undefined ? row.auth_password : (body.auth?.password ?? null),
  allowed_ips: body.allowed_ips === undefined ? row.allowed_ips : JSON.stringify(body.allowed_ips),
  codecs: body.codecs === undefined ? row.codecs : JSON.stringify(body.codecs),
  max_calls: body.max_calls === undefined ? row.max_calls : body.max_calls,
  enabled: body.enabled === undefined ? row.enabled : body.enabled ? 1 : 0,
})

function columnsProblem(columns: Columns): Problem | null {
  if (columns.kind === 'trunk' && columns.host === null) {
    return problem('parameter_missing', 'A trunk needs a host.', { param: 'host' })
  }
  const blocks = JSON.parse(columns.allowed_ips) as string[]
  const bad = blocks.findIndex(block => parseBlock(block) === null)
  if (bad === -1) return null
  const param = `allowed_ips[${bad}]`
  return problem('parameter_invalid', `${param} is neither an address nor a CIDR block.`, { param })
}

const toConnection = (row: ConnectionRow): Static<typeof connectionSchema> => ({
  id: row.id,
  object: 'connection',
  livemode: row.livemode === 1,
  name: row.name,
  kind: row.kind,
  host: row.host,
  port: row.port,
  transport: row.transport,
  auth: row.auth_username === null ? null : { username: row.auth_username },
  allowed_ips: JSON.parse(row.allowed_ips) as string[],
  codecs: JSON.parse(row.codecs) as string[],
  dtmf_mode: 'auto',
  srtp: 'off',
  max_calls: row.max_calls,
  enabled: row.enabled === 1,
  status: row.enabled === 1 ? 'enabled' : 'disabled',
  created: row.created,
  updated: row.updated,
})
