import Type, { type Static } from 'typebox'
import { type AddressPolicy, parseBlock } from '../../media/protocol.ts'
import { missing, type Problem, problem } from '../http/errors.ts'
import { deleteRoute, listRoute, type Plain, retrieveRoute } from '../http/plain-resource.ts'
import type { UsesOf } from '../http/references.ts'
import { type Route, route } from '../http/route.ts'
import { customerAddresses, hostProblem } from '../http/url-policy.ts'
import { newId } from '../kernel/ids.ts'
import { idParams, input, nullable, oneOf } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { sealPassword } from './account.ts'
import { addressOfRecord, sipHost } from './address.ts'
import { CODECS } from './codecs.ts'
import { connectionSchema, dtmfMode, srtp, toConnection } from './connection-schema.ts'
import { changeNetworks, forgetNetworks, insertConnection } from './networks.ts'
import type { ConnectionRow } from './tables.ts'

const name = Type.String({ minLength: 1, maxLength: 200 })
const host = nullable(
  Type.String({
    pattern: '^[A-Za-z0-9.:_\\[\\]-]{1,253}$',
    description:
      'Where calls go out to, and where a registration registers: a name or an address. A public one, or of a network that the operator of the installation allows (`TANDEM_ALLOW_PRIVATE_URLS`); a name is judged by the address that is dialled.',
  }),
)
const SIP_PORT = 5060
const SIPS_PORT = 5061
const port = Type.Integer({ minimum: 1, maximum: 65535, description: 'Absent: 5060, over TLS 5061.' })
const transport = oneOf(['udp', 'tcp', 'tls'], {
  description: 'tls: the far end proves who it is by its certificate. Audio is encrypted by `srtp`.',
})
const allowedIps = Type.Array(Type.String({ maxLength: 50 }), {
  maxItems: 100,
  description: 'Addresses or CIDR blocks that calls may come in from.',
})
const codecs = Type.Array(oneOf(CODECS), { minItems: 1, maxItems: 2, uniqueItems: true })
const maxCalls = nullable(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Calls at once; null: any.' }))

/** They stand in header fields. */
const PRINTABLE = '^[^\\x00-\\x1f\\x7f]*$'

const auth = nullable(
  input({
    username: Type.String({ minLength: 1, maxLength: 200, pattern: PRINTABLE }),
    password: Type.String({ minLength: 1, maxLength: 200, pattern: PRINTABLE }),
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
const createBody = input({ name, kind: oneOf(['trunk', 'registration', 'peer']), ...common })
const changeBody = input({ name: Type.Optional(name), ...common })
type Change = Static<typeof changeBody>
/** What a client says of a connection; the rest of its row is found out. */
type Columns = Omit<ConnectionRow, 'id' | 'organisation_id' | 'livemode' | 'created' | 'updated' | keyof typeof UNHEARD>

/** Nothing is known of the far end yet. */
const UNHEARD = { status: null, sip_code: null, kept_by: null, kept_until: null } as const

export interface ConnectionDeps {
  store: Store
  vault: Vault
  now: () => Date
  /** CIDR blocks beyond the public network that an operator lets through. */
  allowedNetworks: string[]
}

export function connectionRoutes({ store, vault, now, allowedNetworks }: ConnectionDeps): Route[] {
  const refusedFor = (columns: Columns): Problem | null => columnsProblem(columns, customerAddresses(allowedNetworks))
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
        const refused = refusedFor(columns)
        if (refused !== null) return refused
        const at = now().toISOString()
        const mode = context.livemode ? 1 : 0
        const ids = { id: newId('connection'), organisation_id: context.organisationId, livemode: mode }
        const row: ConnectionRow = {
          ...ids,
          ...columns,
          ...UNHEARD,
          ...sealed(vault, body, ids.id),
          created: at,
          updated: at,
        }
        return context.transaction(async trx => {
          await insertConnection(trx, context, row)
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
      handler: (context, { params, body }) =>
        store.transaction(async trx => {
          const connections = forTenant(trx, context)
          const row = await connections.find('connections', params.id)
          if (row === undefined) return missing('connection', params.id)
          const columns = merge(row, body)
          const refused = refusedFor(columns)
          if (refused !== null) return refused
          const change = { ...columns, ...sealed(vault, body, row.id), updated: now().toISOString() }
          await connections.update('connections').set(change).where('id', '=', row.id).execute()
          await changeNetworks(trx, context, { ...row, ...change })
          return toConnection({ ...row, ...change })
        }),
    }),
    deleteRoute(plain, {
      description: '409 while a number or a route uses it; `details.used_by` lists them.',
      usesOf,
      before: async (trx, context, { id }) => {
        await forgetNetworks(trx, context, id)
        return null
      },
    }),
  ]
}

/** A password that was given now, as it is stored. */
const sealed = (vault: Vault, { auth }: Change, id: string): Partial<Columns> =>
  auth === undefined || auth === null ? {} : { auth_password: sealPassword(vault, auth.password, id) }

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
  port: SIP_PORT,
  transport: 'udp',
  auth_username: null,
  auth_password: null,
  allowed_ips: '[]',
  codecs: JSON.stringify(CODECS),
  dtmf_mode: 'auto',
  srtp: 'off',
  max_calls: null,
  enabled: 1,
}

const merge = (row: Columns, body: Change): Columns => ({
  name: body.name ?? row.name,
  kind: row.kind,
  host: body.host === undefined ? row.host : body.host,
  port: body.port ?? (body.transport === 'tls' && row.port === SIP_PORT ? SIPS_PORT : row.port),
  transport: body.transport ?? row.transport,
  auth_username: body.auth === undefined ? row.auth_username : (body.auth?.username ?? null),
  auth_password: body.auth === undefined ? row.auth_password : (body.auth?.password ?? null),
  allowed_ips: body.allowed_ips === undefined ? row.allowed_ips : JSON.stringify(body.allowed_ips),
  codecs: body.codecs === undefined ? row.codecs : JSON.stringify(body.codecs),
  dtmf_mode: body.dtmf_mode ?? row.dtmf_mode,
  srtp: body.srtp ?? row.srtp,
  max_calls: body.max_calls === undefined ? row.max_calls : body.max_calls,
  enabled: body.enabled === undefined ? row.enabled : body.enabled ? 1 : 0,
})

function columnsProblem(columns: Columns, addresses: AddressPolicy): Problem | null {
  if (columns.kind !== 'peer' && columns.host === null) {
    return problem('parameter_missing', `A ${columns.kind} needs a host.`, { param: 'host' })
  }
  const host = columns.host === null ? null : sipHost(columns.host)
  if (columns.host !== null && host === null) {
    return problem('parameter_invalid', 'host is neither a name nor an address.', { param: 'host' })
  }
  const stray = host === null ? null : hostProblem(host.bare, addresses, 'host')
  if (stray !== null) return stray
  if (columns.kind === 'registration') {
    if (columns.auth_username === null) {
      return problem('parameter_missing', 'A registration needs the username and password of its account.', {
        param: 'auth',
      })
    }
    if (host !== null && addressOfRecord(columns.auth_username, host) === null) {
      return problem('parameter_invalid', 'What follows the @ is no host.', { param: 'auth.username' })
    }
  }
  const blocks = JSON.parse(columns.allowed_ips) as string[]
  const bad = blocks.findIndex(block => parseBlock(block) === null)
  if (bad === -1) return null
  const param = `allowed_ips[${bad}]`
  return problem('parameter_invalid', `${param} is neither an address nor a CIDR block.`, { param })
}
