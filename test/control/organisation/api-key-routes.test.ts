import * as assert from 'uvu/assert'
import { sha256 } from '../../../control/kernel/secrets.ts'
import { apiKeyRoutes } from '../../../control/organisation/api-key-routes.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, serve } from '../app-harness.ts'

const test = suite('control/organisation/api-key-routes')

const world = await makeWorld()
const app = await serve(world, apiKeyRoutes({ store: world.store, now: world.clock.now }))
const { live, test: testKey } = world.ours.keys
const create = (body: object, key = live) => ask(app, 'POST /v1/api_keys', { key, body })

test('the secret is shown once and stored as a hash', async () => {
  const made = await create({ name: 'CI' })
  assert.is(made.status, 201)
  assert.match(made.body.secret, /^sk_live_[A-Za-z0-9_-]{43}$/)
  assert.is(made.body.api_version, '2026-11-01')
  assert.is(made.body.scopes, null)
  const rows = await world.store.db.selectFrom('api_keys').selectAll().execute()
  assert.not.match(JSON.stringify(rows), made.body.secret)
  assert.ok(rows.some(row => row.hash === sha256(made.body.secret)))
  const listed = await ask(app, 'GET /v1/api_keys', { key: live })
  assert.is(listed.body.data[0].id, made.body.id)
  assert.not.match(listed.text, made.body.secret)
})

test('a new key works at once, and no more from its deletion on', async () => {
  const { body } = await create({})
  assert.is((await ask(app, 'GET /v1/api_keys', { key: body.secret })).status, 200)
  const gone = await ask(app, `DELETE /v1/api_keys/${body.id}`, { key: live })
  assert.equal(gone.body, { object: 'api_key', id: body.id, deleted: true, livemode: true })
  assert.is((await ask(app, 'GET /v1/api_keys', { key: body.secret })).status, 401)
  assert.is((await ask(app, `DELETE /v1/api_keys/${body.id}`, { key: live })).status, 404)
})

test('a key makes none that may do more than itself', async () => {
  const narrow = (await create({ scopes: ['keys:write', 'calls:read'] })).body.secret
  const wide = await create({ scopes: ['calls:write'] }, narrow)
  assert.is(wide.status, 403)
  assert.is(wide.body.error.code, 'scope_missing')
  assert.equal((await create({}, narrow)).body.scopes, ['keys:write', 'calls:read'])
  const upward = await create({ mode: 'live' }, testKey)
  assert.is(upward.body.error.code, 'live_key_required')
  const downward = await create({ mode: 'test' })
  assert.match(downward.body.secret, /^sk_test_/)
  assert.is(downward.body.livemode, false)
})

test('a key cannot revoke itself', async () => {
  const { body } = await create({})
  const refused = await ask(app, `DELETE /v1/api_keys/${body.id}`, { key: body.secret })
  assert.is(refused.status, 409)
  assert.is(refused.body.error.details.reason, 'in_use')
})

test('expires_at lies in the future and is answered in UTC', async () => {
  assert.is((await create({ expires_at: '2020-01-01T00:00:00Z' })).body.error.param, 'expires_at')
  assert.is((await create({ expires_at: 'tomorrow' })).body.error.param, 'expires_at')
  const made = await create({ expires_at: '2030-01-01T02:00:00+02:00' })
  assert.is(made.body.expires_at, '2030-01-01T00:00:00.000Z')
})

test('a key with an end makes none that outlives it', async () => {
  const end = '2030-01-01T00:00:00.000Z'
  const temporary = (await create({ expires_at: end })).body.secret
  assert.is((await create({}, temporary)).body.expires_at, end, 'without an end of its own, it has that one')
  assert.is((await create({ mode: 'test' }, temporary)).body.expires_at, end)
  const longer = await create({ expires_at: '2030-01-01T00:00:01Z' }, temporary)
  assert.equal([longer.status, longer.body.error.param], [400, 'expires_at'])
  const sooner = '2029-01-01T00:00:00.000Z'
  assert.is((await create({ expires_at: sooner }, temporary)).body.expires_at, sooner)
  assert.is((await create({})).body.expires_at, null)
})

test('an unknown scope is refused by its place', async () => {
  assert.is((await create({ scopes: ['calls:read', 'fly'] })).body.error.param, 'scopes[1]')
})

test('keys of another organisation or mode are not there', async () => {
  const { body } = await create({})
  for (const key of [testKey, world.theirs.keys.live]) {
    assert.is((await ask(app, `DELETE /v1/api_keys/${body.id}`, { key })).status, 404)
    assert.not.match((await ask(app, 'GET /v1/api_keys', { key })).text, body.id)
  }
})

test('the same Idempotency-Key gets the same secret again', async () => {
  const asked = { key: live, body: {}, headers: { 'idempotency-key': 'one' } }
  const first = await ask(app, 'POST /v1/api_keys', asked)
  const second = await ask(app, 'POST /v1/api_keys', asked)
  assert.is(second.body.secret, first.body.secret)
  const rows = JSON.stringify(await world.store.db.selectFrom('idempotency_keys').selectAll().execute())
  assert.not.match(rows, first.body.secret)
})

test.run()
