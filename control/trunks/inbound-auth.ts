import { createHash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { conflict, invalid, needed, type Problem } from '../http/errors.ts'
import { input, nullable, oneOf } from '../kernel/schema.ts'
import { rowOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Vault } from '../kernel/vault.ts'
import type { ConnectionRow, InboundAlgorithm, InboundAuth } from './tables.ts'

/** Digest realm of media's challenges. The stored hashes contain it, so it can never change. */
const REALM = 'tandem'
const USERNAME = '^[A-Za-z0-9+][A-Za-z0-9._+-]{2,63}$'
/** Prefix of the accounts of members' phones, which connections may not use. */
const OF_PHONES = /^(live|test)-/

const algorithm = oneOf(['MD5', 'SHA-256'], {
  description:
    'Hash of the digest challenge (RFC 8760). Every far end supports MD5. With SHA-256, a response by MD5 is challenged again.',
})

export const inboundCredentials = nullable(
  input({
    username: Type.String({
      pattern: USERNAME,
      description: 'Unique in the whole installation: 409, `details.reason` `username_taken`.',
    }),
    password: Type.String({ maxLength: 200, pattern: '^[ -~]{12,200}$' }),
    algorithm: Type.Optional(algorithm),
  }),
)
type InboundCredentials = Static<typeof inboundCredentials>

export const inboundAuth = nullable(
  oneOf(['ip', 'digest', 'both'], {
    description:
      'How callers are recognised. ip: by an address of `allowed_ips`. digest: by `inbound_credentials`, from any address. both: by both. Null or absent: every method that is configured.',
  }),
)

/** The credentials as a connection shows them. */
export const shownCredentials = nullable(
  Type.Object(
    { username: Type.String(), algorithm },
    { description: 'Credentials that callers prove by digest authentication. The password is never returned.' },
  ),
)

type Columns = Pick<
  ConnectionRow,
  'inbound_auth' | 'inbound_username' | 'inbound_algorithm' | 'inbound_ha1_md5' | 'inbound_ha1_sha256'
>

export const NO_HASHES = { inbound_algorithm: null, inbound_ha1_md5: null, inbound_ha1_sha256: null }
export const NO_INBOUND_CREDENTIALS: Columns = { inbound_auth: null, inbound_username: null, ...NO_HASHES }

/** How callers are authenticated: as set, otherwise by every method that is configured. */
export function inboundAuthOf(
  row: Pick<ConnectionRow, 'inbound_auth' | 'inbound_username' | 'allowed_ips'>,
): InboundAuth {
  if (row.inbound_auth !== null) return row.inbound_auth
  if (row.inbound_username === null) return 'ip'
  return row.allowed_ips === '[]' ? 'digest' : 'both'
}

/** The columns for credentials. A password is stored only as the sealed hashes by which it is checked. */
export function credentialColumns(
  vault: Vault,
  given: NonNullable<InboundCredentials>,
  connectionId: string,
): Omit<Columns, 'inbound_auth'> {
  const { username, password } = given
  const ha1 = (hash: string): string =>
    vault.seal(createHash(hash).update(`${username}:${REALM}:${password}`).digest('hex'), connectionId)
  return {
    inbound_username: username,
    inbound_algorithm: given.algorithm ?? 'MD5',
    inbound_ha1_md5: ha1('md5'),
    inbound_ha1_sha256: ha1('sha256'),
  }
}

/** H(username:realm:password), hex, for the algorithm that a caller has used; null: that algorithm is not accepted. */
export function inboundHa1(vault: Vault, row: ConnectionRow, used: InboundAlgorithm): string | null {
  const sealed = used === 'MD5' ? row.inbound_ha1_md5 : row.inbound_ha1_sha256
  return sealed === null ? null : vault.open(sealed, row.id)
}

/** Settings that contradict each other or would have no effect. */
export function inboundAuthProblem(
  row: Pick<ConnectionRow, 'kind' | 'inbound_auth' | 'inbound_username' | 'allowed_ips'>,
): Problem | null {
  if (row.inbound_username !== null && row.kind === 'registration') {
    return invalid(
      'inbound_credentials',
      'Calls of a registration are recognised by its registrar, from which they come.',
    )
  }
  if (row.inbound_username !== null && OF_PHONES.test(row.inbound_username)) {
    return invalid(
      'inbound_credentials.username',
      "Names that begin with live- or test- are reserved for members' phones.",
    )
  }
  if (row.inbound_auth === null) return null
  if (row.inbound_auth === 'ip') {
    if (row.inbound_username === null) return null
    return invalid('inbound_auth', 'With ip nobody would be asked for the inbound_credentials.')
  }
  if (row.inbound_username === null) {
    return needed('inbound_credentials', `${row.inbound_auth} needs a username and password.`)
  }
  if (row.inbound_auth === 'digest' || row.allowed_ips !== '[]') return null
  return needed('allowed_ips', 'both needs addresses.')
}

/** Why a username cannot be used: it must be unique across all organisations and modes, since a caller gives nothing else. */
export async function usernameProblem(db: Db, username: string | null, connectionId: string): Promise<Problem | null> {
  if (username === null) return null
  const taken = await db
    .selectFrom('connections')
    .select('id')
    .where('inbound_username', '=', username)
    .where('id', '!=', connectionId)
    .executeTakeFirst()
  return taken === undefined ? null : conflict('username_taken', 'Another connection has this inbound username.')
}

/** Whether any connection authenticates callers by a password. */
export const hasInboundAccounts = async (db: Db): Promise<boolean> =>
  (await rowOf(
    db,
    'any inbound account',
    () =>
      db
        .selectFrom('connections')
        .select('id')
        .where('inbound_username', 'is not', null)
        .where('livemode', '=', 1)
        .where('enabled', '=', 1)
        .limit(1),
    {},
  )) !== undefined
