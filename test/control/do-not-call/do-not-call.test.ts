import * as assert from 'uvu/assert'
import { sweepListed } from '../../../control/do-not-call/list.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/do-not-call')
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
    source: 'api',
    call_id: null,
    import_id: null,
    expires_at: null,
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

test('a pattern keeps all numbers that begin so from being called, cancels their callbacks, and no others', async () => {
  const app = await makeWholeApp()
  const { id } = (await app.live('POST /v1/callbacks', { phone: PHONE })).body
  const other = (await app.live('POST /v1/callbacks', { phone: '+14165550142' })).body.id
  const pattern = (await app.live('POST /v1/do_not_call', { phone: ' +1415* ' })).body
  assert.is(pattern.phone, '+1415*')
  assert.is((await app.live(`GET /v1/callbacks/${id}`)).body.status, 'cancelled')
  assert.is((await app.live(`GET /v1/callbacks/${other}`)).body.status, 'pending')
  assert.is((await app.live('POST /v1/calls', { to: PHONE })).body.error.code, 'do_not_call')
  assert.is((await app.live('POST /v1/callbacks', { phone: PHONE })).status, 403)
  const checked = await app.live('POST /v1/do_not_call/check', { phones: [PHONE, '+14165550142', '+14155550143'] })
  assert.equal(
    checked.body.results.map((result: { listed: boolean; number: { id: string } | null }) => [
      result.listed,
      result.number?.id ?? null,
    ]),
    [
      [true, pattern.id],
      [false, null],
      [true, pattern.id],
    ],
  )
  for (const phone of ['*', '+*', '+1415*5', '0415*']) {
    assert.is((await app.live('POST /v1/do_not_call', { phone })).body.error?.param, 'phone', phone)
  }
  const bad = await app.live('POST /v1/do_not_call/check', { phones: [PHONE, 'nobody'] })
  assert.is(bad.body.error.param, 'phones[1]')
  await app.close()
})

test('a number is taken off the list when its time is over; of two ends the later one counts', async () => {
  const app = await makeWholeApp()
  const at = (hour: number) => `2026-11-21T${hour}:00:00.000Z`
  assert.is(
    (await app.live('POST /v1/do_not_call', { phone: PHONE, expires_at: at(10) })).body.error.param,
    'expires_at',
  )
  const { id } = (await app.live('POST /v1/do_not_call', { phone: PHONE, expires_at: at(12) })).body
  assert.is((await app.live('POST /v1/do_not_call', { phone: PHONE, expires_at: at(14) })).body.expires_at, at(14))
  assert.is((await app.live('POST /v1/do_not_call', { phone: PHONE, expires_at: at(13) })).body.expires_at, at(14))
  assert.is(await sweepListed(app.store, new Date(at(13))), 0)
  assert.is(await sweepListed(app.store, new Date(at(14))), 1)
  assert.is((await app.live(`GET /v1/do_not_call/${id}`)).status, 404)
  assert.is((await app.events('do_not_call_number.created')).length, 1)
  assert.equal(
    (await app.events('do_not_call_number.deleted')).map(({ object }) => object.id),
    [id],
  )
  const lasting = (await app.live('POST /v1/do_not_call', { phone: PHONE, expires_at: at(15) })).body
  assert.is((await app.live('POST /v1/do_not_call', { phone: PHONE })).body.expires_at, null, 'for good')
  await app.live(`DELETE /v1/do_not_call/${lasting.id}`)
  assert.is((await app.events('do_not_call_number.deleted')).length, 2)
  await app.close()
})

test('the whole list is downloaded as CSV, oldest first, of its own mode only', async () => {
  const app = await makeWholeApp()
  await app.live('POST /v1/do_not_call', { phone: PHONE, reason: 'said "never", and =1+1' })
  await app.live('POST /v1/do_not_call', { phone: '+97250*' })
  await app.test('POST /v1/do_not_call', { phone: '+14155550199' })
  const { text } = await app.live('GET /v1/do_not_call/export')
  const created = '2026-11-21T10:00:00.000Z'
  assert.equal(text.replace('\ufeff', '').split('\r\n'), [
    'phone,reason,source,call_id,import_id,expires_at,created',
    `${PHONE},"said ""never"", and =1+1",api,,,,${created}`,
    `'+97250*,,api,,,,${created}`,
    '',
  ])
  await app.close()
})

test.run()
