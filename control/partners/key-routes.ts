import Type, { type Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { missing, type Problem } from '../http/errors.ts'
import { listOf, listQuery, pageOf } from '../http/list.ts'
import type { NounParts } from '../http/noun.ts'
import { operations, type Route } from '../http/route.ts'
import { revokeWith } from '../http/wire/known-keys.ts'
import { endStreams } from '../http/wire/open-streams.ts'
import { deletedObject, idParams, input } from '../kernel/schema.ts'
import { newSecret } from '../kernel/secrets.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import {
  apiKeySchema,
  apiKeyWithSecret,
  insertApiKey,
  keyFields,
  toApiKey,
  tooMuch,
} from '../organisation/api-key-routes.ts'

const api = operations('Partners', 'partners')

const PATH = '/partner/organisations/:id/api_keys'

const newKey = input(keyFields)
const keyParams = Type.Object({ ...idParams.properties, key_id: idParams.properties.id })

/** Routes of the API keys of a partner's organisations, in the mode of the partner's key. */
export function partnerKeyRoutes({ store, now }: NounParts): Route[] {
  return [
    api.post({
      path: PATH,
      id: 'createPartnerApiKey',
      summary: "Create a key for a client's organisation",
      description:
        'In the mode of your key, and with its end, if it has one. The secret is only in this answer; we keep its hash.',
      body: newKey,
      status: 201,
      reply: apiKeyWithSecret,
      handler: async (context, { params: { id }, body }: { params: { id: string }; body: Static<typeof newKey> }) => {
        const refused = tooMuch(context, body, now())
        if (refused !== null) return refused
        return context.transaction(async trx => {
          const client = await clientOf(trx, context, id)
          if ('problem' in client) return client
          const full = await context.limitProblem(trx, 'api_keys', client)
          if (full !== null) return full
          const secret = newSecret(context.livemode ? 'sk_live' : 'sk_test')
          const { scopes, expiresAt } = context
          const key = { name: body.name ?? '', secret, scopes: body.scopes ?? scopes, expiresAt, now: now() }
          const row = await forTenant(trx, client).find('api_keys', await insertApiKey(trx, client, key))
          return { ...toApiKey(row!), secret }
        })
      },
    }),
    api.get({
      path: PATH,
      id: 'listPartnerApiKeys',
      summary: "List the keys of a client's organisation",
      description: 'Including those that it created itself; without their secrets, newest first.',
      query: listQuery,
      reply: listOf(apiKeySchema),
      handler: async (context, { params: { id }, query }) => {
        const client = await clientOf(store.db, context, id)
        if ('problem' in client) return client
        const url = `/v1/partner/organisations/${id}/api_keys`
        return pageOf({ db: store.db, tenant: client, table: 'api_keys' }, query, url, toApiKey)
      },
    }),
    api.delete({
      path: `${PATH}/:key_id`,
      id: 'deletePartnerApiKey',
      summary: "Revoke a key of a client's organisation",
      description: 'Takes effect at once; on other nodes of the same database within a second.',
      params: keyParams,
      reply: deletedObject('api_key'),
      handler: (context, { params: { id, key_id } }) =>
        context.transaction(async trx => {
          const client = await clientOf(trx, context, id)
          if ('problem' in client) return client
          const keys = forTenant(trx, client)
          if ((await keys.find('api_keys', key_id)) === undefined) return missing('api_key', key_id)
          await keys.delete('api_keys').where('id', '=', key_id).execute()
          revokeWith(trx, store, key_id)
          await endStreams(trx, [key_id])
          return { object: 'api_key', id: key_id, deleted: true as const, livemode: context.livemode }
        }),
    }),
  ]
}

/** A client's organisation, in the mode of the request; 404 if it belongs to somebody else. */
export async function clientOf(db: Db, context: Tenant | Context, id: string): Promise<Tenant | Problem> {
  const row = await forTenant(db, context).find('partner_organisations', id)
  if (row === undefined) return missing('partner_organisation', id)
  return { organisationId: id, livemode: context.livemode }
}
