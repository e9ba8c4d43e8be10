import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/callbacks/do-not-call')
const PHONE = '+14155550142'

test('a number is listed once, found by its number, and can be called again when it is deleted', async () => {
  const app = await makeWholeApp()
  const first = await app.live('POST /v1/do_not_call', { phone: PHONE, reason: 'asked us on the phone' })
  assert.is(first.status, 200)
  assert.equal(first.body, {
    object: 'do_not_call_number',
    id: first.body.id,
    livemode: true,
    phone: PHONE,
    reason: 'asked us on the phone',
    created: '2026-11-21T10:00:00.000Z',
  })
  assert.match(first.body.id, /^dnc_/)
  assert.equal((await app.live('POST /v1/do_not_call', { phone: PHONE, reason: 'again' })).body, first.body)
  const found = await app.live(`GET /v1/do_not_call?phone=${encodeURIComponent(PHONE)}`)
  assert.equal(found.body.data, [first.body])
  assert.equal((await app.live('GET /v1/do_not_call?phone=%2B14155550143')).body.data, [])
  assert.equal((await app.test('GET /v1/do_not_call')).body.data, [], 'test mode has a list of its own')
  assert.is((await app.live('POST /v1/callbacks', { phone: PHONE })).status, 403)
  assert.is((await app.live(`DELETE /v1/do_not_call/${first.body.id}`)).body.deleted, true)
  assert.is((await app.live('POST /v1/callbacks', { phone: PHONE })).status, 200)
  await app.close()
})

test('what is no number is refused', async () => {
  const app = await makeWholeApp()
  const answer = await app.live('POST /v1/do_not_call', { phone: 'nobody' })
  assert.equal([answer.status, answer.body.error.code, answer.body.error.param], [400, 'parameter_invalid', 'phone'])
  await app.close()
})

test('compliance block: a callback and a call to a listed number answer 403, as a number and as a SIP URI, in both modes', async () => {
  const app = await makeWholeApp()
  await app.live('POST /v1/do_not_call', { phone: PHONE })
  await app.test('POST /v1/do_not_call', { phone: '+15005550006' })
  for (const [answer, param] of [
    [await app.live('POST /v1/callbacks', { phone: PHONE }), 'phone'],
    [await app.live('POST /v1/calls', { to: PHONE }), 'to'],
    [await app.live('POST /v1/calls', { to: `sip:${PHONE}@192.0.2.1` }), 'to'],
    [await app.live('POST /v1/calls', { to: 'sip:%2b1%34155550142@192.0.2.1' }), 'to'],
    [await app.live('POST /v1/calls', { to: 'sip:+1-415-555-0142:pw@192.0.2.1' }), 'to'],
    [await app.test('POST /v1/calls', { to: '+15005550006' }), 'to'],
  ] as const) {
    const { type, code, param: named } = answer.body.error
    assert.equal([answer.status, type, code, named], [403, 'permission_error', 'do_not_call', param])
  }
  assert.equal((await app.live('GET /v1/calls')).body.data, [])
  await app.close()
})

test('pending, offered: the number joins the do-not-call list: cancelled; one on a call goes on', async () => {
  for (const [before, after] of [
    ['pending', 'cancelled'],
    ['offered', 'cancelled'],
    ['dialing', 'dialing'],
    ['connected', 'connected'],
  ] as const) {
    const app = await makeWholeApp()
    const { id } = (await app.live('POST /v1/callbacks', { phone: PHONE })).body
    await app.store.db.updateTable('callbacks').set({ status: before }).execute()
    await app.live('POST /v1/do_not_call', { phone: PHONE })
    assert.is((await app.live(`GET /v1/callbacks/${id}`)).body.status, after)
    const told = (await app.events('callback.cancelled')).length
    assert.is(told, after === 'cancelled' ? 1 : 0)
    await app.close()
  }
})

test.run()
