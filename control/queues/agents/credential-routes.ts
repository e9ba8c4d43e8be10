import { createHash, randomBytes, randomInt } from 'node:crypto'
import Type, { type Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { conflict, missing, type Problem } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import { urlHost } from '../../kernel/addresses.ts'
import { timestamp } from '../../kernel/schema.ts'
import type { Db, Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import { endRegistrations } from './shut-out.ts'
import type { SipCredentialRow } from './tables.ts'

const api = operations('Users', 'users')

interface SipCredentialDeps {
  store: Store
  vault: Vault
  now: () => Date
  /** Where phones register: `host:port`. */
  registrar: string
  /** Where pages that speak SIP register. */
  sipWsUrl: string
}

/** Digest realm of media's challenges. The stored hashes contain it, so it can never change. */
const REALM = 'tandem'
const PASSWORD_BYTES = 18
const NAME_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const NAME_LENGTH = 10

const fields = {
  object: Type.Literal('sip_credential'),
  user_id: Type.String(),
  livemode: Type.Boolean(),
  username: Type.String({ description: "Begins with `live-` or `test-`, the mode of this phone's calls." }),
  realm: Type.String(),
  registrar: Type.String({ description: 'Host and port where the phone registers, over UDP or TCP.' }),
  ws_url: Type.String({ description: 'Where a phone in a browser registers: SIP over WebSocket (RFC 7118).' }),
  created: timestamp(),
}

const credentialSchema = Type.Object({
  ...fields,
  registrations: Type.Array(
    Type.Object({
      contact: Type.String({ description: "The phone's SIP URI." }),
      transport: Type.String({ description: 'udp, tcp, tls, ws or wss.' }),
      source: Type.String({ description: 'Address from which it registered; calls are sent there.' }),
      registered_at: timestamp(),
      expires_at: timestamp(),
    }),
    { description: 'Phones that are currently registered.' },
  ),
})
const newCredentialSchema = Type.Object(
  { ...fields, password: Type.String({ description: 'Returned only once.' }) },
  { title: 'SipCredentialWithPassword' },
)
const deletedSchema = Type.Object({
  object: Type.Literal('sip_credential'),
  user_id: Type.String(),
  livemode: Type.Boolean(),
  deleted: Type.Literal(true),
})

export function sipCredentialRoutes(deps: SipCredentialDeps): Route[] {
  const { store } = deps
  return [
    api.post({
      path: '/users/:id/sip_credential',
      id: 'createSipCredential',
      summary: "Make a member's SIP account",
      description:
        'Any number of SIP phones can register with it, and ring when the member is called. It replaces the previous account, whose phones are unregistered. The password is returned only once. 409 for a member who is not active.',
      status: 201,
      reply: newCredentialSchema,
      errors: [409],
      handler: (context, { params }) => make(deps, context, params.id),
    }),
    api.get({
      path: '/users/:id/sip_credential',
      id: 'getSipCredential',
      summary: "Retrieve a member's SIP account",
      description: 'Includes the phones that are currently registered.',
      reply: credentialSchema,
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('sip_credentials', params.id)
        if (row === undefined) return missing('sip_credential', params.id)
        return { ...shown(row, deps), registrations: await registrationsOf(store.db, context, params.id, deps.now()) }
      },
    }),
    api.delete({
      path: '/users/:id/sip_credential',
      id: 'deleteSipCredential',
      summary: "Delete a member's SIP account",
      description: 'Its phones no longer ring, also those that are ringing.',
      reply: deletedSchema,
      handler: (context, { params }) =>
        context.withRow('sip_credentials', 'sip_credential', params.id, async trx => {
          await drop(trx, context, params.id)
          return {
            object: 'sip_credential' as const,
            user_id: params.id,
            livemode: context.livemode,
            deleted: true as const,
          }
        }),
    }),
  ]
}

async function make(
  deps: SipCredentialDeps,
  context: Context,
  userId: string,
): Promise<Static<typeof newCredentialSchema> | Problem> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const username = `${context.livemode ? 'live' : 'test'}-${randomName()}`
  const ha1 = (algorithm: string): string =>
    deps.vault.seal(createHash(algorithm).update(`${username}:${REALM}:${password}`).digest('hex'), userId)
  const row: SipCredentialRow = {
    id: userId,
    ...ownedBy(context),
    username,
    ha1_md5: ha1('md5'),
    ha1_sha256: ha1('sha256'),
    created: deps.now().toISOString(),
  }
  return context.withRow('users', 'user', userId, async (trx, user) => {
    if (user.status !== 'active') return conflict('not_active', `The member has status ${user.status}.`)
    await drop(trx, context, userId)
    await forTenant(trx, context).insert('sip_credentials', row)
    return { ...shown(row, deps), password }
  })
}

const randomName = (): string =>
  Array.from({ length: NAME_LENGTH }, () => NAME_LETTERS[randomInt(NAME_LETTERS.length)]).join('')

async function drop(trx: Trx, context: Context, userId: string): Promise<void> {
  await endRegistrations(trx, context, userId)
  await forTenant(trx, context).delete('sip_credentials').where('id', '=', userId).execute()
}

async function registrationsOf(db: Db, context: Context, userId: string, now: Date) {
  const rows = await forTenant(db, context)
    .select('sip_registrations')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now.toISOString())
    .orderBy('registered_at', 'desc')
    .execute()
  return rows.map(({ contact, transport, host, port, registered_at, expires_at }) => ({
    contact,
    transport,
    source: `${urlHost(host)}:${port}`,
    registered_at,
    expires_at,
  }))
}

const shown = (row: SipCredentialRow, { registrar, sipWsUrl }: SipCredentialDeps) => ({
  object: 'sip_credential' as const,
  user_id: row.id,
  livemode: row.livemode === 1,
  username: row.username,
  realm: REALM,
  registrar,
  ws_url: sipWsUrl,
  created: row.created,
})
