import Type from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, missing, type Problem } from '../http/errors.ts'
import { listParameters } from '../http/list.ts'
import type { NounParts } from '../http/noun.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { input, oneOf } from '../kernel/schema.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { toWebhookDelivery, type WebhookDelivery, webhookDeliverySchema } from './delivery-schema.ts'

const api = operations('Webhooks', 'webhooks')

export function webhookDeliveryRoutes(deps: NounParts): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'webhook_deliveries',
    api,
    reply: webhookDeliverySchema,
    toObject: toWebhookDelivery,
  })
  return [
    listRoute(plain, {
      isLong: true,
      id: 'listWebhookDeliveries',
      summary: 'List webhook deliveries',
      description: 'One for each event and endpoint, and one for each replay. Finished ones are kept for 30 days.',
      query: input({
        ...listParameters,
        endpoint_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        event_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        status: Type.Optional(oneOf(['pending', 'succeeded', 'failed'])),
      }),
    }),
    retrieveRoute(plain),
    api.post({
      path: '/webhook_deliveries/:id/retry',
      id: 'retryWebhookDelivery',
      summary: 'Retry a webhook delivery',
      description:
        'At once and, if that fails, by the schedule from its start. Succeeded deliveries can be retried too. 409 with `details.reason` `attempt_running` or `endpoint_disabled`.',
      reply: webhookDeliverySchema,
      errors: [409],
      handler: (context, { params }) => retry(deps, context, params.id),
    }),
  ]
}

const retry = ({ now }: NounParts, context: Context, id: string): Promise<WebhookDelivery | Problem> =>
  context.transaction(async (trx): Promise<WebhookDelivery | Problem> => {
    const scoped = forTenant(trx, context)
    const row = await scoped.find('webhook_deliveries', id)
    if (row === undefined) return missing('webhook_delivery', id)
    const endpoint = await scoped.find('webhook_endpoints', row.endpoint_id)
    if (endpoint?.status !== 'enabled') {
      return conflict('endpoint_disabled', `${row.endpoint_id} is disabled: enable it first.`)
    }
    const at = now().toISOString()
    const change = { status: 'pending' as const, step: 0, next_attempt_at: at, updated: at }
    const { numUpdatedRows } = await scoped
      .update('webhook_deliveries')
      .set({ ...change, lease: null, leased_until: null })
      .where('id', '=', id)
      .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', at)]))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return conflict('attempt_running', 'An attempt is in progress.')
    return toWebhookDelivery({ ...row, ...change })
  })
