import * as assert from 'uvu/assert'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/trunks/number-routes')

test('a test key is handed out sandbox numbers, each one once', async () => {
  const { test: inTest, live, close } = await makeWholeApp()
  const first = await inTest('POST /v1/phone_numbers')
  assert.equal([first.status, first.body.number, first.body.livemode], [201, '+15005550100', false])
  assert.is((await inTest('POST /v1/phone_numbers', {})).body.number, '+15005550101')
  assert.is((await inTest('POST /v1/phone_numbers', { number: '+15005550103' })).status, 201)
  assert.is((await inTest('POST /v1/phone_numbers', {})).body.number, '+15005550102')
  assert.is((await inTest('POST /v1/phone_numbers', {})).body.number, '+15005550104')
  assert.equal(refusal(await inTest('POST /v1/phone_numbers', { number: '+15005550103' })), [409, null, 'in_use'])
  for (const number of ['+15005550006', '+15550100100', '+150055501000']) {
    assert.equal(refusal(await inTest('POST /v1/phone_numbers', { number })), [400, 'number', undefined])
  }
  assert.equal((await live('GET /v1/phone_numbers')).body.data, [])
  assert.equal(refusal(await live('POST /v1/phone_numbers', {})), [400, 'number', undefined])
  await close()
})

test('DELETE /phone_numbers/{id} releases a sandbox number and emits phone_number.deleted', async () => {
  const { test: inTest, store, ours, close } = await makeWholeApp()
  const made = (await inTest('POST /v1/phone_numbers')).body
  const gone = await inTest(`DELETE /v1/phone_numbers/${made.id}`)
  assert.is(gone.status, 200)
  assert.equal(gone.body, { object: 'phone_number', id: made.id, deleted: true, livemode: false })
  assert.is((await inTest(`DELETE /v1/phone_numbers/${made.id}`)).status, 404)
  assert.is((await inTest('POST /v1/phone_numbers')).body.number, made.number, 'it is free again')
  const events = forTenant(store.db, { organisationId: ours.organisationId, livemode: false }).select('events')
  const types = (await events.select('type').orderBy('id').execute()).map(event => event.type)
  assert.equal(types, ['phone_number.created', 'phone_number.deleted', 'phone_number.created'])
  await close()
})

test('with a live key releasing a number is not available yet', async () => {
  const { live, close } = await makeWholeApp()
  const { id } = (await live('POST /v1/phone_numbers', { number: '+15550100100' })).body
  const refused = await live(`DELETE /v1/phone_numbers/${id}`)
  assert.equal([refused.status, refused.body.error.code], [403, 'test_key_required'])
  assert.is((await live(`GET /v1/phone_numbers/${id}`)).status, 200)
  await close()
})

test.run()
