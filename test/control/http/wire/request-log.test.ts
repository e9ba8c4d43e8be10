import * as assert from 'uvu/assert'
import { forgetRequests, loggedPath, RequestLog } from '../../../../control/http/wire/request-log.ts'
import { suite } from '../../../harness.ts'
import { makeClock, makeWorld, silent } from '../../app-harness.ts'
import { makeProduct } from '../../conformance/product.ts'

const test = suite('control/http/wire/request-log')

const DAY_MS = 24 * 60 * 60 * 1000
const ID = 'room_01k90000000000000000000003'

const entry = (at: Date, n: number) => ({
  id: `req_${String(n).padStart(26, '0')}`,
  organisation_id: 'org_1',
  livemode: 1,
  method: 'GET',
  path: '/v1/teams',
  operation: 'listTeams',
  status: 200,
  error_code: null,
  api_key_id: 'key_1',
  api_version: '2026-11-01',
  duration_ms: 1,
  created: at.toISOString(),
})

test('GET /request_logs tells what was asked and answered: refused requests too, neither parameters nor answers', async () => {
  const world = await makeProduct()
  const { live, test: testKey } = world.ours.keys
  const made = await world.ask('POST /v1/conference_rooms', { key: live, body: { name: 'Board', pin: '735184' } })
  const refused = await world.ask('POST /v1/teams?no=1', { key: live, body: { name: 'Secret' } })
  await world.ask('GET /v1/teams', { key: testKey })
  await world.ask('GET /v1/teams', { key: 'sk_live_nobody' })
  const { body, text } = await world.ask('GET /v1/request_logs', { key: live })
  assert.equal(
    body.data.map((log: Record<string, unknown>) => [log.id, log.method, log.path, log.status, log.error_code]),
    [
      [refused.headers['request-id'], 'POST', '/v1/teams', 400, 'parameter_unknown'],
      [made.headers['request-id'], 'POST', '/v1/conference_rooms', 200, null],
    ],
  )
  for (const secret of ['735184', 'Board', 'Secret', 'no=1', live]) assert.not.match(text, secret)
  const one = await world.ask(`GET /v1/request_logs/${refused.headers['request-id']}`, { key: live })
  assert.is(one.body.operation, 'createTeam')
  const failed = await world.ask('GET /v1/request_logs?status=400&method=POST&operation=createTeam', { key: live })
  assert.is(failed.body.data.length, 1)
  await world.close()
})

test('a path is logged with its IDs; whatever else stands in the place of one is left out', () => {
  assert.is(loggedPath('/v1/conference_rooms/:id/links')({ id: ID }), `/v1/conference_rooms/${ID}/links`)
  assert.is(loggedPath('/v1/invitations/:token/accept')({ token: 'a-secret' }), '/v1/invitations/{token}/accept')
})

test('the log is bounded: seven days, the latest entries, and what waits to be written', async () => {
  const world = await makeWorld()
  const clock = makeClock()
  const log = new RequestLog({ store: world.store, log: silent, maxWaiting: 305 })
  for (let n = 0; n < 307; n++) log.add(entry(clock.now(), n))
  await log.flush()
  assert.equal(log.counters, { written: 305, leftOut: 2 })
  const ids = async () => (await world.store.db.selectFrom('request_logs').select('id').orderBy('id').execute()).length
  await forgetRequests(world.store, clock.now(), 3)
  assert.is(await ids(), 3)
  clock.advance(7 * DAY_MS)
  log.add(entry(clock.now(), 400))
  await log.flush()
  assert.is(await ids(), 4)
  await forgetRequests(world.store, clock.now())
  assert.is(await ids(), 1)
  await world.store.close()
})

test('what cannot be written is counted, and holds nothing up', async () => {
  const world = await makeWorld()
  const log = new RequestLog({ store: world.store, log: silent })
  const twice = entry(world.clock.now(), 1)
  log.add(twice)
  await log.flush()
  log.add(twice)
  await log.flush()
  assert.equal(log.counters, { written: 1, leftOut: 1 })
  await world.store.close()
})

test.run()
