import * as assert from 'uvu/assert'
import { describeNumbers } from '../../../control/wiring/demo.ts'
import { firstStart, unknownKeys } from '../../../control/wiring/first-start.ts'
import { suite } from '../../harness.ts'
import { START } from '../app-harness.ts'
import { openTestStore } from '../database.ts'

const test = suite('control/wiring/first-start')

const NOTHING = { live: null, test: null }

test('the first start makes the demo organisation once, and tells its keys once', async () => {
  const store = await openTestStore()
  const first = await firstStart(store, NOTHING, START)
  assert.match(first.keys!.live!, /^sk_live_/)
  assert.match(first.keys!.test!, /^sk_test_/)
  const second = await firstStart(store, NOTHING, START)
  assert.is(second.keys, null)
  assert.is(second.organisationId, first.organisationId)
  assert.is((await store.db.selectFrom('organisations').selectAll().execute()).length, 1)
  await store.close()
})

test('the database holds neither keys nor PINs, only hashes of them', async () => {
  const store = await openTestStore()
  const { keys } = await firstStart(store, NOTHING, START)
  const rows = []
  for (const table of ['organisations', 'api_keys', 'settings', 'conference_rooms', 'inbound_routes'] as const) {
    rows.push(...(await store.db.selectFrom(table).selectAll().execute()))
  }
  const text = JSON.stringify(rows)
  for (const secret of [keys!.live!, keys!.test!, '"1234"', '"9876"']) assert.not.match(text, secret)
  assert.match(text, 'scrypt$')
  await store.close()
})

test('keys that the operator has set are taken, and not told', async () => {
  const store = await openTestStore()
  const given = { live: 'sk_live_set_by_operator', test: null }
  const { keys } = await firstStart(store, given, START)
  assert.is(keys!.live, null)
  assert.match(keys!.test!, /^sk_test_/)
  assert.equal(await unknownKeys(store, { TANDEM_LIVE_KEY: given.live, TANDEM_TEST_KEY: null }), [])
  assert.equal(await unknownKeys(store, { TANDEM_LIVE_KEY: 'sk_live_another_one' }), ['TANDEM_LIVE_KEY'])
  await store.close()
})

test('the banner says what each number does, and a PIN only as long as it is true', async () => {
  const store = await openTestStore()
  const { organisationId } = await firstStart(store, NOTHING, START)
  const tenant = { organisationId, livemode: true }
  assert.equal(await describeNumbers(store, tenant), [
    { number: '1000', does: 'Demo room, PIN 1234 (moderator 9876)' },
    { number: '1001', does: 'Open room, no PIN' },
    { number: '1002', does: 'echo: you hear yourself' },
    { number: '1003', does: 'an announcement' },
    { number: 'assistant', does: 'an assistant: ask when the shop is open, or how long delivery takes' },
  ])
  await store.db.updateTable('conference_rooms').set({ moderator_pin_hash: null }).execute()
  assert.equal((await describeNumbers(store, tenant))[0], { number: '1000', does: 'Demo room, PIN' })
  await store.close()
})

test.run()
