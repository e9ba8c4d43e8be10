import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context } from '../../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem } from '../../http/errors.ts'
import { CLOCK_SLACK_MS } from '../../http/list.ts'
import type { NounParts } from '../../http/noun.ts'
import { operations, type Route } from '../../http/route.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { enqueueFor } from '../../kernel/events/outbox.ts'
import { idAt } from '../../kernel/ids.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { toWebhookDelivery, type WebhookDelivery, webhookDeliverySchema } from '../delivery-schema.ts'
import { toWebhookEndpoint } from '../endpoint-schema.ts'
import type { WebhookEndpointRow } from '../tables.ts'
import { type ReplayBody, replayBody, replaySchema } from './schema.ts'

const api = operations('Webhooks', 'webhooks')

const MAX_REPLAYED = 10_000
/** Events that one transaction of a replay takes: calls wait for it. */
const AT_ONCE = 200

export function deliveryRoutes(deps: NounParts): Route[] {
  return [
    api.post({
      path: '/webhook_endpoints/:id/ping',
      id: 'pingWebhookEndpoint',
      summary: 'Send a ping to a webhook endpoint',
      description: 'An event `ping` for this endpoint alone, whatever its `event_types`.',
      status: 201,
      reply: webhookDeliverySchema,
      errors: [409],
      handler: (context, { params }) => ping(deps, context, params.id),
    }),
    api.post({
      path: '/webhook_endpoints/:id/replay',
      id: 'replayWebhookEndpoint',
      summary: 'Deliver past events to a webhook endpoint',
      description: `Events of a range of time to which the endpoint subscribes, with the same \`webhook-id\`. Those with a pending delivery are left out. At most ${MAX_REPLAYED} at once.`,
      body: replayBody(),
      reply: replaySchema,
      errors: [409],
      handler: async (context, { params, body }) => {
        const times = readTimes(body, deps.now())
        return 'problem' in times ? times : replay(deps, context, params.id, { ...body, ...times })
      },
    }),
  ]
}

type Replay = ReplayBody & { since: string; until: string }

/** Queues the deliveries in pieces. A replay that ends half-way, as its process dies, leaves out what is pending by then when it is repeated. */
async function replay({ store, now }: NounParts, context: Context, id: string, wanted: Replay) {
  const { reads } = store
  const endpoint = await deliverable(reads, context, id)
  if ('problem' in endpoint) return endpoint
  const found = await eventsToReplay(reads, context, endpoint, wanted)
    .limit(MAX_REPLAYED + 1)
    .execute()
  if (found.length > MAX_REPLAYED) {
    return invalid('since', `More than ${MAX_REPLAYED} events: replay a shorter range of time.`)
  }
  /** Returns how many of these are queued: not what is pending by now. */
  const queue = async (trx: Trx, ids: string[]): Promise<number | Problem> => {
    const of = await deliverable(trx, context, id)
    if ('problem' in of) return of
    const events = await eventsToReplay(trx, context, of, wanted).where('id', 'in', ids).execute()
    await enqueueFor(trx, context, id, events, now().toISOString())
    return events.length
  }
  let deliveries = 0
  const ids = found.map(event => event.id)
  while (ids.length > AT_ONCE) {
    const piece = ids.splice(0, AT_ONCE)
    const queued = await store.transaction(trx => queue(trx, piece))
    if (isProblem(queued)) return queued
    deliveries += queued
    await nextTurn()
  }
  return context.transaction(async trx => {
    const queued = await queue(trx, ids)
    if (isProblem(queued)) return queued
    const { livemode } = context
    return { object: 'webhook_replay' as const, endpoint_id: id, livemode, deliveries: deliveries + queued }
  })
}

const ping = ({ now }: NounParts, context: Context, id: string): Promise<WebhookDelivery | Problem> =>
  context.transaction(async (trx): Promise<WebhookDelivery | Problem> => {
    const endpoint = await deliverable(trx, context, id)
    if ('problem' in endpoint) return endpoint
    const at = now()
    const eventId = await appendEvent(trx, context, {
      type: 'ping',
      at: at.toISOString(),
      object: toWebhookEndpoint(endpoint, at),
      onlyEndpointId: id,
    })
    const queued = forTenant(trx, context).select('webhook_deliveries').selectAll().where('event_id', '=', eventId)
    return toWebhookDelivery(await queued.executeTakeFirstOrThrow())
  })

/** The endpoint, or why nothing can be sent to it. */
async function deliverable(db: Db, tenant: Tenant, id: string): Promise<WebhookEndpointRow | Problem> {
  const row = await forTenant(db, tenant).find('webhook_endpoints', id)
  if (row === undefined) return missing('webhook_endpoint', id)
  return row.status === 'enabled' ? row : conflict('endpoint_disabled', `${id} is disabled: enable it first.`)
}

function readTimes(body: ReplayBody, now: Date): { since: string; until: string } | Problem {
  const since = new Date(body.since).toISOString()
  const until = body.until === undefined ? null : new Date(body.until).toISOString()
  if (until !== null && until <= since) return invalid('until', 'until must be later than since.')
  return { since, until: until ?? new Date(now.getTime() + 1).toISOString() }
}

/** The events to replay. Pings to other endpoints are never replayed. */
function eventsToReplay(db: Db, tenant: Tenant, endpoint: WebhookEndpointRow, wanted: Replay) {
  const taken = wanted.undelivered_only ? (['pending', 'succeeded'] as const) : (['pending'] as const)
  const types = narrowest(JSON.parse(endpoint.event_types), wanted.event_types ?? ['*'])
  const query = forTenant(db, tenant)
    .select('events')
    .select(['id', 'type'])
    .where('timestamp', '>=', wanted.since)
    .where('id', '>=', idAt('event', Date.parse(wanted.since) - CLOCK_SLACK_MS))
    .where('timestamp', '<', wanted.until)
    .where('type', '!=', 'ping')
    .where('id', 'not in', eb =>
      eb
        .selectFrom('webhook_deliveries')
        .select('event_id')
        .where('endpoint_id', '=', endpoint.id)
        .where('status', 'in', taken),
    )
  return (types === null ? query : query.where('type', 'in', types)).orderBy('id')
}

/** The types in both lists; null: all types. */
function narrowest(subscribed: string[], wanted: string[]): string[] | null {
  if (wanted.includes('*')) return subscribed.includes('*') ? null : subscribed
  return subscribed.includes('*') ? wanted : wanted.filter(type => subscribed.includes(type))
}
