import { randomBytes } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { type Problem, problem } from '../http/errors.ts'
import { newId } from '../kernel/ids.ts'
import { forgetOld } from '../kernel/jobs/forget.ts'
import { insertNew } from '../kernel/store/compiled.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { ClientTokenRow } from './tables.ts'

const KEY_SETTING = 'client_token_key'
const KEY_BYTES = 32
const ALGORITHM = 'HS256'
const ISSUER = 'tandem'
/** What a token opens: a call, or an agent's softphone. */
export type TokenUse = 'call' | 'softphone'

/** The key that signs the tokens of this installation. Made at its first use, and stored sealed by the vault. */
export async function clientTokenKey(store: Store, vault: Vault): Promise<Uint8Array> {
  const fresh = vault.seal(randomBytes(KEY_BYTES).toString('base64url'), KEY_SETTING)
  const row = { name: KEY_SETTING, value: fresh }
  // Of two simultaneous first uses, one inserts the row, and both read it.
  await insertNew(store.db, 'settings', row)
  const stored = await store.db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', KEY_SETTING)
    .executeTakeFirstOrThrow()
  return Buffer.from(vault.open(stored.value, KEY_SETTING), 'base64url')
}

/** How long the rows of expired tokens are kept, for information only: an expired token is already refused by its signed time [ms]. */
const KEPT_MS = 24 * 60 * 60 * 1000

type TokenFields = Pick<ClientTokenRow, 'assistant_id' | 'agent_user_id' | 'origin' | 'metadata'> & {
  ttlS: number
  /** ID of the softphone that it renews; absent: none. */
  device?: string
}

/** Inserts the row of a new token, for one call or one softphone. */
export async function insertClientToken(
  db: Db,
  tenant: Tenant,
  { ttlS, device, ...fields }: TokenFields,
  at: Date,
): Promise<ClientTokenRow> {
  const row: ClientTokenRow = {
    ...fields,
    device: device ?? null,
    id: newId('call'),
    ...ownedBy(tenant),
    // A JWT counts whole seconds: it is to be valid until this very time.
    expires_at: new Date(Math.ceil(at.getTime() / 1000 + ttlS) * 1000).toISOString(),
    used_at: null,
    created: at.toISOString(),
  }
  await forTenant(db, tenant).insert('client_tokens', row)
  return row
}

/** Deletes expired tokens, and guests by their name. To be called regularly. */
export async function sweepTokens(store: Store, now: Date): Promise<void> {
  const forgotten = new Date(now.getTime() - KEPT_MS).toISOString()
  await forgetOld(store, 'client_tokens', 'expires_at', forgotten)
  await forgetOld(store, 'browser_guests', 'created', forgotten)
}

/** The signed token of a row (RFC 7519): bound to one call, one origin and one tenant, until `expires_at`. */
export function signClientToken(row: ClientTokenRow, key: Uint8Array): Promise<string> {
  const claims = {
    org: row.organisation_id,
    livemode: row.livemode === 1,
    ...(row.assistant_id === null ? {} : { assistant_id: row.assistant_id }),
    ...(row.agent_user_id === null ? {} : { agent_user_id: row.agent_user_id }),
    ...(row.origin === null ? {} : { origin: row.origin }),
  }
  const seconds = (time: string): number => Math.floor(Date.parse(time) / 1000)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(row.agent_user_id === null ? 'call' : 'softphone')
    .setJti(row.id)
    .setIssuedAt(seconds(row.created))
    .setExpirationTime(seconds(row.expires_at))
    .sign(key)
}

export interface Redemption {
  tenant: Tenant
  token: ClientTokenRow
}

interface Asked {
  token: string
  /** The browser's `Origin` header. */
  origin: string | null
  use: TokenUse
  now: Date
}

/** The claims of a token that our key has signed, for this use and not expired. */
export interface TokenClaims {
  id: string
  tenant: Tenant
}

/** Verifies a token, but not whether it was used. */
export async function verifyClientToken(key: Uint8Array, asked: Asked): Promise<TokenClaims | Problem> {
  const claims = await verified(key, asked)
  if (claims === null) return problem('client_token_invalid', 'The client token is not valid, or has expired.')
  return {
    id: String(claims.jti),
    tenant: { organisationId: String(claims.org), livemode: claims.livemode === true },
  }
}

/** Uses up a verified token. Returns what it opens, or why not. A token bound to another website is not used up. */
export async function useClientToken(
  db: Db,
  { id, tenant }: TokenClaims,
  asked: Pick<Asked, 'origin' | 'now'>,
): Promise<Redemption | Problem> {
  const tokens = forTenant(db, tenant)
  const row = await tokens.find('client_tokens', id)
  if (row === undefined) return problem('client_token_invalid', 'The client token is not valid, or has expired.')
  if (row.origin !== null && row.origin !== asked.origin) {
    return problem('origin_mismatch', `The client token works from ${row.origin} only.`)
  }
  if (
    row.agent_user_id !== null &&
    (await forTenant(db, tenant).find('users', row.agent_user_id))?.status !== 'active'
  ) {
    return problem('client_token_invalid', 'The client token belongs to a member who is not active.')
  }
  const used_at = asked.now.toISOString()
  const unused = tokens.update('client_tokens').set({ used_at }).where('id', '=', row.id).where('used_at', 'is', null)
  const { numUpdatedRows } = await unused.executeTakeFirst()
  if (numUpdatedRows === 0n && !(await renewsStill(db, tenant, row))) {
    return problem('client_token_used', 'The client token has been used.')
  }
  return { tenant, token: { ...row, used_at } }
}

/**
 * Whether a used token may be used again. A softphone whose network breaks while it connects has used up its token without getting a new
 * one, so the token stays valid until a later one is used.
 */
async function renewsStill(db: Db, tenant: Tenant, { device, created }: ClientTokenRow): Promise<boolean> {
  if (device === null) return false
  const newer = forTenant(db, tenant).select('client_tokens').select('id').where('device', '=', device)
  const used = newer.where('created', '>', created).where('used_at', 'is not', null)
  return (await used.executeTakeFirst()) === undefined
}

async function verified(key: Uint8Array, asked: { token: string; use: TokenUse; now: Date }) {
  const expected = { algorithms: [ALGORITHM], issuer: ISSUER, audience: asked.use, currentDate: asked.now }
  try {
    return (await jwtVerify(asked.token, key, expected)).payload
  } catch {
    // `jose` throws for a bad signature, another use and an expired token. The client is not told which.
    return null
  }
}

const LOCAL_HOST = /^(localhost|[a-z0-9-]+\.localhost|127\.0\.0\.1|\[::1\])$/

/** The origin as browsers send it; null: it is none, or is `http` but not this machine. */
export function readOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  const isBare =
    url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  const isAllowed = url.protocol === 'https:' || (url.protocol === 'http:' && LOCAL_HOST.test(url.hostname))
  return isBare && isAllowed && !/[?#]/.test(text) ? url.origin : null
}
