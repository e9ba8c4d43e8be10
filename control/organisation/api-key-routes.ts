import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, invalid, type Problem, problem } from '../http/errors.ts'
import { listOf, listQuery, pageOf } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { SCOPES, type Scope } from '../http/scopes.ts'
import { revokeWith } from '../http/wire/known-keys.ts'
import { endStreams } from '../http/wire/open-streams.ts'
import { newId } from '../kernel/ids.ts'
import { apiObject, deletedObject, input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { hintOf, newSecret, sha256 } from '../kernel/secrets.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { ApiKeyRow } from '../kernel/store/tables.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { CURRENT_VERSION } from '../kernel/versions/current.ts'

const api = operations('API keys', 'keys')

export const apiKeySchema = apiObject('api_key', {
  name: Type.String(),
  scopes: nullable(Type.Array(Type.String(), { description: 'Null: all scopes.' })),
  mode: Type.String({ enum: ['live', 'test'] }),
  api_version: Type.String({ description: 'The version that the key is pinned to.' }),
  hint: Type.String({ description: 'Beginning and end of the secret.' }),
  expires_at: nullable(timestamp()),
  created: timestamp(),
})
type ApiKey = Static<typeof apiKeySchema>

export const apiKeyWithSecret = Type.Object(
  { ...apiKeySchema.properties, secret: Type.String({ description: 'The key itself, returned only once.' }) },
  { title: 'ApiKeyWithSecret' },
)

export const keyFields = {
  name: Type.Optional(Type.String({ maxLength: 200, default: '' })),
  scopes: Type.Optional(
    Type.Array(oneOf([...SCOPES]), {
      ...{ minItems: 1, maxItems: 100, uniqueItems: true },
      description: 'At most those of the key that makes the request. Absent: the same.',
    }),
  ),
}
const newKey = input({
  ...keyFields,
  mode: Type.Optional(oneOf(['live', 'test'], { description: 'Absent: the mode of the key that makes the request.' })),
  expires_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Not after that of the key that makes the request. Absent: the same.',
    }),
  ),
})

export function apiKeyRoutes(deps: { store: Store; now: () => Date }): Route[] {
  const { store, now } = deps
  return [
    api.post({
      path: '/api_keys',
      id: 'createApiKey',
      summary: 'Make an API key',
      description: 'The secret is only in this answer; we keep its hash.',
      body: newKey,
      status: 201,
      reply: apiKeyWithSecret,
      handler: async (context, { body }) => {
        const refused = tooMuch(context, body, now())
        if (refused !== null) return refused
        const livemode = body.mode === undefined ? context.livemode : body.mode === 'live'
        const tenant = { organisationId: context.organisationId, livemode }
        const secret = newSecret(livemode ? 'sk_live' : 'sk_test')
        const expiresAt = body.expires_at === undefined ? context.expiresAt : new Date(body.expires_at).toISOString()
        const scopes = body.scopes ?? context.scopes
        return context.transaction(async trx => {
          const key = { name: body.name ?? '', secret, scopes, expiresAt, now: now() }
          const id = await insertApiKey(trx, tenant, key)
          const row = await forTenant(trx, tenant).find('api_keys', id)
          return { ...toApiKey(row!), secret }
        }, tenant)
      },
    }),
    api.get({
      path: '/api_keys',
      id: 'listApiKeys',
      summary: 'List API keys',
      description: "The keys of this key's mode, without their secrets, newest first.",
      scope: 'keys:write',
      query: listQuery,
      reply: listOf(apiKeySchema),
      handler: (context, { query }) =>
        pageOf({ db: store.db, tenant: context, table: 'api_keys' }, query, '/v1/api_keys', toApiKey),
    }),
    api.delete({
      path: '/api_keys/:id',
      id: 'deleteApiKey',
      summary: 'Revoke an API key',
      description:
        'Takes effect at once; on other nodes of the same database within a second. A key cannot revoke itself, so nobody is locked out.',
      reply: deletedObject('api_key'),
      errors: [409],
      handler: (context, { params: { id } }) =>
        context.withRow('api_keys', 'api_key', id, async trx => {
          if (id === context.apiKeyId) return conflict('in_use', 'A key cannot revoke itself; use another one.')
          await forTenant(trx, context).delete('api_keys').where('id', '=', id).execute()
          revokeWith(trx, store, id)
          await endStreams(trx, [id])
          return { object: 'api_key', id, deleted: true as const, livemode: context.livemode }
        }),
    }),
  ]
}

/** Why a key cannot create this one: it would have more rights than itself. */
export function tooMuch(context: Context, body: Static<typeof newKey>, now: Date): Problem | null {
  if (body.mode === 'live' && !context.livemode) {
    return problem('live_key_required', 'A test key cannot make a live key.', { param: 'mode' })
  }
  const lacking = body.scopes?.find(scope => context.scopes !== null && !context.scopes.includes(scope))
  if (lacking !== undefined)
    return problem('scope_missing', `This key lacks the scope ${lacking}.`, { param: 'scopes' })
  const until = body.expires_at === undefined ? null : Date.parse(body.expires_at)
  if (until === null) return null
  if (until <= now.getTime()) return invalid('expires_at', 'expires_at must be in the future.')
  const isLonger = context.expiresAt !== null && until > Date.parse(context.expiresAt)
  return isLonger
    ? invalid('expires_at', `This key expires at ${context.expiresAt}, and makes none that outlives it.`)
    : null
}

/** Stores a key by its hash; returns its ID. */
export async function insertApiKey(
  db: Db,
  tenant: Tenant,
  key: { name: string; secret: string; scopes: readonly Scope[] | null; expiresAt: string | null; now: Date },
): Promise<string> {
  const id = newId('api_key')
  await forTenant(db, tenant).insert('api_keys', {
    id,
    name: key.name,
    hash: sha256(key.secret),
    hint: hintOf(key.secret),
    scopes: key.scopes === null ? null : JSON.stringify(key.scopes),
    api_version: CURRENT_VERSION,
    expires_at: key.expiresAt,
    created: key.now.toISOString(),
  })
  return id
}

export const toApiKey = (row: ApiKeyRow): ApiKey =>
  showRow(apiKeySchema, row, { mode: row.livemode === 1 ? 'live' : 'test' })
