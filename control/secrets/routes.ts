import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { mergedMetadata } from '../http/metadata.ts'
import { plainRoutes } from '../http/plain-resource.ts'
import type { User } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { changeBody, createBody, rotateBody, type Secret, secretSchema, toSecret } from './schema.ts'
import type { SecretRow } from './tables.ts'

const api = operations('Secrets', 'secrets')

interface SecretDeps {
  store: Store
  vault: Vault
  now: () => Date
  /** The tools that use each secret, by its name. */
  usersOf: (db: Db, tenant: Tenant) => Promise<ReadonlyMap<string, User[]>>
}

export function secretRoutes(deps: SecretDeps): Route[] {
  const plain = {
    store: deps.store,
    table: 'secrets' as const,
    object: 'secret',
    path: '/secrets',
    api,
    reply: secretSchema,
    toObject: (row: SecretRow) => toSecret(row, []),
  }
  const writing = { createBody, create: create(deps), changeBody, change: change(deps) }
  const [creating, , , changing, deleting] = plainRoutes(plain, writing, {
    description: '409 while a tool names it; `details.used_by` lists them. Emits `secret.deleted`.',
    usesOf: async (db, tenant, id) => {
      const row = await forTenant(db, tenant).find('secrets', id)
      return row === undefined ? [] : ((await deps.usersOf(db, tenant)).get(row.name) ?? [])
    },
    before: async (trx, context, row) => {
      const at = deps.now().toISOString()
      await appendEvent(trx, context, { type: 'secret.deleted', at, object: toSecret(row, []) })
      return null
    },
  })
  return [creating!, ...reading(deps), changing!, rotating(deps), deleting!]
}

function reading(deps: SecretDeps): Route[] {
  const { store } = deps
  return [
    api.get({
      path: '/secrets',
      id: 'listSecrets',
      summary: 'List secrets',
      description: 'Their names and the tools that use them, never their values.',
      query: listQuery,
      reply: listOf(secretSchema),
      handler: async (context, { query }) => {
        const rows = forTenant(store.db, context).select('secrets').selectAll()
        const list = await page(rows, query, '/v1/secrets', row => row)
        if (isProblem(list)) return list
        const users = await deps.usersOf(store.db, context)
        return { ...list, data: list.data.map(row => toSecret(row, users.get(row.name) ?? [])) }
      },
    }),
    api.get({
      path: '/secrets/:id',
      id: 'getSecret',
      summary: 'Retrieve a secret',
      description: 'Everything but its value.',
      reply: secretSchema,
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('secrets', params.id)
        return row === undefined ? missing('secret', params.id) : shown(deps, store.db, context, row)
      },
    }),
  ]
}

async function shown({ usersOf }: SecretDeps, db: Db, tenant: Tenant, row: SecretRow): Promise<Secret> {
  return toSecret(row, (await usersOf(db, tenant)).get(row.name) ?? [])
}

const create =
  ({ vault, now }: SecretDeps) =>
  (
    context: Context,
    { name, value, description = '', metadata = {} }: Static<typeof createBody>,
  ): Promise<Secret | Problem> =>
    context.transaction(async trx => {
      const namesake = forTenant(trx, context).select('secrets').select('id').where('name', '=', name)
      if ((await namesake.executeTakeFirst()) !== undefined) {
        return conflict('name_taken', `A secret named ${name} exists; rotate it, or delete it first.`)
      }
      const [id, at] = [newId('secret'), now().toISOString()]
      const row = {
        ...{ id, name, description, version: 1, rotated_at: null, created: at, updated: at },
        value: vault.seal(value, id),
        metadata: JSON.stringify(metadata),
      }
      const whole = { ...row, ...ownedBy(context) }
      await trx.insertInto('secrets').values(whole).execute()
      const object = toSecret(whole, [])
      await appendEvent(trx, context, { type: 'secret.created', at, object })
      return object
    })

const change =
  (deps: SecretDeps) =>
  (context: Context, id: string, body: Static<typeof changeBody>): Promise<Secret | Problem> =>
    context.withRow('secrets', 'secret', id, async (trx, row) => {
      const metadata = mergedMetadata(row.metadata, body.metadata)
      if (isProblem(metadata)) return metadata
      const changed = { description: body.description ?? row.description, metadata, updated: deps.now().toISOString() }
      await forTenant(trx, context).change('secrets', id, changed)
      return shown(deps, trx, context, { ...row, ...changed })
    })

const rotating = (deps: SecretDeps): Route =>
  api.post({
    path: '/secrets/:id/rotate',
    id: 'rotateSecret',
    summary: 'Rotate a secret',
    description:
      'Every request from now on uses the new value, on every node; the old value is deleted. Emits `secret.rotated`.',
    body: rotateBody,
    reply: secretSchema,
    handler: (context, { params: { id }, body }) =>
      context.withRow('secrets', 'secret', id, async (trx, row) => {
        const at = deps.now().toISOString()
        const changed = {
          value: deps.vault.seal(body.value, id),
          version: row.version + 1,
          rotated_at: at,
          updated: at,
        }
        await forTenant(trx, context).change('secrets', id, changed)
        const object = await shown(deps, trx, context, { ...row, ...changed })
        const before = await shown(deps, trx, context, row)
        await appendEvent(trx, context, { type: 'secret.rotated', at, object, before })
        return object
      }),
  })
