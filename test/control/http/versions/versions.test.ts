import { readdirSync } from 'node:fs'
import * as assert from 'uvu/assert'
import '../../../../control/wiring/event-catalog.ts'
import { renderEvent } from '../../../../control/http/versions/translate.ts'
import { BELIEVED_MS } from '../../../../control/http/wire/known-keys.ts'
import { compileValidator } from '../../../../control/http/wire/validation.ts'
import { eventTypes, kindOfEvent } from '../../../../control/kernel/events/catalog.ts'
import { API_VERSIONS } from '../../../../control/kernel/versions/all.ts'
import { CURRENT_VERSION, VERSIONS } from '../../../../control/kernel/versions/current.ts'
import { WebhookDispatcher } from '../../../../control/webhooks/dispatcher.ts'
import { httpPost } from '../../../../control/webhooks/http-post.ts'
import { WebhookReceiver } from '../../../fakes/webhook-receiver.ts'
import { suite } from '../../../harness.ts'
import { silent } from '../../app-harness.ts'
import { makeWholeApp, refusal, VAULT, type WholeApp } from '../../whole-app.ts'

const test = suite('control/versions')

const OLD = '2026-05-01'
const inOld = { headers: { 'service-version': OLD } }

let world: WholeApp
test.before(async () => {
  world = await makeWholeApp()
})
test.after(() => world.close())

const book = (body: object, asked: object = {}) => world.live('POST /v1/callbacks', body, asked)

test('the current version is the one of the specification; versions are dates in order, one file and one line each', () => {
  assert.is(CURRENT_VERSION, '2026-11-01')
  assert.equal(VERSIONS, [...VERSIONS].sort())
  const folder = new URL('../../../../control/kernel/versions/', import.meta.url)
  const files = readdirSync(folder).flatMap(name => /^(\d{4}-\d\d-\d\d)\.ts$/.exec(name)?.[1] ?? [])
  assert.equal(files.sort(), VERSIONS)
})

test('a sunset is at least 12 months after the deprecation', () => {
  for (const { date, changes } of API_VERSIONS) {
    for (const { tag, sunset = '', date: since = date } of changes) {
      if (tag !== 'Deprecated') continue
      const [year, ...rest] = since.split('-')
      assert.ok(sunset >= [Number(year) + 1, ...rest].join('-'), `${since}: ${sunset}`)
    }
  }
})

test('a change of shape is tagged Changed (versioned), and nothing else is', () => {
  for (const { tag, shape, objects, operations } of API_VERSIONS.flatMap(({ changes }) => changes)) {
    assert.is(tag === 'Changed (versioned)', shape !== undefined)
    if (shape !== undefined) assert.ok(objects !== undefined && operations !== undefined)
  }
})

test('a request can choose another version, and the answer echoes the version that rendered it', async () => {
  const made = await book({ phone_number: '+15550100103', priority: 'high', metadata: { phone: 'mine' } }, inOld)
  assert.is(made.status, 200, made.text)
  assert.is(made.headers['service-version'], OLD)
  assert.equal([made.body.phone_number, made.body.priority, made.body.phone], ['+15550100103', 'high', undefined])
  assert.equal(made.body.metadata, { phone: 'mine' })
  const line = `GET /v1/callbacks/${made.body.id}`
  const current = await world.live(line)
  assert.is(current.headers['service-version'], CURRENT_VERSION)
  assert.equal([current.body.phone, current.body.priority, current.body.phone_number], ['+15550100103', 8, undefined])
  const { phone, priority, ...same } = current.body
  const { phone_number, priority: word, ...sameInOld } = (await world.live(line, undefined, inOld)).body
  assert.equal(sameInOld, same)
  const [listed] = (await world.live('GET /v1/callbacks', undefined, inOld)).body.data
  assert.equal(listed, made.body)
  const changed = await world.live(`PATCH /v1/callbacks/${made.body.id}`, { priority: 'low' }, inOld)
  assert.is(changed.body.priority, 'low')
  assert.is((await world.live(line)).body.priority, 2)
})

test('a request in an older version is checked in the words of that version', async () => {
  const refused = async (body: object) => refusal(await book(body, inOld))
  assert.equal(await refused({}), [400, 'phone_number', undefined])
  assert.equal(await refused({ phone_number: 7 }), [400, 'phone_number', undefined])
  assert.equal(await refused({ phone: '+15550100104' }), [400, 'phone', undefined], 'a word of another version')
  assert.equal(await refused({ phone_number: '+15550100104', phone: '1' }), [400, 'phone', undefined])
  assert.equal(await refused({ phone_number: '+15550100104', priority: 8 }), [400, 'priority', undefined])
  // What the handler alone can find out.
  assert.equal(await refused({ phone_number: 'nobody' }), [400, 'phone_number', undefined])
  assert.match((await book({ phone_number: 'nobody' }, inOld)).body.error.message, /^phone_number is not a number/)
  assert.equal(refusal(await book({ phone: 'nobody' })), [400, 'phone', undefined])
  const message = (await book({}, inOld)).body.error
  assert.equal(
    [message.code, message.message],
    ['parameter_missing', 'The body is empty. Missing required parameter: phone_number.'],
  )
})

test('requests made with a key get the behaviour of the version that the key is pinned to', async () => {
  const made = (await world.live('POST /v1/api_keys', { name: 'Old' })).body
  assert.is(made.api_version, CURRENT_VERSION)
  await world.store.db.updateTable('api_keys').set({ api_version: OLD }).where('id', '=', made.id).execute()
  const pinned = { key: made.secret }
  const { body, headers } = await book({ phone_number: '+15550100105' }, pinned)
  assert.equal([body.phone_number, body.priority, headers['service-version']], ['+15550100105', 'normal', OLD])
  const other = { ...pinned, headers: { 'service-version': CURRENT_VERSION } }
  assert.is((await world.live(`GET /v1/callbacks/${body.id}`, undefined, other)).body.phone, '+15550100105')
})

test('a refusal echoes the version too, and that it is deprecated: no scope, the wrong mode, too many requests', async () => {
  const narrow = (await world.live('POST /v1/api_keys', { scopes: ['calls:read'] })).body.secret
  for (const [line, key] of [
    ['GET /v1/callbacks', narrow],
    ['POST /v1/test_helpers/events', undefined],
  ] as const) {
    const { status, headers } = await world.live(line, undefined, { ...inOld, ...(key && { key }) })
    assert.equal([status, headers['service-version'], headers.sunset], [403, OLD, 'Wed, 01 Dec 2027 00:00:00 GMT'])
  }
  const unknown = await world.live('POST /v1/test_helpers/events', {}, { headers: { 'service-version': '2020-01-01' } })
  assert.equal([unknown.status, unknown.headers['service-version']], [403, CURRENT_VERSION])
})

test('a key whose version is gone answers 400 unknown_version until the request chooses one that is there', async () => {
  await world.store.db.updateTable('api_keys').set({ api_version: '2020-01-01' }).execute()
  world.clock.advance(BELIEVED_MS + 1)
  const gone = await world.live('GET /v1/callbacks')
  assert.equal([gone.status, gone.body.error.code], [400, 'unknown_version'])
  assert.is((await world.live('GET /v1/callbacks', undefined, inOld)).status, 200)
  await world.store.db.updateTable('api_keys').set({ api_version: CURRENT_VERSION }).execute()
  world.clock.advance(BELIEVED_MS + 1)
})

test('an idempotent retry in another version is not answered in the shape of the first', async () => {
  const headers = { 'idempotency-key': 'k', 'service-version': OLD }
  const first = await book({ phone_number: '+15550100107' }, { headers })
  const again = await book({ phone_number: '+15550100107' }, { headers })
  assert.equal([again.headers['idempotent-replayed'], again.text], ['true', first.text])
  const other = await book({ phone: '+15550100107' }, { headers: { 'idempotency-key': 'k' } })
  assert.equal([other.status, other.body.error.code], [409, 'idempotency_key_reused'])
})

test('responses of a deprecated version carry Deprecation (RFC 9745) and Sunset (RFC 8594)', async () => {
  for (const line of ['GET /v1/callbacks', 'GET /v1/callbacks/cb_none', 'GET /v1/teams']) {
    const { headers } = await world.live(line, undefined, inOld)
    assert.is(headers.deprecation, `@${Date.parse('2026-11-01') / 1000}`)
    assert.is(headers.sunset, 'Wed, 01 Dec 2027 00:00:00 GMT')
    assert.match(String(headers.link), /^<http:\/\/[^>]+\/changelog#2026-11-01>; rel="deprecation"/)
    const current = (await world.live(line)).headers
    assert.equal([current.deprecation, current.sunset, current.link], [undefined, undefined, undefined])
  }
})

test('an event is shown over REST in the version of who asks', async () => {
  await book({ phone: '+15550100109', priority: 9 })
  const [event] = (await world.live('GET /v1/events?type=callback.created')).body.data
  assert.equal(
    [event.api_version, event.data.object.phone, event.data.object.priority],
    [CURRENT_VERSION, '+15550100109', 9],
  )
  for (const line of [`GET /v1/events/${event.id}`, 'GET /v1/events?type=callback.created']) {
    const { body } = await world.live(line, undefined, inOld)
    const { api_version, data } = body.data?.[0] ?? body
    const shown = body.data?.[0]?.data ?? data
    assert.equal(
      [(body.data?.[0] ?? body).api_version ?? api_version, shown.object.phone_number],
      [OLD, '+15550100109'],
    )
    assert.is(shown.object.priority, 'high')
  }
})

test('webhook payloads follow the version of the endpoint they are sent to', async () => {
  const receiver = await new WebhookReceiver().listen()
  const { store, clock } = world
  const url = (path: string) => `http://93.184.216.34${path}`
  for (const [path, asked] of [
    ['/asked', { api_version: OLD }],
    ['/current', {}],
  ] as const) {
    const made = await world.live('POST /v1/webhook_endpoints', { url: url(path), ...asked })
    assert.is(made.status, 201, made.text)
  }
  await world.live('POST /v1/webhook_endpoints', { url: url('/of-the-request') }, inOld)
  // The address is public for the API; the receiver is on loopback.
  for (const { id, url: at } of (await world.live('GET /v1/webhook_endpoints')).body.data) {
    const local = at.replace('http://93.184.216.34', receiver.url)
    await store.db.updateTable('webhook_endpoints').set({ url: local }).where('id', '=', id).execute()
  }
  const { id } = (await book({ phone: '+15550100110', priority: 10 })).body
  await world.live(`POST /v1/callbacks/${id}/complete`, {})
  const dispatcher = new WebhookDispatcher({
    store,
    vault: VAULT,
    post: httpPost,
    allowedNetworks: ['127.0.0.0/8'],
    now: clock.now,
    random: () => 0.5,
    log: silent,
  })
  await dispatcher.deliverDue()
  const payloads = receiver.received
    .map(({ path, body }) => ({ path, ...JSON.parse(body) }))
    .sort((a, b) => (a.path + a.type < b.path + b.type ? -1 : 1))
  assert.equal(
    payloads.map(({ path, type, api_version, data: { object } }) => [
      path,
      type,
      api_version,
      object.phone ?? null,
      object.phone_number ?? null,
      object.priority,
    ]),
    [
      ['/asked', 'callback.completed', OLD, null, '+15550100110', 'urgent'],
      ['/asked', 'callback.created', OLD, null, '+15550100110', 'urgent'],
      ['/current', 'callback.completed', CURRENT_VERSION, '+15550100110', null, 10],
      ['/current', 'callback.created', CURRENT_VERSION, '+15550100110', null, 10],
      ['/of-the-request', 'callback.completed', OLD, null, '+15550100110', 'urgent'],
      ['/of-the-request', 'callback.created', OLD, null, '+15550100110', 'urgent'],
    ],
  )
  await dispatcher.close()
  await receiver.close()
})

test('an event that was stored in an older shape is shown in the current one', () => {
  for (const type of eventTypes()) {
    const { object: schema, sample } = kindOfEvent(type)!
    const current = { type, api_version: CURRENT_VERSION, data: { object: sample as Record<string, unknown> } }
    const stored = renderEvent(current, OLD)
    assert.is(stored.api_version, OLD)
    const again = renderEvent(stored, CURRENT_VERSION)
    assert.ok(compileValidator({ ...schema, additionalProperties: false })(again.data.object), type)
    assert.equal(Object.keys(again.data.object), Object.keys(sample))
  }
})

test('/openapi.json describes an older version on demand; a nonexistent one answers 400 unknown_version', async () => {
  const old = await world.app.inject({ url: `/openapi.json?version=${OLD}` })
  const document = old.json()
  const operation = document.paths['/v1/callbacks'].post
  const body = operation.requestBody.content['application/json'].schema
  assert.equal(body.required, ['phone_number'])
  assert.equal(body.properties.priority.enum, ['low', 'normal', 'high', 'urgent'])
  const { schema: listed, example } = document.paths['/v1/callbacks'].get.responses['200'].content['application/json']
  assert.is(listed.$ref, '#/components/schemas/CallbackList')
  assert.ok('phone_number' in document.components.schemas.Callback.properties)
  assert.ok('phone_number' in example.data[0])
  assert.is(document.info.version, OLD)
  const current = (await world.app.inject({ url: '/openapi.json' })).json()
  assert.ok('phone' in current.paths['/v1/callbacks'].post.requestBody.content['application/json'].schema.properties)
  const unknown = await world.app.inject({ url: '/openapi.json?version=2020-01-01' })
  assert.equal([unknown.statusCode, unknown.json().error.code], [400, 'unknown_version'])
})

test.run()
