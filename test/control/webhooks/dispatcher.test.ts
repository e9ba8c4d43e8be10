import type { ServerResponse } from 'node:http'
import * as assert from 'uvu/assert'
import { endedCall } from '../../../control/calls/events.ts'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import type { WebhookDispatcher } from '../../../control/webhooks/dispatcher.ts'
import type { PostOutcome, PostRequest } from '../../../control/webhooks/http-post.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { DAY, dispatcherOf, HOUR, MINUTE, makeWebhookWorld, SECOND, type WebhookWorld } from './webhook-world.ts'

const test = suite('control/webhooks/dispatcher')

let world: WebhookWorld
test.beforeEach(async () => {
  world = await makeWebhookWorld()
})
test.afterEach(() => world.close())

const deliveries = async (query = '') => (await world.ask(`GET /v1/webhook_deliveries${query}`)).body.data
const endpoint = async (id: string) => (await world.ask(`GET /v1/webhook_endpoints/${id}`)).body

/** Advances in steps of `stepMs` and delivers what is due; the times of the attempts [ms] from now. */
async function attemptTimes(steps: number, stepMs: number): Promise<number[]> {
  const times: number[] = []
  for (let step = 0; step <= steps; step++) {
    if (step > 0) world.clock.advance(stepMs)
    if ((await world.dispatcher.deliverDue()) > 0) times.push(step * stepMs)
  }
  return times
}

test('an event is delivered to each endpoint that subscribes to its type, in its organisation and mode only', async () => {
  await world.endpoint({ url: `${world.receiver.url}/all` })
  await world.endpoint({ url: `${world.receiver.url}/this`, event_types: ['call.ended'] })
  await world.endpoint({ url: `${world.receiver.url}/other`, event_types: ['call.created'] })
  await world.endpoint({ url: `${world.receiver.url}/test` }, world.ours.keys.test)
  await world.endpoint({ url: `${world.receiver.url}/theirs` }, world.theirs.keys.live)
  const id = await world.emit()
  assert.is(await world.dispatcher.deliverDue(), 2)
  assert.equal(world.receiver.received.map(({ path }) => path).sort(), ['/all', '/this'])
  for (const { headers, body } of world.receiver.received) {
    assert.is(headers['webhook-id'], id)
    assert.equal(JSON.parse(body), (await world.ask(`GET /v1/events/${id}`)).body)
    assert.equal(Object.keys(JSON.parse(body)), [
      'id',
      'object',
      'type',
      'timestamp',
      'livemode',
      'api_version',
      'data',
      'request',
    ])
  }
  assert.is(await world.dispatcher.deliverDue(), 0)
})

test('an event whose transaction is rolled back is delivered nowhere', async () => {
  await world.endpoint()
  const failed = world.store.transaction(async trx => {
    const tenant = { organisationId: world.ours.organisationId, livemode: true }
    await appendEvent(trx, tenant, { type: 'call.ended', at: world.clock.now().toISOString(), object: {} })
    throw new Error('rolled back')
  })
  await failed.catch(() => {})
  assert.is(await world.dispatcher.deliverDue(), 0)
})

test('what is to be delivered is not held up by a clock that is set back by an hour', async () => {
  await world.endpoint()
  await world.emit()
  world.clock.set(-HOUR)
  world.dispatcher.start()
  await until(() => world.receiver.received.length === 1)
})

test('outcomes that come together are written together, and one by one where that fails', async () => {
  await world.endpoint()
  for (let n = 0; n < 8; n++) await world.emit()
  let [transactions, refused] = [0, false]
  const store = {
    ...world.store,
    transaction: (...asked: Parameters<typeof world.store.transaction>) => {
      transactions++
      const fails = transactions === 1
      refused ||= fails
      return fails ? Promise.reject(new Error('one of them')) : world.store.transaction(...asked)
    },
  } as typeof world.store
  let arrived = 0
  let letGo = () => {}
  const all = new Promise<void>(resolve => (letGo = resolve))
  const post = async (): Promise<PostOutcome> => {
    if (++arrived === 8) letGo()
    await all
    return { status: 200, body: '', retryAfter: undefined, isFromPublic: true }
  }
  assert.is(await dispatcherOf(world, { store, post }).deliverDue(), 8)
  assert.equal(
    (await deliveries()).map(({ status }: { status: string }) => status),
    Array.from({ length: 8 }, () => 'succeeded'),
  )
  assert.ok(refused)
  assert.is(transactions, 1 + 8, 'all together in vain, and each of them')
})

test('a failing delivery is attempted at once, after 5 s, 5 min and 30 min more, with the same ID and body', async () => {
  await world.endpoint()
  await world.emit()
  world.receiver.say(500)
  const times = await attemptTimes((36 * MINUTE) / (5 * SECOND), 5 * SECOND)
  assert.equal(times, [0, 5 * SECOND, 5 * MINUTE + 5 * SECOND, 35 * MINUTE + 5 * SECOND])
  const seen = new Set(world.receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`))
  assert.is(seen.size, 1)
  assert.is(new Set(world.receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 4)
})

test('after ten attempts a live delivery has failed, in test mode after three', async () => {
  await world.endpoint()
  await world.endpoint({}, world.ours.keys.test)
  await world.emit(true)
  await world.emit(false)
  world.receiver.say(503)
  await attemptTimes(80, HOUR)
  const [live] = await deliveries()
  const [inTest] = (await world.ask('GET /v1/webhook_deliveries', undefined, world.ours.keys.test)).body.data
  assert.equal([live.status, live.attempts, live.next_attempt_at], ['failed', 10, null])
  assert.equal([inTest.status, inTest.attempts, inTest.error], ['failed', 3, 'bad_status'])
})

test('2xx is success and ends the attempts', async () => {
  await world.endpoint()
  await world.emit()
  world.receiver.say(500)
  await world.dispatcher.deliverDue()
  world.receiver.answer = response => response.writeHead(202).end('noted')
  assert.equal(await attemptTimes(100, HOUR), [HOUR])
  const [delivery] = await deliveries()
  assert.equal([delivery.status, delivery.attempts, delivery.error], ['succeeded', 2, null])
  assert.equal([delivery.last_attempt.status_code, delivery.last_attempt.response_body], [202, null])
})

test('a redirect is a failure and is not followed', async () => {
  await world.endpoint()
  await world.emit()
  world.receiver.say(302, { location: `${world.receiver.url}/elsewhere` })
  await world.dispatcher.deliverDue()
  assert.equal(
    world.receiver.received.map(({ path }) => path),
    ['/hook'],
  )
  const [delivery] = await deliveries()
  assert.equal([delivery.status, delivery.error, delivery.last_attempt.status_code], ['pending', 'redirected', 302])
})

test('Retry-After is honoured', async () => {
  await world.endpoint()
  await world.emit()
  world.receiver.say(429, { 'retry-after': '60' })
  const times = await attemptTimes(12, 10 * SECOND)
  assert.equal(times, [0, MINUTE])
})

test('410 disables the endpoint, gives up what waits for it and emits webhook_endpoint.disabled to the others', async () => {
  const { id } = await world.endpoint()
  await world.emit()
  world.receiver.say(500)
  await world.dispatcher.deliverDue()
  world.receiver.takeTypes()
  world.receiver.answer = (response, { path }) => response.writeHead(path === '/hook' ? 410 : 204).end()
  await world.endpoint({ url: `${world.receiver.url}/watch`, event_types: ['webhook_endpoint.disabled'] })
  await world.emit()
  await world.dispatcher.deliverDue()
  const gone = await endpoint(id)
  assert.equal([gone.status, gone.disabled_reason], ['disabled', 'gone'])
  const told = JSON.parse(world.receiver.received.find(({ path }) => path === '/watch')?.body ?? '{}')
  assert.equal([told.type, told.data.object.id, told.data.object.status], ['webhook_endpoint.disabled', id, 'disabled'])
  assert.is(told.data.previous_attributes.status, 'enabled')
  const rest = await deliveries(`?endpoint_id=${id}`)
  assert.equal(
    rest.map(({ status, error }: { status: string; error: string }) => [status, error]),
    [
      ['failed', 'endpoint_disabled'],
      ['failed', 'endpoint_disabled'],
    ],
  )
  await world.emit()
  world.receiver.takeTypes()
  world.clock.advance(HOUR)
  assert.is(await world.dispatcher.deliverDue(), 0)
})

test('five days of failures disable the endpoint, and not a moment less', async () => {
  const { id } = await world.endpoint()
  world.receiver.say(500)
  const begun = world.clock.now().toISOString()
  for (let day = 0; day < 5; day++) {
    await world.emit()
    await world.dispatcher.deliverDue()
    assert.equal([(await endpoint(id)).status, (await endpoint(id)).failing_since], ['enabled', begun])
    world.clock.advance(day < 4 ? DAY : DAY - SECOND)
  }
  await world.dispatcher.deliverDue()
  assert.is((await endpoint(id)).status, 'enabled')
  world.clock.advance(SECOND)
  await world.emit()
  await world.dispatcher.deliverDue()
  assert.equal([(await endpoint(id)).status, (await endpoint(id)).disabled_reason], ['disabled', 'failing'])
  const { data } = (await world.ask('GET /v1/events?type=webhook_endpoint.disabled')).body
  assert.equal(
    data.map((event: { data: { object: { id: string } } }) => event.data.object.id),
    [id],
  )
})

test('one success among the failures, and the five days begin anew', async () => {
  const { id } = await world.endpoint()
  for (let day = 0; day < 12; day++) {
    world.receiver.say(day % 4 === 3 ? 200 : 500)
    await world.emit()
    await world.dispatcher.deliverDue()
    world.clock.advance(DAY)
  }
  assert.is((await endpoint(id)).status, 'enabled')
})

for (const mode of ['live', 'test'] as const) {
  test(`in ${mode} mode an address that the operator has not allowed is refused when it is dialled`, async () => {
    await world.endpoint({}, world.ours.keys[mode])
    await world.emit(mode === 'live')
    const strict = dispatcherOf(world, { allowedNetworks: [] })
    await strict.deliverDue()
    assert.is(world.receiver.received.length, 0)
    const { body } = await world.ask('GET /v1/webhook_deliveries', undefined, world.ours.keys[mode])
    assert.equal([body.data[0].error, body.data[0].last_attempt.response_body], ['address_not_allowed', null])
    await strict.close()
  })
}

test('the delivery log shows what a public address answered, and of a private one the status only', async () => {
  await world.endpoint()
  const lastAttempt = async () => (await deliveries())[0].last_attempt
  await world.emit()
  world.receiver.answer = response => response.writeHead(200).end('the secrets of a private network')
  await world.dispatcher.deliverDue()
  assert.equal([(await lastAttempt()).status_code, (await lastAttempt()).response_body], [200, null])
  const post = async (): Promise<PostOutcome> => ({ ...OK, body: 'noted' })
  const publicly = dispatcherOf(world, { post })
  await world.emit()
  await publicly.deliverDue()
  assert.equal([(await lastAttempt()).status_code, (await lastAttempt()).response_body], [200, 'noted'])
  await publicly.close()
})

/** Attempts that end when the test says so. */
function heldPosts() {
  const held: { url: string; id: string; finish(outcome: PostOutcome): void }[] = []
  let isReleased = false
  const post = (request: PostRequest, { signal }: { signal: AbortSignal }): Promise<PostOutcome> =>
    new Promise(resolve => {
      if (isReleased) resolve(OK)
      held.push({ url: request.url, id: request.headers['webhook-id']!, finish: resolve })
      signal.addEventListener('abort', () => resolve({ error: 'aborted', message: '' }))
    })
  /** Ends these attempts and all that follow, so that a dispatcher that is closed does not wait for them. */
  const release = (): void => {
    isReleased = true
    for (const { finish } of held) finish(OK)
  }
  return { held, post, release }
}
const OK: PostOutcome = { status: 200, body: '', retryAfter: undefined, isFromPublic: true }

test('one process delivers at most so many at once, and few of them to one slow endpoint', async () => {
  await world.endpoint({ url: `${world.receiver.url}/slow` })
  for (let i = 0; i < 20; i++) await world.emit()
  await world.endpoint({ url: `${world.receiver.url}/quick`, event_types: ['ping'] })
  const { held, post } = heldPosts()
  const dispatcher = dispatcherOf(world, { post, bounds: { atOnce: 12, perEndpoint: 4, pollMs: 1 } })
  dispatcher.start()
  await until(() => held.length === 4)
  const { body } = await world.ask('GET /v1/webhook_endpoints')
  await world.ask(`POST /v1/webhook_endpoints/${body.data[0].id}/ping`)
  await until(() => held.length === 5)
  assert.match(held[4]!.url, /quick$/)
  assert.is(dispatcher.running, 5)
  for (let done = 0; done < 21; done++) {
    await until(() => held.length > done)
    assert.ok(dispatcher.running <= 6)
    held[done]!.finish(OK)
  }
  await until(() => dispatcher.counters.succeeded === 21)
  await dispatcher.close()
})

/** A dispatcher that has delivered what was there, and looks no more by itself. */
async function quietDispatcher(perEndpoint: number) {
  await world.endpoint()
  await world.emit()
  const { held, post } = heldPosts()
  const dispatcher = dispatcherOf(world, { post, bounds: { perEndpoint, pollMs: 600_000 } })
  dispatcher.start()
  await until(() => held.length === 1)
  held.shift()!.finish(OK)
  await until(() => dispatcher.running === 0)
  return { held, dispatcher }
}

test('what is written while there is room leaves without being looked for, and what is rolled back takes no place', async () => {
  const { held, dispatcher } = await quietDispatcher(1)
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const event = { type: 'call.ended' as const, at: world.clock.now().toISOString(), object: {} }
  const failed = world.store.transaction(async trx => {
    await appendEvent(trx, tenant, event)
    throw new Error('rolled back')
  })
  await failed.catch(() => {})
  const claimed = await world.store.transaction(async trx => {
    const id = await appendEvent(trx, tenant, event)
    assert.is(held.length, 0, 'nothing leaves before the commit')
    return trx.selectFrom('webhook_deliveries').select('leased_until').where('event_id', '=', id).executeTakeFirst()
  })
  assert.is(claimed?.leased_until, new Date(world.clock.now().getTime() + 25 * SECOND).toISOString())
  await until(() => held.length === 1)
  held[0]!.finish(OK)
  await until(() => dispatcher.counters.succeeded === 2)
  assert.equal(
    (await deliveries()).map(({ status, attempts }: { status: string; attempts: number }) => [status, attempts]),
    [
      ['succeeded', 1],
      ['succeeded', 1],
    ],
  )
  await dispatcher.close()
})

/** The most attempts that `deliver` begins in one turn of the event loop, of six. */
async function mostBegunInATurn(deliver: (dispatcher: WebhookDispatcher) => unknown): Promise<number> {
  const { held, dispatcher } = await quietDispatcher(8)
  let most = 0
  let before = dispatcher.running
  const look = (): void => {
    most = Math.max(most, dispatcher.running - before)
    before = dispatcher.running
    if (held.length < 6) setImmediate(look)
  }
  look()
  await deliver(dispatcher)
  await until(() => held.length === 6)
  for (const { finish } of held) finish(OK)
  await until(() => dispatcher.running === 0)
  await dispatcher.close()
  return most
}

test('deliveries of one commit begin in turns of their own: between any two a call has its turn', async () => {
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const event = { type: 'call.ended' as const, at: world.clock.now().toISOString(), object: {} }
  const most = await mostBegunInATurn(() =>
    world.store.transaction(async trx => {
      for (let i = 0; i < 6; i++) await appendEvent(trx, tenant, event)
    }),
  )
  assert.is(most, 1)
})

test('so do deliveries that waited in the database', async () => {
  const looks: Promise<number>[] = []
  const most = await mostBegunInATurn(async dispatcher => {
    world.store.outbox.sender = null
    for (let i = 0; i < 6; i++) await world.emit()
    world.store.outbox.sender = dispatcher
    looks.push(dispatcher.deliverDue())
  })
  // It looks once more after the last has ended, and the store is to be there for that.
  assert.equal(await Promise.all(looks), [6])
  assert.is(most, 1)
})

test('what finds no room waits in the database, and nothing written later overtakes it', async () => {
  const { held, dispatcher } = await quietDispatcher(1)
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    ids.push(await world.emit())
    world.clock.advance(1)
  }
  const order: string[] = []
  for (let done = 0; done < 4; done++) {
    await until(() => held.length > done)
    order.push(held[done]!.id)
    // The place is free for a moment, and a fourth is written meanwhile.
    held[done]!.finish(OK)
    if (done === 0) ids.push(await world.emit())
  }
  assert.equal(order, ids)
  await until(() => dispatcher.running === 0)
  await dispatcher.close()
  assert.is(world.store.outbox.sender, null)
  await world.emit()
  assert.is(await world.dispatcher.deliverDue(), 1)
})

test('what is due behind an endpoint that cannot keep up leaves at its own pace, and waits for no poll', async () => {
  await world.endpoint({ url: `${world.receiver.url}/slow`, event_types: ['call.ended'] })
  for (let i = 0; i < 50; i++) await world.emit()
  const quick = await world.endpoint({ url: `${world.receiver.url}/quick`, event_types: ['ping'] })
  for (let i = 0; i < 40; i++) await world.ask(`POST /v1/webhook_endpoints/${quick.id}/ping`)
  const { held, post, release } = heldPosts()
  const dispatcher = dispatcherOf(world, { post, bounds: { perEndpoint: 4, pollMs: 600_000 } })
  dispatcher.start()
  for (let done = 0; done < 40; done++) {
    await until(() => held.some(({ url }) => url.endsWith('/quick')))
    held
      .splice(
        held.findIndex(({ url }) => url.endsWith('/quick')),
        1,
      )[0]!
      .finish(OK)
  }
  await until(() => dispatcher.counters.succeeded === 40)
  assert.is(dispatcher.running, 4, 'to the slow one')
  release()
  await dispatcher.close()
})

test(`60 endpoints of one organisation that never answer: another organisation's event is delivered at once`, async () => {
  for (let i = 0; i < 60; i++) await world.endpoint({ url: `${world.receiver.url}/hangs/${i}` })
  for (let i = 0; i < 10; i++) await world.emit()
  const answerAll = world.receiver.answer
  const unanswered: ServerResponse[] = []
  world.receiver.answer = (response, request) => {
    if (request.path.startsWith('/hangs')) unanswered.push(response)
    else answerAll(response, request)
  }
  const dispatcher = dispatcherOf(world, { bounds: { timeoutMs: 600_000, leaseMs: 700_000, pollMs: 5 } })
  dispatcher.start()
  await until(() => world.receiver.received.length >= 32)
  await world.endpoint({ url: `${world.receiver.url}/theirs` }, world.theirs.keys.live)
  await world.store.transaction(trx =>
    appendEvent(
      trx,
      { organisationId: world.theirs.organisationId, livemode: true },
      { type: 'call.ended', at: world.clock.now().toISOString(), object: endedCall },
    ),
  )
  await until(() => dispatcher.counters.succeeded === 1)
  assert.ok(world.receiver.received.some(({ path }) => path === '/theirs'))
  // Half of the places, and no more, are theirs who hang.
  assert.is(dispatcher.running, 32)
  world.receiver.answer = answerAll
  for (const response of unanswered) response.writeHead(204).end()
  await dispatcher.close()
})

test('endpoints that are known to fail hold up no other endpoint of their organisation', async () => {
  for (let i = 0; i < 60; i++) await world.endpoint({ url: `${world.receiver.url}/hangs/${i}` })
  await world.emit()
  await world.store.db
    .updateTable('webhook_endpoints')
    .set({ failing_since: world.clock.now().toISOString() })
    .execute()
  const { held, post, release } = heldPosts()
  const dispatcher = dispatcherOf(world, { post, bounds: { pollMs: 1 } })
  dispatcher.start()
  await until(() => held.length >= 12)
  await world.endpoint({ url: `${world.receiver.url}/well` })
  await world.emit()
  await until(() => held.some(({ url }) => url.endsWith('/well')))
  release()
  await dispatcher.close()
})

test('two control processes never deliver the same at once, nor a delivery of one whose lease has not run out', async () => {
  await world.endpoint()
  await world.emit()
  const { held, post } = heldPosts()
  const first = dispatcherOf(world, { post })
  const running = first.deliverDue()
  await until(() => held.length === 1)
  world.clock.advance(24 * SECOND)
  assert.is(await world.dispatcher.deliverDue(), 0)
  const retried = await world.ask(`POST /v1/webhook_deliveries/${(await deliveries())[0].id}/retry`)
  assert.equal([retried.status, retried.body.error.details.reason], [409, 'attempt_running'])
  held[0]!.finish(OK)
  await running
  world.clock.advance(HOUR)
  assert.is(await world.dispatcher.deliverDue(), 0)
})

test('what a killed process had under way is delivered by another once the lease has run out', async () => {
  await world.endpoint()
  await world.emit()
  const { held, post } = heldPosts()
  const killed = dispatcherOf(world, { post })
  const running = killed.deliverDue()
  await until(() => held.length === 1)
  world.clock.advance(25 * SECOND)
  assert.is(await world.dispatcher.deliverDue(), 1)
  assert.is((await deliveries())[0].status, 'succeeded')
  // It was only slow: what it brings too late changes nothing.
  held[0]!.finish({ status: 500, body: '', retryAfter: undefined, isFromPublic: true })
  await running
  assert.is(killed.counters.superseded, 1)
  assert.is((await deliveries())[0].status, 'succeeded')
})

test('a process that stops gives its unfinished attempts back at once', async () => {
  await world.endpoint()
  await world.emit()
  const { held, post } = heldPosts()
  const stopping = dispatcherOf(world, { post, bounds: { pollMs: 1 } })
  stopping.start()
  await until(() => held.length === 1)
  await stopping.close()
  const [delivery] = await deliveries()
  assert.equal([delivery.status, delivery.attempts], ['pending', 0])
  assert.is(await world.dispatcher.deliverDue(), 1)
})

test('what waits for an endpoint that is disabled fails in pieces, since calls wait for each; what waits for others stays', async () => {
  const { id } = await world.endpoint()
  for (let n = 0; n < 450; n++) await world.emit()
  const other = (await world.endpoint()).id
  await world.emit()
  const waiting = async (endpoint: string) => {
    const rows = world.store.db.selectFrom('webhook_deliveries').select('id').where('endpoint_id', '=', endpoint)
    return (await rows.where('status', '=', 'pending').execute()).length
  }
  assert.is(await waiting(id), 451)
  await world.ask(`PATCH /v1/webhook_endpoints/${id}`, { status: 'disabled' })
  const left = await waiting(id)
  assert.ok(left > 0 && left < 451, `${left} are left`)
  const sweeper = dispatcherOf(world, { bounds: { pollMs: 1, atOnce: 0 } })
  sweeper.start()
  for (let pending = left; pending > 0; pending = await waiting(id)) await new Promise(setImmediate)
  await sweeper.close()
  const error = world.store.db.selectFrom('webhook_deliveries').select('error').distinct().where('endpoint_id', '=', id)
  assert.equal([await error.execute(), await waiting(other)], [[{ error: 'endpoint_disabled' }], 1])
})

test('closed deliveries are forgotten after 30 days, waiting ones and events never', async () => {
  await world.endpoint()
  await world.emit()
  await world.dispatcher.deliverDue()
  world.receiver.say(500)
  await world.emit()
  world.clock.advance(30 * DAY + SECOND)
  const sweeper = dispatcherOf(world, { bounds: { pollMs: 1, atOnce: 0 } })
  sweeper.start()
  await until(() => sweeper.counters.forgotten === 1)
  await sweeper.close()
  assert.equal(
    (await deliveries()).map(({ status }: { status: string }) => status),
    ['pending'],
  )
  assert.is((await world.ask('GET /v1/events')).body.data.length, 2)
})

test.run()
