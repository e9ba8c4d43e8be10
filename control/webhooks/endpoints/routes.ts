import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem, problem } from '../../http/errors.ts'
import { mergedMetadata } from '../../http/metadata.ts'
import { deleteRoute, listRoute, plainOf, retrieveRoute } from '../../http/plain-resource.ts'
import { operations, type Route } from '../../http/route.ts'
import { customerAddresses, type Resolve, urlProblem } from '../../http/url-policy.ts'
import { newId } from '../../kernel/ids.ts'
import { enqueue } from '../../kernel/jobs/queue.ts'
import { sentColumns } from '../../kernel/show-row.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import { VERSIONS } from '../../kernel/versions/current.ts'
import { toWebhookEndpoint, webhookEndpointSchema, webhookEndpointWithSecretSchema } from '../endpoint-schema.ts'
import { abandonPending } from '../endpoint-state.ts'
import { newSigningKey } from '../sign.ts'
import type { WebhookEndpointRow } from '../tables.ts'
import { deliveryRoutes } from './deliver.ts'
import { keyRoutes } from './keys.ts'
import { type ChangeBody, changeBody, createBody } from './schema.ts'

const api = operations('Webhooks', 'webhooks')

/** Bounded because every event of a tenant is compared with all of its endpoints. */
const MAX_ENDPOINTS = 100

interface WebhookEndpointDeps {
  store: Store
  vault: Vault
  now: () => Date
  resolve: Resolve
  /** CIDR blocks of private networks that the operator allows. */
  allowedNetworks: string[]
}

export function webhookEndpointRoutes(deps: WebhookEndpointDeps): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'webhook_endpoints',
    api,
    reply: webhookEndpointSchema,
    toObject: row => toWebhookEndpoint(row, deps.now()),
  })
  return [
    api.post({
      path: '/webhook_endpoints',
      id: 'createWebhookEndpoint',
      summary: 'Create a webhook endpoint',
      description: `For its mode's events, from now on. The secret is only in this answer. At most ${MAX_ENDPOINTS} in each mode: 409 \`endpoint_limit\`.`,
      body: createBody(),
      status: 201,
      reply: webhookEndpointWithSecretSchema,
      errors: [409],
      handler: (context, { body }) => create(deps, context, body),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    api.patch({
      path: '/webhook_endpoints/:id',
      id: 'updateWebhookEndpoint',
      summary: 'Change a webhook endpoint',
      description: 'Metadata merges, `event_types` replaces. Pending deliveries go to the new URL.',
      body: changeBody(),
      reply: webhookEndpointSchema,
      handler: (context, { params, body }) => change(deps, context, params.id, body),
    }),
    deleteRoute(plain, {
      description: 'Nothing more is sent to it. Its deliveries are deleted in the minutes after the answer.',
      before: async (trx, _context, row) => {
        const of = { tenant: tenantOf(row), table: 'webhook_deliveries', column: 'endpoint_id', id: row.id }
        await enqueue(trx, 'rows.forget', of, { now: deps.now(), organisationId: row.organisation_id })
        return null
      },
    }),
    ...keyRoutes(deps),
    ...deliveryRoutes(deps),
  ]
}

async function create(deps: WebhookEndpointDeps, context: Context, body: Static<ReturnType<typeof createBody>>) {
  const refused = await bodyProblem(deps, body)
  if (refused !== null) return refused
  const id = newId('webhook_endpoint')
  const key = newSigningKey(body.algorithm ?? 'hmac')
  const at = deps.now().toISOString()
  const columns = {
    id,
    url: body.url,
    description: body.description ?? null,
    status: 'enabled' as const,
    event_types: JSON.stringify(body.event_types ?? ['*']),
    api_version: body.api_version ?? context.apiVersion,
    metadata: JSON.stringify(body.metadata ?? {}),
    algorithm: key.algorithm,
    signing_key: deps.vault.seal(key.secret, id),
    public_key: key.publicKey,
    created: at,
    updated: at,
  }
  return context.transaction(async trx => {
    const scoped = forTenant(trx, context)
    const { count } = await scoped
      .select('webhook_endpoints')
      .select(eb => eb.fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    if (Number(count) >= MAX_ENDPOINTS) {
      return conflict('endpoint_limit', `The limit of ${MAX_ENDPOINTS} webhook endpoints is reached.`)
    }
    await scoped.insert('webhook_endpoints', columns)
    const row = await scoped.find('webhook_endpoints', id)
    return { ...toWebhookEndpoint(row!, deps.now()), secret: key.algorithm === 'hmac' ? key.secret : null }
  })
}

async function change(deps: WebhookEndpointDeps, tenant: Tenant, id: string, body: ChangeBody) {
  const refused = await bodyProblem(deps, body)
  if (refused !== null) return refused
  const changed = await deps.store.transaction(async trx => {
    const row = await forTenant(trx, tenant).find('webhook_endpoints', id)
    return row === undefined ? missing('webhook_endpoint', id) : applyChange(trx, tenant, row, body, deps.now())
  })
  return isProblem(changed) ? changed : toWebhookEndpoint(changed, deps.now())
}

async function applyChange(
  trx: Trx,
  tenant: Tenant,
  row: WebhookEndpointRow,
  body: ChangeBody,
  now: Date,
): Promise<WebhookEndpointRow | Problem> {
  const at = now.toISOString()
  const metadata = mergedMetadata(row.metadata, body.metadata)
  if (isProblem(metadata)) return metadata
  const { url, description, event_types, api_version } = body
  const columns = {
    ...sentColumns({ url, description, event_types, api_version }),
    metadata,
    ...statusColumns(row, body.status),
    updated: at,
  }
  await forTenant(trx, tenant).change('webhook_endpoints', row.id, columns)
  if (columns.status === 'disabled') await abandonPending(trx, at, row.id)
  return { ...row, ...columns }
}

/** The columns of a status. An endpoint that is enabled again starts without a history of failures. */
function statusColumns(row: WebhookEndpointRow, status: WebhookEndpointRow['status'] = row.status) {
  const { disabled_reason, failing_since } = row
  if (status === row.status) return { status, disabled_reason, failing_since }
  return status === 'enabled'
    ? { status, disabled_reason: null, failing_since: null }
    : { status, disabled_reason: 'requested', failing_since }
}

async function bodyProblem(deps: WebhookEndpointDeps, body: ChangeBody): Promise<Problem | null> {
  if (body.event_types?.includes('*') && body.event_types.length > 1) {
    return invalid('event_types', 'event_types must not have * together with others.')
  }
  if (body.api_version !== undefined && !VERSIONS.includes(body.api_version)) {
    return problem('unknown_version', `There is no version ${body.api_version}.`, { param: 'api_version' })
  }
  if (body.url === undefined) return null
  return urlProblem(body.url, ['http:', 'https:'], customerAddresses(deps.allowedNetworks), deps.resolve, 'url')
}
