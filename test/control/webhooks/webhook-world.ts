import type { FastifyInstance } from 'fastify'
import { endedCall } from '../../../control/calls/events.ts'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import { webhookDeliveryRoutes } from '../../../control/webhooks/delivery-routes.ts'
import { type DispatcherParts, WebhookDispatcher } from '../../../control/webhooks/dispatcher.ts'
import { webhookEndpointRoutes } from '../../../control/webhooks/endpoints/routes.ts'
import { eventRoutes } from '../../../control/webhooks/event-routes.ts'
import { httpPost } from '../../../control/webhooks/http-post.ts'
import { testHelperRoutes } from '../../../control/wiring/test-helpers.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { type Answer, ask, makeWorld, serve, silent, type World } from '../app-harness.ts'
import { VAULT } from '../silent.ts'

export interface WebhookWorld extends World {
  app: FastifyInstance
  receiver: WebhookReceiver
  dispatcher: WebhookDispatcher
  /** A request with the live key of our organisation, or with another key. */
  ask(line: string, body?: unknown, key?: string): Promise<Answer>
  /** Creates an endpoint at the receiver; returns the answer. */
  endpoint(body?: object, key?: string): Promise<Answer['body']>
  /** Writes a `call.ended` of our organisation; returns its ID. */
  emit(livemode?: boolean): Promise<string>
  close(): Promise<void>
}

export const vault = VAULT

/** The dispatcher of a control process on this world's database. */
export const dispatcherOf = (world: World, more: Partial<DispatcherParts> = {}): WebhookDispatcher =>
  new WebhookDispatcher({
    store: world.store,
    vault,
    post: httpPost,
    allowedNetworks: ['127.0.0.0/8'],
    now: world.clock.now,
    // No jitter.
    random: () => 0.5,
    log: silent,
    ...more,
  })

/** An API and a dispatcher on one database, and a receiver on loopback that an operator has allowed. */
export async function makeWebhookWorld(more: Partial<DispatcherParts> = {}): Promise<WebhookWorld> {
  const world = await makeWorld()
  const { store, clock } = world
  const receiver = await new WebhookReceiver().listen()
  const resolve = async (host: string) => (host === 'inside.test' ? ['10.0.0.1'] : ['93.184.216.34'])
  const app = await serve(world, [
    ...webhookEndpointRoutes({ store, vault, now: clock.now, resolve, allowedNetworks: ['127.0.0.0/8'] }),
    ...webhookDeliveryRoutes({ store, now: clock.now }),
    ...testHelperRoutes({ now: clock.now }),
    ...eventRoutes({ store }),
  ])
  const whole: WebhookWorld = {
    ...world,
    app,
    receiver,
    dispatcher: dispatcherOf(world, more),
    ask: (line, body, key = world.ours.keys.live) => ask(app, line, { key, ...(body === undefined ? {} : { body }) }),
    endpoint: async (body = {}, key = world.ours.keys.live) =>
      (await whole.ask('POST /v1/webhook_endpoints', { url: `${receiver.url}/hook`, ...body }, key)).body,
    emit: (livemode = true) => emitOn(world, livemode),
    close: async () => {
      await whole.dispatcher.close()
      await app.close()
      await receiver.close()
      await store.close()
    },
  }
  return whole
}

const emitOn = ({ store, clock, ours }: World, livemode: boolean): Promise<string> =>
  store.transaction(trx =>
    appendEvent(
      trx,
      { organisationId: ours.organisationId, livemode },
      { type: 'call.ended', at: clock.now().toISOString(), object: endedCall },
    ),
  )

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
