import { isIP } from 'node:net'
import { isSupportedCountry } from 'libphonenumber-js'
import Type, { type Static } from 'typebox'
import { type AddressPolicy, CODEC_NAMES, parseBlock } from '../../media/protocol.ts'
import { invalid, needed, type Problem } from '../http/errors.ts'
import { changeRoute, deleteRoute, listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import type { UsesOf } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { customerAddresses, hostProblem } from '../http/url-policy.ts'
import { newId } from '../kernel/ids.ts'
import { input, nullable, objectName, oneOf, partialInput } from '../kernel/schema.ts'
import { sentColumns } from '../kernel/show-row.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { sealPassword } from './account.ts'
import { addressOfRecord, sipHost } from './address.ts'
import { CODECS } from './codecs.ts'
import { identityFields, NO_IDENTITY, type StirAbilities, stirProblem } from './connection-identity.ts'
import {
  connectionSchema,
  dtmfMode,
  numberFormat,
  reliableProvisional,
  srtp,
  toConnection,
  transferCaller,
  transfers,
} from './connection-schema.ts'
import {
  credentialColumns,
  inboundAuth,
  inboundAuthProblem,
  inboundCredentials,
  NO_HASHES,
  NO_INBOUND_CREDENTIALS,
  usernameProblem,
} from './inbound-auth.ts'
import { changeNetworks, forgetNetworks, insertConnection } from './networks.ts'
import type { ConnectionHost } from './outbound.ts'
import type { ConnectionRow } from './tables.ts'

const api = operations('Connections', 'connections')

const HOST = '^[A-Za-z0-9.:_\\[\\]-]{1,253}$'
const SIP_PORT = 5060
const SIPS_PORT = 5061

const hosts = Type.Array(
  input({
    host: Type.String({ pattern: HOST }),
    port: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 65535 }))),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535, description: 'Lowest first. Absent: 0.' })),
    weight: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65535, description: 'Share of the calls within one priority. Absent: 1.' }),
    ),
  }),
  {
    maxItems: 20,
    description:
      'Hosts that calls are sent to instead of `host`. URIs and registrations still use `host`. The next one is tried after no answer, no connection, or a status in `failover_on`.',
  },
)

/** For values that appear in SIP header fields. */
const PRINTABLE = '^[^\\x00-\\x1f\\x7f]*$'

const changeBody = partialInput({
  name: objectName(),
  host: nullable(
    Type.String({
      pattern: HOST,
      description:
        'Name or address to which calls are sent, and where a registration registers. It must be public, or in a network that the operator allows (`TANDEM_ALLOW_PRIVATE_URLS`); a name is judged by the address that is dialled.',
    }),
  ),
  port: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 65535,
      description:
        "Null: according to the host's SRV records, else 5060, over TLS 5061. Absent: null if `host` is a name, else 5060 or 5061.",
    }),
  ),
  transport: nullable(
    oneOf(['udp', 'tcp', 'tls'], {
      description:
        "tls: the far end proves its identity by its certificate. `srtp` encrypts audio. Null: according to the host's NAPTR and SRV records, else UDP, or TCP for requests larger than 1,300 bytes. Absent: udp.",
    }),
  ),
  auth: nullable(
    input({
      username: Type.String({ minLength: 1, maxLength: 200, pattern: PRINTABLE }),
      password: Type.String({ minLength: 1, maxLength: 200, pattern: PRINTABLE }),
    }),
  ),
  allowed_ips: Type.Array(Type.String({ maxLength: 50 }), {
    maxItems: 100,
    description: 'Addresses or CIDR blocks from which calls are accepted.',
  }),
  inbound_credentials: inboundCredentials,
  inbound_auth: inboundAuth,
  codecs: Type.Array(oneOf([...CODEC_NAMES]), {
    minItems: 1,
    maxItems: CODEC_NAMES.length,
    uniqueItems: true,
    description:
      'What is offered, in order of preference, and accepted in an offer. G722, opus and L16/16000 carry speech of up to 7 or 8 kHz. Absent: PCMU and PCMA.',
  }),
  dtmf_mode: dtmfMode,
  srtp,
  reliable_provisional: reliableProvisional,
  hosts,
  failover_on: Type.Array(Type.Integer({ minimum: 400, maximum: 699 }), {
    maxItems: 50,
    uniqueItems: true,
    description: 'Statuses after which the next host, then the next connection, is tried. Absent: 503.',
  }),
  follow_redirects: Type.Boolean({
    description: 'A 3xx is followed, to public addresses only and at most five times. Absent: it ends the call.',
  }),
  rates: Type.Array(
    input({
      prefix: Type.String({
        pattern: '^\\+[0-9]{0,15}$',
        description: 'Prefix of numbers in E.164; `+` alone: all numbers.',
      }),
      cost: Type.Number({ minimum: 0, maximum: 1_000_000 }),
    }),
    {
      maxItems: 1000,
      description:
        'Prefixes of numbers that this connection carries, with their price. Of several connections, the cheapest is tried first, each by its longest prefix. Empty: all numbers, if no connection has a rate for the number.',
    },
  ),
  number_format: numberFormat,
  number_country: nullable(Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2.' })),
  dial_prefix: Type.String({
    pattern: '^[0-9*#]{0,10}$',
    description: 'Put before every called number, if the carrier requires it.',
  }),
  caller_number: nullable(
    Type.String({ pattern: '^\\+[1-9][0-9]{1,14}$', description: 'Caller of calls without one, in E.164.' }),
  ),
  ...identityFields,
  transfers,
  transfer_caller: transferCaller,
  max_calls: nullable(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Concurrent calls; null: no limit.' })),
  calls_per_second: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        'Calls that begin per second, in each direction; null: no limit. Inbound calls above it are answered 503 with `Retry-After`. Outbound calls wait up to 2 s, then take the next connection or are refused with 429.',
    }),
  ),
  enabled: Type.Boolean(),
})
const createBody = input({
  ...changeBody.properties,
  name: objectName(),
  kind: oneOf(['trunk', 'registration', 'peer']),
})
type Change = Static<typeof changeBody>
type HostInput = Static<typeof hosts>[number]
/** The columns that a client sets; Tandem sets the others. */
type Columns = Omit<ConnectionRow, 'id' | 'organisation_id' | 'livemode' | 'created' | 'updated' | keyof typeof UNHEARD>

/** What is known about the far end of a new connection: nothing. */
const UNHEARD = { status: null, sip_code: null, service_route: '[]', kept_by: null, kept_until: null } as const

interface ConnectionDeps {
  store: Store
  vault: Vault
  now: () => Date
  /** CIDR blocks of private networks that the operator allows. */
  allowedNetworks: string[]
  /** Absent: calls are neither signed nor verified. */
  stir?: StirAbilities
}

const NO_STIR: StirAbilities = { signs: false, verifies: false }

export function connectionRoutes({ store, vault, now, allowedNetworks, stir = NO_STIR }: ConnectionDeps): Route[] {
  const refusedFor = (columns: Columns, body: Change): Problem | null =>
    stirProblem(body, stir) ?? columnsProblem(columns, customerAddresses(allowedNetworks))
  const plain = plainOf({ store, table: 'connections', api, reply: connectionSchema, toObject: toConnection })
  return [
    api.post({
      path: '/connections',
      id: 'createConnection',
      summary: 'Connect a trunk or a peer',
      body: createBody,
      status: 201,
      reply: connectionSchema,
      handler: async (context, { body }) => {
        const { name, kind } = body
        const columns: Columns = { ...EMPTY, name, kind, ...columnsOf(EMPTY, body) }
        const refused = refusedFor(columns, body)
        if (refused !== null) return refused
        const at = now().toISOString()
        const id = newId('connection')
        const dates = { created: at, updated: at }
        const row = { id, ...ownedBy(context), ...columns, ...UNHEARD, ...sealed(vault, body, id), ...dates }
        return context.transaction(async trx => {
          const taken = await usernameProblem(trx, row.inbound_username, row.id)
          if (taken !== null) return taken
          await insertConnection(trx, context, row)
          return toConnection(row)
        })
      },
    }),
    listRoute(plain),
    retrieveRoute(plain),
    changeRoute(
      plain,
      changeBody,
      (context, id, body) =>
        context.withRow('connections', 'connection', id, async (trx, row) => {
          const sent = columnsOf(row, body)
          const refused = refusedFor({ ...row, ...sent }, body)
          if (refused !== null) return refused
          const taken = await usernameProblem(trx, sent.inbound_username ?? null, row.id)
          if (taken !== null) return taken
          const change = { ...sent, ...sealed(vault, body, row.id), updated: now().toISOString() }
          // Not by `change`: of so many columns it would keep a query for each choice.
          await forTenant(trx, context).update('connections').set(change).where('id', '=', row.id).execute()
          await changeNetworks(trx, context, { ...row, ...change })
          return toConnection({ ...row, ...change })
        }),
      'Updates the fields sent; objects and lists replace the stored ones.',
    ),
    deleteRoute(plain, {
      description: '409 while a number or a route uses it; `details.used_by` lists them.',
      usesOf,
      before: async (trx, context, row) => {
        await forgetNetworks(trx, context, row)
        await forTenant(trx, context).delete('call_starts').where('connection_id', '=', row.id).execute()
        return null
      },
    }),
  ]
}

/** The columns of passwords in the request, in stored form. */
const sealed = (vault: Vault, { auth, inbound_credentials: inbound }: Change, id: string): Partial<Columns> => ({
  ...(auth === undefined || auth === null ? {} : { auth_password: sealPassword(vault, auth.password, id) }),
  ...(inbound === undefined || inbound === null ? {} : credentialColumns(vault, inbound, id)),
})

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
  reliable_provisional: 'when_required',
  hosts: '[]',
  failover_on: '[503]',
  follow_redirects: 0,
  rates: '[]',
  number_format: 'e164',
  number_country: null,
  dial_prefix: '',
  caller_number: null,
  ...NO_IDENTITY,
  ...NO_INBOUND_CREDENTIALS,
  transfers: 'refuse',
  transfer_caller: 'original',
  max_calls: null,
  calls_per_second: null,
  enabled: 1,
}

/** The columns that a request sets; those of a password are `sealed` with the connection's ID. */
function columnsOf(row: Pick<Columns, 'host' | 'port'>, body: Change): Partial<Columns> {
  const { auth, transport, hosts, inbound_credentials: inbound, ...others } = body
  return {
    ...sentColumns(others),
    port: portOf(row, body),
    ...(transport !== undefined && { transport: transport ?? 'any' }),
    ...(auth !== undefined && { auth_username: auth?.username ?? null, auth_password: auth?.password ?? null }),
    ...(hosts !== undefined && { hosts: JSON.stringify(hosts.map(toHost)) }),
    ...(inbound !== undefined && { ...NO_HASHES, inbound_username: inbound?.username ?? null }),
  }
}

const toHost = ({ host, port = null, priority = 0, weight = 1 }: HostInput): ConnectionHost => ({
  host,
  port,
  priority,
  weight,
})

/** The port; 0: found by DNS, the default for a host name. Otherwise the default follows the transport. */
function portOf(row: Pick<Columns, 'host' | 'port'>, body: Change): number {
  if (body.port !== undefined) return body.port ?? 0
  const isNew = body.host !== undefined && row.host === null
  const host = sipHost(body.host ?? '')?.bare ?? ''
  if (isNew && isIP(host) === 0) return 0
  const [other, own] = body.transport === 'tls' ? [SIP_PORT, SIPS_PORT] : [SIPS_PORT, SIP_PORT]
  return body.transport != null && row.port === other ? own : row.port
}

/** Why a connection cannot have these columns; null: it can. */
const columnsProblem = (columns: Columns, addresses: AddressPolicy): Problem | null =>
  ownHostProblem(columns, addresses) ??
  hostsProblem(JSON.parse(columns.hosts), addresses) ??
  countryProblem(columns) ??
  accountProblem(columns) ??
  inboundAuthProblem(columns) ??
  blocksProblem(JSON.parse(columns.allowed_ips))

function ownHostProblem({ kind, host }: Columns, addresses: AddressPolicy): Problem | null {
  if (host === null) return kind === 'peer' ? null : needed('host', `A ${kind} needs a host.`)
  return hostProblemAt('host', host, addresses)
}

const hostsProblem = (hosts: readonly ConnectionHost[], addresses: AddressPolicy): Problem | null =>
  hosts.map(({ host }, n) => hostProblemAt(`hosts[${n}].host`, host, addresses)).find(problem => problem !== null) ??
  null

function hostProblemAt(param: string, host: string, addresses: AddressPolicy): Problem | null {
  const read = sipHost(host)
  if (read === null) return invalid(param, `${param} is neither a name nor an address.`)
  return hostProblem(read.bare, addresses, param)
}

function countryProblem({ number_country: country, number_format: format }: Columns): Problem | null {
  if (country === null) {
    return format === 'national' ? needed('number_country', 'The national format needs a country.') : null
  }
  if (isSupportedCountry(country)) return null
  return invalid('number_country', 'number_country is not a country with a numbering plan.')
}

function accountProblem({ kind, host, auth_username: username }: Columns): Problem | null {
  if (kind !== 'registration') return null
  if (username === null) return needed('auth', 'A registration needs the username and password of its account.')
  const registrar = sipHost(host ?? '')
  if (registrar === null || addressOfRecord(username, registrar) !== null) return null
  return invalid('auth.username', 'After the @ there must be a host.')
}

function blocksProblem(blocks: readonly string[]): Problem | null {
  const bad = blocks.findIndex(block => parseBlock(block) === null)
  return bad === -1
    ? null
    : invalid(`allowed_ips[${bad}]`, `allowed_ips[${bad}] is neither an address nor a CIDR block.`)
}
