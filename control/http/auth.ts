import { sha256 } from '../kernel/secrets.ts'
import { rowBy, rowOf } from '../kernel/store/compiled.ts'
import type { Store } from '../kernel/store/store.ts'
import type { PartnerOrganisationRow } from '../kernel/store/tables.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { type Problem, problem } from './errors.ts'
import type { Route } from './route.ts'
import type { Scope } from './scopes.ts'

/** A valid key: its owner, and what it may do. */
export interface Identity {
  apiKeyId: string
  organisationId: string
  livemode: boolean
  /** Null: all. */
  scopes: readonly Scope[] | null
  /** The version that the key is pinned to. */
  apiVersion: string
  /** Null: never. */
  expiresAt: string | null
  /** Limit of all keys of its organisation together; null: only each key's own limit. */
  requestsPerSecond: number | null
}

const SECRET = '[A-Za-z0-9_-]{1,300}'
const BEARER = new RegExp(`^Bearer +(${SECRET}) *$`, 'i')
const BASIC = /^Basic +([A-Za-z0-9+/=]{1,1000}) *$/i
const USER = new RegExp(`^(${SECRET})(?::.*)?$`)

/** The key in a header: a bearer token, or the user name of basic authentication (RFC 7617, `curl -u KEY:`). */
function secretIn(header: string): string | undefined {
  const credentials = BASIC.exec(header)?.[1]
  if (credentials === undefined) return BEARER.exec(header)?.[1]
  return USER.exec(Buffer.from(credentials, 'base64').toString('utf8'))?.[1]
}

const keyOf = ({ db }: Store, hash: string) =>
  rowOf(db, 'key by hash', place => db.selectFrom('api_keys').selectAll().where('hash', '=', place('hash')), { hash })

export const SUSPENDED = problem(
  'organisation_suspended',
  'The organisation is suspended. The partner that manages it can resume it.',
)
const NOT_YOURS = problem('account_invalid', 'Your organisation manages no such organisation in this mode.', {
  param: 'Service-Account',
})
const NO_SUCH_KEY = problem('api_key_invalid', 'This API key does not exist.')

const HOW_TO_SEND = 'Send your API key as "Authorization: Bearer <key>".'

/** The hash of the key in an `Authorization` header, by which keys are found; or why there is none. */
export function keyHash(header: string | undefined): string | Problem {
  if (header === undefined || header === '') return problem('api_key_missing', HOW_TO_SEND)
  const secret = secretIn(header)
  return secret === undefined ? problem('api_key_invalid', `Not a key: ${HOW_TO_SEND}`) : sha256(secret)
}

/** The identity of a key, from the database. `account`: the client organisation inside which it acts; null: none. */
export async function authenticate(
  store: Store,
  { hash, account }: { hash: string; account: string | null },
  now: Date,
): Promise<Identity | Problem> {
  const key = await keyOf(store, hash)
  if (key === undefined) return NO_SUCH_KEY
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now.getTime()) {
    return problem('api_key_expired', `This API key expired at ${key.expires_at}.`)
  }
  const run = await rowBy(store.db, 'partner_organisations', { id: key.organisation_id })
  if (run?.suspended === 1) return SUSPENDED
  const identity: Identity = {
    apiKeyId: key.id,
    organisationId: key.organisation_id,
    livemode: key.livemode === 1,
    scopes: key.scopes === null ? null : JSON.parse(key.scopes),
    apiVersion: key.api_version,
    expiresAt: key.expires_at,
    requestsPerSecond: run === undefined ? null : requestsOf(run),
  }
  return account === null ? identity : within(store, identity, account)
}

/** A partner acts inside a client's organisation (specification, "Authentication" 8), within the limits of the key and of the client. */
async function within({ db }: Store, identity: Identity, account: string): Promise<Identity | Problem> {
  const lacking = scopeProblem(identity, 'partners:write')
  if (lacking !== null) return lacking
  const client = await forTenant(db, identity).find('partner_organisations', account)
  if (client === undefined) return NOT_YOURS
  if (client.suspended === 1) return SUSPENDED
  return { ...identity, organisationId: client.id, requestsPerSecond: requestsOf(client) }
}

const requestsOf = ({ limits }: PartnerOrganisationRow): number | null => JSON.parse(limits).requests_per_second

/** Why this key may not call this operation; null: it may. */
export function refusal(identity: Identity, route: Pick<Route, 'mode' | 'scope'>): Problem | null {
  if (route.mode === 'live' && !identity.livemode)
    return problem('live_key_required', 'This operation needs a live key.')
  if (route.mode === 'test' && identity.livemode)
    return problem('test_key_required', 'This operation needs a test key.')
  return scopeProblem(identity, route.scope)
}

const scopeProblem = ({ scopes }: Identity, scope: Scope): Problem | null =>
  scopes === null || scopes.includes(scope) ? null : problem('scope_missing', `This key lacks the scope ${scope}.`)
