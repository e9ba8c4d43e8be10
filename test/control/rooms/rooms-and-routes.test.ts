import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeCallsWorld } from '../calls-world.ts'
import { refusal } from '../whole-app.ts'

const test = suite('control/rooms/rooms-and-routes')

test('POST /conference_rooms answers the room with its link, which no later answer shows, and never a PIN', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const made = await control.ask('POST /v1/conference_rooms', {
    name: 'Board',
    pin: '4711',
    moderator_pin: '081500',
    settings: { record: true },
  })
  assert.is(made.status, 200)
  assert.match(made.body.join_url, /^http:\/\/tandem\.test\/join\/guest_/)
  assert.equal([made.body.has_pin, made.body.pin_length, made.body.has_moderator_pin], [true, 4, true])
  assert.equal([made.body.settings.record, made.body.settings.announce], [true, true])
  assert.not.match(made.text, /4711|081500/)
  const read = await control.ask(`GET /v1/conference_rooms/${made.body.id}`)
  assert.is(read.body.join_url, undefined)
  await control.ask(`PATCH /v1/conference_rooms/${made.body.id}`, { active: false })
  const listed = (await control.ask('GET /v1/conference_rooms')).body.data.map((room: { id: string }) => room.id)
  assert.equal(listed.length, 2, 'the list has active rooms only')
  assert.not.ok(listed.includes(made.body.id))
  await world.close()
})

test('a PIN has 4 to 8 digits, and the moderator PIN differs from the participant PIN', async () => {
  const world = await makeCallsWorld()
  const { control, pinRoom } = world
  const param = async (line: string, body: object) => {
    const answer = await control.ask(line, body)
    return [answer.status, answer.body.error?.param]
  }
  const create = 'POST /v1/conference_rooms'
  assert.equal(await param(create, { name: 'a', pin: '123' }), [400, 'pin'])
  assert.equal(await param(create, { name: 'a', pin: '123456789' }), [400, 'pin'])
  assert.equal(await param(create, { name: 'a', pin: 'abcd' }), [400, 'pin'])
  assert.equal(await param(create, { name: 'a', pin: '1234', moderator_pin: '1234' }), [400, 'moderator_pin'])
  const change = `PATCH /v1/conference_rooms/${pinRoom}`
  assert.equal(await param(change, { moderator_pin: '1234' }), [400, 'moderator_pin'])
  assert.equal(await param(change, { pin: '98765' }), [400, 'pin'])
  assert.equal(await param(create, { name: 'a', schedule: { timezone: 'Mars/Base' } }), [400, 'schedule.timezone'])
  await world.close()
})

test('a participant is muted, deafened and removed; one that has left answers 409', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  await media.dialInUntil('leg.move', 'part_1', '1001')
  const path = `/v1/conference_rooms/${openRoom}/participants`
  const muted = await control.ask(`PATCH ${path}/part_1`, { muted: true, deaf: true })
  assert.equal([muted.status, muted.body.muted, muted.body.deaf], [200, true, true])
  const held = await control.ask(`PATCH ${path}/part_1`, { held: true, role: 'moderator' })
  assert.equal([held.body.held, held.body.role, held.body.muted], [true, 'moderator', true])
  assert.is((await control.ask(`PATCH ${path}/part_1`, { held: false })).body.held, false)
  assert.is((await control.ask(`GET ${path}`)).body.data[0].muted, true)
  const removed = await control.ask(`DELETE ${path}/part_1`)
  assert.equal(removed.body, { object: 'participant', id: 'part_1', deleted: true, livemode: true })
  assert.equal((await control.ask(`GET ${path}`)).body.data, [])
  assert.is((await control.ask(`DELETE ${path}/part_1`)).status, 409)
  assert.equal(refusal(await control.ask(`DELETE ${path}/part_9`)), [404, 'participant_id', undefined])
  assert.equal(refusal(await control.ask('DELETE /v1/conference_rooms/room_9/participants/part_9')), [
    404,
    'id',
    undefined,
  ])
  await world.close()
})

test('a room in use is not deleted: 409 while a route leads to it, listed in details.used_by', async () => {
  const world = await makeCallsWorld()
  const { control, openRoom } = world
  const refused = await control.ask(`DELETE /v1/conference_rooms/${openRoom}`)
  assert.equal([refused.status, refused.body.error.details.reason], [409, 'in_use'])
  const [user] = refused.body.error.details.used_by
  assert.is((await control.ask(`DELETE /v1/inbound_routes/${user.id}`)).status, 200)
  assert.is((await control.ask(`DELETE /v1/conference_rooms/${openRoom}`)).body.deleted, true)
  await world.close()
})

test('an inbound route leads calls to its target from the next call on', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const create = (body: object) => control.ask('POST /v1/inbound_routes', body)
  const wrong = await create({ match: { to: '2000' }, target: { type: 'room', id: 'room_none' } })
  assert.equal([wrong.status, wrong.body.error.param], [400, 'target.id'])
  assert.is((await create({ match: { to: '2000' }, target: { type: 'echo', id: openRoom } })).status, 400)
  const made = await create({ match: { to: '2000' }, target: { type: 'room', id: openRoom } })
  assert.is(made.status, 201)
  media.dialIn('part_1', '2000')
  await media.command('leg.move', 'part_1')
  const changed = await control.ask(`PATCH /v1/inbound_routes/${made.body.id}`, { target: { type: 'echo' } })
  assert.equal(changed.body.target, { type: 'echo', id: null })
  assert.equal(changed.body.match.to, '2000', 'nested objects merge')
  await world.close()
})

test('outside of the hours of a route the next one leads the call', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const weekly = [{ day: 'saturday', open: '09:00', close: '12:00' }]
  const create = (body: object) => control.ask('POST /v1/inbound_routes', { match: { to: '2000' }, ...body })
  const open = { target: { type: 'room', id: openRoom }, priority: 5 }
  for (const [hours, param] of [
    [{ weekly }, 'hours.timezone'],
    [{ weekly, timezone: 'Mars/Base' }, 'hours.timezone'],
    [{ timezone: 'UTC' }, 'hours.weekly'],
    [{ timezone: 'UTC', weekly: [{ day: 'sunday', open: '10:00', close: '10:00' }] }, 'hours.weekly[0].close'],
  ] as const) {
    const refused = await create({ ...open, hours })
    assert.equal([refused.status, refused.body.error.param], [400, param])
  }
  const { body } = await create({ ...open, hours: { weekly, timezone: 'UTC' } })
  assert.equal(body.hours, { timezone: 'UTC', weekly, holidays: [] })
  await create({ target: { type: 'echo' } })
  media.dialIn('part_1', '2000')
  await media.command('leg.move', 'part_1')
  const moved = await control.ask(`PATCH /v1/inbound_routes/${body.id}`, { hours: { timezone: 'Asia/Tokyo' } })
  assert.equal(moved.body.hours, { timezone: 'Asia/Tokyo', weekly, holidays: [] }, 'nested objects merge')
  media.dialIn('part_2', '2000')
  const { room } = await media.command('leg.answer', 'part_2')
  assert.is(room.kind, 'echo')
  const always = await control.ask(`PATCH /v1/inbound_routes/${body.id}`, { hours: null })
  assert.is(always.body.hours, null)
  await world.close()
})

test('a phone number is added once', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const made = await control.ask('POST /v1/phone_numbers', { number: '+15550000001', payment_line: true })
  assert.equal([made.status, made.body.payment_line], [201, true])
  assert.is((await control.ask('POST /v1/phone_numbers', { number: '+15550000001' })).status, 409)
  assert.is((await control.ask('POST /v1/phone_numbers', { number: '0555' })).status, 400)
  const changed = await control.ask(`PATCH /v1/phone_numbers/${made.body.id}`, { payment_line: false })
  assert.is(changed.body.payment_line, false)
  await world.close()
})

test('a connection names networks, and is not deleted while a number uses it', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const bad = await control.ask('POST /v1/connections', { name: 'a', kind: 'peer', allowed_ips: ['10.0.0.0/8', 'x'] })
  assert.equal([bad.status, bad.body.error.param], [400, 'allowed_ips[1]'])
  const lost = await control.ask('POST /v1/connections', { name: 'a', kind: 'trunk' })
  assert.equal([lost.status, lost.body.error.param], [400, 'host'])
  const { body } = await control.ask('POST /v1/connections', { name: 'a', kind: 'trunk', host: 'sip.test' })
  await control.ask('POST /v1/phone_numbers', { number: '+15550000001', connection_id: body.id })
  assert.is((await control.ask(`DELETE /v1/connections/${body.id}`)).status, 409)
  const off = await control.ask(`PATCH /v1/connections/${body.id}`, { enabled: false, max_calls: 3 })
  assert.equal([off.body.status, off.body.max_calls, off.body.host], ['disabled', 3, 'sip.test'])
  await world.close()
})

test.run()
