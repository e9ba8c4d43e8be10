import { createPublicKey, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import * as assert from 'uvu/assert'
import '../../../../control/wiring/event-catalog.ts'
import { eventTypes } from '../../../../control/kernel/events/catalog.ts'
import { forgetRows } from '../../../../control/kernel/jobs/forget.ts'
import { JobRunner } from '../../../../control/kernel/jobs/runner.ts'
import type { Received } from '../../../fakes/webhook-receiver.ts'
import { suite } from '../../../harness.ts'
import { START, silent } from '../../app-harness.ts'
import { DAY, HOUR, makeWebhookWorld, SECOND, type WebhookWorld } from '../webhook-world.ts'

const test = suite('control/webhooks/endpoints/webhook-endpoints')

let world: WebhookWorld
test.beforeEach(async () => {
  world = await makeWebhookWorld()
})
test.afterEach(() => world.close())

const headersOf = ({ headers }: Received) => headers as Record<string, string>

/** Whether an Ed25519 key verifies one of the `v1a` entries; written without any code of ours. */
function verifiesV1a(received: Received, pem: string): boolean {
  const headers = headersOf(received)
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${received.body}`)
  return headers['webhook-signature']!.split(' ')
    .filter(entry => entry.startsWith('v1a,'))
    .some(entry => verify(null, signed, createPublicKey(pem), Buffer.from(entry.slice(4), 'base64')))
}

const verifiesV1 = (received: Received, secret: string): boolean => {
  try {
    new Webhook(secret).verify(received.body, headersOf(received))
    return true
  } catch {
    return false
  }
}

async function deliverOne(): Promise<Received> {
  world.receiver.received.length = 0
  await world.emit()
  await world.dispatcher.deliverDue()
  assert.is(world.receiver.received.length, 1)
  return world.receiver.received[0]!
}

/** The library compares the timestamp with the real clock. */
const useRealTime = (): void => world.clock.advance(Date.now() - START.getTime())

test('the secret is shown at creation only and cannot be read in the database', async () => {
  const made = await world.endpoint()
  assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal([made.algorithm, made.status, made.event_types], ['hmac', 'enabled', ['*']])
  assert.is(made.api_version, '2026-11-01')
  const rows = JSON.stringify(await world.store.db.selectFrom('webhook_endpoints').selectAll().execute())
  assert.not.ok(rows.includes(made.secret) || rows.includes(made.secret.slice(6)))
  const { secret: _secret, ...shown } = made
  assert.equal((await world.ask(`GET /v1/webhook_endpoints/${made.id}`)).body, shown)
  assert.equal((await world.ask('GET /v1/webhook_endpoints')).body.data, [shown])
})

test('the official library verifies v1, before, during and after a rotation', async () => {
  useRealTime()
  const { id, secret: old } = await world.endpoint()
  assert.ok(verifiesV1(await deliverOne(), old))
  const rotated = (await world.ask(`POST /v1/webhook_endpoints/${id}/rotate_key`, { overlap_s: 60 })).body
  assert.is.not(rotated.secret, old)
  assert.equal([rotated.previous_algorithm, typeof rotated.previous_expires_at], ['hmac', 'string'])
  const during = await deliverOne()
  assert.ok(verifiesV1(during, old) && verifiesV1(during, rotated.secret))
  world.clock.advance(60 * SECOND)
  const after = await deliverOne()
  assert.ok(verifiesV1(after, rotated.secret) && !verifiesV1(after, old))
  assert.is((await world.ask(`GET /v1/webhook_endpoints/${id}`)).body.previous_expires_at, null)
})

test('the PEM of GET /public_key verifies v1a, with the previous key while a rotation overlaps', async () => {
  const { id, secret } = await world.endpoint({ algorithm: 'ed25519' })
  assert.is(secret, null)
  const path = `GET /v1/webhook_endpoints/${id}/public_key`
  const first = (await world.ask(path)).body
  assert.equal(first, {
    object: 'webhook_endpoint_public_key',
    endpoint_id: id,
    algorithm: 'ed25519',
    signature_version: 'v1a',
    public_key: first.public_key,
    public_key_pem: first.public_key_pem,
    previous_public_key: null,
    previous_public_key_pem: null,
    previous_expires_at: null,
    livemode: true,
  })
  assert.match(first.public_key, /^whpk_[A-Za-z0-9+/]{43}=$/)
  assert.ok(verifiesV1a(await deliverOne(), first.public_key_pem))
  await world.ask(`POST /v1/webhook_endpoints/${id}/rotate_key`)
  const second = (await world.ask(path)).body
  assert.equal([second.previous_public_key, second.previous_public_key_pem], [first.public_key, first.public_key_pem])
  assert.is(second.previous_expires_at, new Date(START.getTime() + DAY).toISOString())
  const during = await deliverOne()
  assert.ok(verifiesV1a(during, first.public_key_pem) && verifiesV1a(during, second.public_key_pem))
  world.clock.advance(DAY)
  const after = await deliverOne()
  assert.ok(verifiesV1a(after, second.public_key_pem) && !verifiesV1a(after, first.public_key_pem))
  assert.is((await world.ask(path)).body.previous_public_key, null)
})

test('an hmac endpoint has no public key: 409 resource_conflict', async () => {
  const { id } = await world.endpoint()
  const refused = await world.ask(`GET /v1/webhook_endpoints/${id}/public_key`)
  assert.equal([refused.status, refused.body.error.code], [409, 'resource_conflict'])
})

test('public_key is null while an endpoint switched back to hmac still overlaps with its last Ed25519 key', async () => {
  useRealTime()
  const { id } = await world.endpoint({ algorithm: 'ed25519' })
  const path = `GET /v1/webhook_endpoints/${id}/public_key`
  const before = (await world.ask(path)).body
  const { secret } = (await world.ask(`POST /v1/webhook_endpoints/${id}/rotate_key`, { algorithm: 'hmac' })).body
  const overlap = (await world.ask(path)).body
  assert.equal([overlap.public_key, overlap.public_key_pem], [null, null])
  assert.is(overlap.previous_public_key, before.public_key)
  const during = await deliverOne()
  assert.ok(verifiesV1(during, secret) && verifiesV1a(during, before.public_key_pem))
  world.clock.advance(DAY)
  assert.is((await world.ask(path)).status, 409)
})

test('an endpoint that switches to ed25519 signs with its last secret too; overlap_s 0 ends it at once', async () => {
  useRealTime()
  const { id, secret } = await world.endpoint()
  await world.ask(`POST /v1/webhook_endpoints/${id}/rotate_key`, { algorithm: 'ed25519' })
  const key = (await world.ask(`GET /v1/webhook_endpoints/${id}/public_key`)).body
  assert.equal([key.previous_public_key, key.previous_expires_at], [null, null])
  const during = await deliverOne()
  assert.ok(verifiesV1(during, secret) && verifiesV1a(during, key.public_key_pem))
  await world.ask(`POST /v1/webhook_endpoints/${id}/rotate_key`, { overlap_s: 0 })
  const leaked = await deliverOne()
  assert.not(verifiesV1(leaked, secret))
  assert.not(verifiesV1a(leaked, key.public_key_pem))
})

test('a URL must be http or https, hold no password, and in neither mode lead to a private address', async () => {
  const param = async (url: string, key?: string) => {
    const { status, body } = await world.ask('POST /v1/webhook_endpoints', { url }, key)
    return [status, body.error?.param]
  }
  for (const url of ['ftp://example.com/', 'example.com', 'https://user:pass@example.com/', 'http://10.0.0.1/']) {
    assert.equal(await param(url), [400, 'url'], url)
  }
  assert.equal(await param('https://inside.test/'), [400, 'url'])
  assert.equal(await param('https://inside.test/', world.ours.keys.test), [400, 'url'])
  const { id } = await world.endpoint()
  assert.is((await world.ask(`PATCH /v1/webhook_endpoints/${id}`, { url: 'http://[::1]/' })).body.error.param, 'url')
})

test('event types, versions and parameters that do not exist are refused', async () => {
  const error = async (body: object) => {
    const answer = await world.ask('POST /v1/webhook_endpoints', { url: 'https://example.com/', ...body })
    return [answer.status, answer.body.error.code, answer.body.error.param]
  }
  assert.equal(await error({ event_types: ['call.eaten'] }), [400, 'parameter_invalid', 'event_types[0]'])
  assert.equal(await error({ event_types: ['*', 'call.ended'] }), [400, 'parameter_invalid', 'event_types'])
  assert.equal(await error({ event_types: [] }), [400, 'parameter_invalid', 'event_types'])
  assert.equal(await error({ api_version: '1999-01-01' }), [400, 'unknown_version', 'api_version'])
  assert.equal(await error({ colour: 'red' }), [400, 'parameter_unknown', 'colour'])
  const missing = await world.ask('POST /v1/webhook_endpoints', {})
  assert.equal([missing.body.error.code, missing.body.error.param], ['parameter_missing', 'url'])
})

test('PATCH merges metadata, replaces event_types, and enables again with a clean history', async () => {
  const { id } = await world.endpoint({ metadata: { a: '1', b: '2' }, description: 'first' })
  const path = `PATCH /v1/webhook_endpoints/${id}`
  const changed = (await world.ask(path, { metadata: { b: '3' }, event_types: ['call.ended'], description: null })).body
  assert.equal([changed.metadata, changed.event_types], [{ a: '1', b: '3' }, ['call.ended']])
  assert.is(changed.description, null)
  world.receiver.say(500)
  await world.emit()
  await world.dispatcher.deliverDue()
  const off = (await world.ask(path, { status: 'disabled' })).body
  assert.equal([off.status, off.disabled_reason, off.failing_since], ['disabled', 'requested', START.toISOString()])
  world.clock.advance(HOUR)
  assert.is(await world.dispatcher.deliverDue(), 0)
  const on = (await world.ask(path, { status: 'enabled' })).body
  assert.equal([on.status, on.disabled_reason, on.failing_since], ['enabled', null, null])
  const many = Object.fromEntries(Array.from({ length: 49 }, (_, i) => [`k${i}`, 'v']))
  assert.is((await world.ask(path, { metadata: many })).body.error.param, 'metadata')
})

/** Runs the jobs that delete what belonged to a deleted endpoint. */
function forgetDue(): Promise<number> {
  const { store, clock } = world
  return new JobRunner({ store, now: clock.now, log: silent, handlers: { 'rows.forget': forgetRows(store) } }).runDue()
}

test('after DELETE nothing is sent, and its deliveries are gone', async () => {
  const { id } = await world.endpoint()
  await world.emit()
  const gone = await world.ask(`DELETE /v1/webhook_endpoints/${id}`)
  assert.equal(gone.body, { object: 'webhook_endpoint', id, deleted: true, livemode: true })
  await world.dispatcher.deliverDue()
  assert.equal(world.receiver.received, [])
  await forgetDue()
  assert.equal((await world.ask('GET /v1/webhook_deliveries')).body.data, [])
  assert.is((await world.ask(`DELETE /v1/webhook_endpoints/${id}`)).status, 404)
})

test('of an endpoint with many deliveries, these leave in pieces, since calls wait for each, and none of another one', async () => {
  const { store } = world
  const { id } = await world.endpoint()
  for (let n = 0; n < 150; n++) await world.emit()
  const kept = (await world.endpoint()).id
  await world.emit()
  const of = async (endpoint: string) =>
    (await store.db.selectFrom('webhook_deliveries').select('id').where('endpoint_id', '=', endpoint).execute()).length
  assert.equal([await of(id), await of(kept)], [151, 1])
  assert.is((await world.ask(`DELETE /v1/webhook_endpoints/${id}`)).status, 200)
  assert.is(await of(id), 151, 'no call waits for that')
  await forgetDue()
  assert.equal([await of(id), await of(kept)], [0, 1])
})

test('a ping goes to one endpoint, whatever it subscribes to', async () => {
  const { id } = await world.endpoint({ event_types: ['call.ended'] })
  await world.endpoint({ url: `${world.receiver.url}/other` })
  const delivery = (await world.ask(`POST /v1/webhook_endpoints/${id}/ping`)).body
  assert.equal([delivery.object, delivery.event_type, delivery.endpoint_id], ['webhook_delivery', 'ping', id])
  await world.dispatcher.deliverDue()
  assert.equal(
    world.receiver.received.map(({ path, body }) => [path, JSON.parse(body).data.object.id]),
    [['/hook', id]],
  )
})

test('a replay delivers the events of a stretch of time again, with the same webhook-id', async () => {
  const { id } = await world.endpoint()
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    ids.push(await world.emit())
    world.clock.advance(HOUR)
  }
  await world.dispatcher.deliverDue()
  world.receiver.received.length = 0
  const path = `POST /v1/webhook_endpoints/${id}/replay`
  const since = new Date(START.getTime() + HOUR).toISOString()
  const replayed = await world.ask(path, { since })
  assert.equal(replayed.body, { object: 'webhook_replay', endpoint_id: id, livemode: true, deliveries: 2 })
  assert.is((await world.ask(path, { since })).body.deliveries, 0, 'they are waiting already')
  await world.dispatcher.deliverDue()
  assert.equal(world.receiver.received.map(({ headers }) => headers['webhook-id']).sort(), ids.slice(1))
  const until = new Date(START.getTime() + 2 * HOUR).toISOString()
  assert.is((await world.ask(path, { since, until })).body.deliveries, 1)
  assert.is((await world.ask(path, { since, undelivered_only: true })).body.deliveries, 0)
  assert.is((await world.ask(path, { since: until, until: since })).body.error.param, 'until')
  assert.is((await world.ask(path, {})).body.error.param, 'since')
})

test('a replay of many events is queued in pieces, since calls wait for each, and answers with the count of all', async () => {
  const { id } = await world.endpoint()
  for (let n = 0; n < 450; n++) await world.emit()
  await world.store.db.updateTable('webhook_deliveries').set({ status: 'succeeded', next_attempt_at: null }).execute()
  let isDone = false
  const asked = world.ask(`POST /v1/webhook_endpoints/${id}/replay`, { since: START.toISOString() }).finally(() => {
    isDone = true
  })
  const seen = new Set<number>()
  while (!isDone) {
    await new Promise(resolve => setImmediate(resolve))
    const pending = world.store.db.selectFrom('webhook_deliveries').select('id').where('status', '=', 'pending')
    seen.add((await pending.where('endpoint_id', '=', id).execute()).length)
  }
  const { deliveries } = (await asked).body
  assert.ok(deliveries >= 450, `${deliveries}`)
  assert.ok(seen.has(200) && seen.has(400), `${[...seen]}`)
})

test('a replay brings what an endpoint missed while it was disabled, of the types it subscribes to', async () => {
  const { id } = await world.endpoint({ event_types: ['call.ended'] })
  await world.ask(`PATCH /v1/webhook_endpoints/${id}`, { status: 'disabled' })
  const missed = await world.emit()
  const replay = { since: START.toISOString(), undelivered_only: true }
  const refused = await world.ask(`POST /v1/webhook_endpoints/${id}/replay`, replay)
  assert.equal([refused.status, refused.body.error.details.reason], [409, 'endpoint_disabled'])
  await world.ask(`PATCH /v1/webhook_endpoints/${id}`, { status: 'enabled' })
  assert.is((await world.ask(`POST /v1/webhook_endpoints/${id}/replay`, replay)).body.deliveries, 1)
  await world.dispatcher.deliverDue()
  assert.is(world.receiver.received[0]?.headers['webhook-id'], missed)
  const other = { ...replay, event_types: ['call.created'] }
  assert.is((await world.ask(`POST /v1/webhook_endpoints/${id}/replay`, other)).body.deliveries, 0)
})

test("a replay brings no other endpoint's ping, also to an endpoint that subscribes to pings by name", async () => {
  const other = await world.endpoint()
  await world.ask(`POST /v1/webhook_endpoints/${other.id}/ping`)
  for (const event_types of [['*'], ['ping', 'call.ended']]) {
    const { id } = await world.endpoint({ event_types })
    const replayed = await world.ask(`POST /v1/webhook_endpoints/${id}/replay`, { since: START.toISOString() })
    assert.is(replayed.body.deliveries, 0)
  }
})

test('a delivery is retried by hand at once, and by the schedule from its start when that fails', async () => {
  await world.endpoint()
  await world.emit()
  world.receiver.say(500)
  await world.dispatcher.deliverDue()
  const [{ id }] = (await world.ask('GET /v1/webhook_deliveries?status=pending')).body.data
  const retried = (await world.ask(`POST /v1/webhook_deliveries/${id}/retry`)).body
  assert.equal([retried.status, retried.attempts], ['pending', 1])
  assert.is(await world.dispatcher.deliverDue(), 1)
  const again = (await world.ask(`GET /v1/webhook_deliveries/${id}`)).body
  assert.equal([again.attempts, again.error], [2, 'bad_status'])
  assert.is(again.next_attempt_at, new Date(START.getTime() + 5 * SECOND).toISOString())
  world.receiver.say(200)
  await world.ask(`POST /v1/webhook_deliveries/${id}/retry`)
  await world.dispatcher.deliverDue()
  assert.is((await world.ask(`POST /v1/webhook_deliveries/${id}/retry`)).body.status, 'pending')
  assert.is((await world.ask('POST /v1/webhook_deliveries/whd_1/retry')).status, 404)
})

test('deliveries are listed newest first, by endpoint, event and status', async () => {
  const one = await world.endpoint()
  const two = await world.endpoint({ event_types: ['ping'] })
  const event = await world.emit()
  await world.ask(`POST /v1/webhook_endpoints/${two.id}/ping`)
  const types = async (query: string) =>
    (await world.ask(`GET /v1/webhook_deliveries?${query}`)).body.data.map(
      (each: { event_type: string }) => each.event_type,
    )
  assert.equal(await types(''), ['ping', 'call.ended'])
  assert.equal(await types(`endpoint_id=${one.id}`), ['call.ended'])
  assert.equal(await types(`event_id=${event}`), ['call.ended'])
  assert.equal(await types('status=succeeded'), [])
})

test('POST /test_helpers/events stores a sample of any type and delivers it to subscribed test-mode endpoints', async () => {
  const { test: testKey } = world.ours.keys
  await world.endpoint()
  await world.endpoint({ url: `${world.receiver.url}/test` }, testKey)
  await world.endpoint({ url: `${world.receiver.url}/ping`, event_types: ['ping'] }, testKey)
  for (const type of eventTypes()) {
    const { status, body } = await world.ask('POST /v1/test_helpers/events', { type }, testKey)
    assert.equal([status, body], [201, { object: 'test_event', id: body.id, type, livemode: false }])
    const stored = await world.ask(`GET /v1/events/${body.id}`, undefined, testKey)
    assert.equal([stored.status, stored.body.type], [200, type])
    assert.is(stored.body.data.object.livemode, false, `the object of ${type} is of test mode, too`)
  }
  await world.dispatcher.deliverDue()
  const paths = world.receiver.received.map(({ path }) => path)
  assert.is(paths.filter(path => path === '/test').length, eventTypes().length)
  assert.is(paths.filter(path => path === '/ping').length, 1)
  assert.is(paths.length, eventTypes().length + 1)
})

test('POST /test_helpers/events needs a test key and a type from the catalogue', async () => {
  const live = await world.ask('POST /v1/test_helpers/events', { type: 'call.ended' })
  assert.equal([live.status, live.body.error.code], [403, 'test_key_required'])
  const { test: testKey } = world.ours.keys
  const unknown = await world.ask('POST /v1/test_helpers/events', { type: 'call.eaten' }, testKey)
  assert.equal([unknown.status, unknown.body.error.param], [400, 'type'])
  assert.is((await world.ask('POST /v1/test_helpers/events', {}, testKey)).body.error.code, 'parameter_missing')
})

test('the payload says the version of the endpoint that it is sent to', async () => {
  await world.endpoint({ api_version: '2026-11-01' })
  assert.is(JSON.parse((await deliverOne()).body).api_version, '2026-11-01')
})

test('there are at most a hundred endpoints in each mode', async () => {
  for (let i = 0; i < 100; i++) await world.endpoint()
  const refused = await world.endpoint()
  assert.equal([refused.error.code, refused.error.details.reason], ['resource_conflict', 'endpoint_limit'])
  assert.match((await world.endpoint({}, world.ours.keys.test)).id, /^we_/)
})

test.run()
