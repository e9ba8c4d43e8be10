import * as assert from 'uvu/assert'
import { rowBy } from '../../../control/kernel/store/compiled.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { type CallsWorld, eventTypes, makeCallsWorld } from '../calls-world.ts'

const test = suite('control/calls/pci-routes')

async function payingCall(pci: object = { enabled: true, max_seconds: 120, mask_dtmf: true }) {
  const world: CallsWorld = await makeCallsWorld()
  await world.control.ask('PATCH /v1/organisation', { pci })
  const { room } = await world.media.dialInUntil('leg.answer', 'part_1', '1002')
  const pay = (body: object) => world.control.ask(`POST /v1/calls/${room.roomId}/pci`, body)
  return { world, id: room.roomId, pay }
}

test("pausing needs the organisation's card-payment mode: 403 pci_not_enabled", async () => {
  const { world, pay } = await payingCall({ enabled: false })
  const refused = await pay({ action: 'pause' })
  assert.equal([refused.status, refused.body.error.code], [403, 'pci_not_enabled'])
  await world.close()
})

test('running, pause: paused, with resumes_at set and reason payment', async () => {
  const { world, id, pay } = await payingCall()
  const paused = await pay({ action: 'pause' })
  assert.is(paused.status, 200)
  assert.equal(paused.body, {
    object: 'call_pci',
    call_id: id,
    livemode: true,
    paused: true,
    reason: 'payment',
    paused_at: '2026-11-21T10:00:00.000Z',
    resumes_at: '2026-11-21T10:02:00.000Z',
    destination_participant_id: null,
  })
  const command = await world.media.command('capture.pause')
  assert.equal([command.maxSeconds, command.maskDtmf], [120, true])
  await world.close()
})

test("max_seconds is capped by the organisation's maximum, which is also the default", async () => {
  const { world, pay } = await payingCall()
  for (const [max_seconds, expected] of [
    [30, 30],
    [9999, 120],
    [undefined, 120],
  ]) {
    await pay({ action: 'pause', ...(max_seconds === undefined ? {} : { max_seconds }) })
    assert.is(world.media.sent('capture.pause').at(-1)?.maxSeconds, expected)
    await pay({ action: 'resume' })
  }
  await world.close()
})

test('paused, pause: unchanged, 409 already_paused; running, resume: unchanged, 409 not_paused', async () => {
  const { world, pay } = await payingCall()
  const early = await pay({ action: 'resume' })
  assert.equal(
    [early.status, early.body.error.code, early.body.error.details.reason],
    [409, 'resource_conflict', 'not_paused'],
  )
  await pay({ action: 'pause' })
  const twice = await pay({ action: 'pause' })
  assert.equal([twice.status, twice.body.error.details.reason], [409, 'already_paused'])
  const resumed = await pay({ action: 'resume' })
  assert.equal([resumed.status, resumed.body.paused, resumed.body.resumes_at], [200, false, null])
  await world.close()
})

test("a flow's payment is paused by its payment line, whose pause ends with it: resume says so, not that nothing is paused", async () => {
  const { world, id, pay } = await payingCall()
  const { organisation_id, livemode } = (await rowBy(world.store.db, 'calls', { id }))!
  const at = world.clock.now().toISOString()
  const line = { id: 'part_line', call_id: id, destination_participant_id: 'part_line', reason: 'payment' }
  const tenant = { organisationId: organisation_id, livemode: livemode === 1 }
  await forTenant(world.store.db, tenant).insert('capture_pauses', { ...line, paused_at: at, resumes_at: at })
  const refused = async (action: string) => (await pay({ action })).body.error.details.reason
  assert.is(await refused('pause'), 'already_paused')
  assert.is(await refused('resume'), 'payment_in_progress')
  await world.close()
})

test('a pause that was on when card-payment mode was switched off is ended by resume', async () => {
  const { world, pay } = await payingCall()
  await pay({ action: 'pause' })
  await world.control.ask('PATCH /v1/organisation', { pci: { enabled: false } })
  assert.is((await pay({ action: 'pause' })).body.error.code, 'pci_not_enabled')
  const resumed = await pay({ action: 'resume' })
  assert.equal([resumed.status, resumed.body.paused], [200, false])
  assert.is((await pay({ action: 'resume' })).body.error.details.reason, 'not_paused')
  await world.close()
})

test('what belongs to a pause is refused with resume, and the pause goes on', async () => {
  const { world, pay } = await payingCall()
  await pay({ action: 'pause' })
  for (const [param, value] of Object.entries({
    destination_participant_id: 'part_2',
    max_seconds: 5,
    reason: 'card',
  })) {
    const { status, body } = await pay({ action: 'resume', [param]: value })
    assert.equal([status, body.error.code, body.error.param], [400, 'parameter_invalid', param])
  }
  assert.is(world.media.sent('capture.resume').length, 0)
  assert.is((await pay({ action: 'resume' })).status, 200)
  await world.close()
})

test('max_seconds elapsed: it resumes by itself, and both changes are told', async () => {
  const { world, id, pay } = await payingCall()
  await pay({ action: 'pause', reason: 'card' })
  world.media.resume({ legId: 'part_1' }, 'deadline')
  await world.media.committed()
  assert.equal((await eventTypes(world, id)).slice(2), ['call.pci.paused', 'call.pci.resumed'])
  assert.is((await pay({ action: 'resume' })).status, 409)
  await world.close()
})

test('what a request has paused or resumed is told with the request, and what a deadline has ended with none', async () => {
  const { world, id, pay } = await payingCall()
  const asked = []
  for (const action of ['pause', 'resume', 'pause']) asked.push((await pay({ action })).headers['request-id'])
  world.media.resume({ legId: 'part_1' }, 'deadline')
  await world.media.committed()
  const { data } = (await world.control.ask(`GET /v1/calls/${id}/events`)).body
  const told = data.filter(({ type }: { type: string }) => type.startsWith('call.pci.'))
  const requests = told.map(({ request }: { request: { id: string } | null }) => request?.id)
  assert.equal(requests.reverse(), [...asked, undefined])
  await world.close()
})

test('an organisation may demand that keys of a pause reach payment numbers alone', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const { body } = await control.ask('PATCH /v1/organisation', { pci: { enabled: true, payment_numbers_only: true } })
  assert.is(body.pci.payment_numbers_only, true)
  await control.ask('POST /v1/connections', { name: 'Carrier', kind: 'trunk', host: '198.51.100.7' })
  const { id: number } = (await control.ask('POST /v1/phone_numbers', { number: '+15550000009' })).body
  const { id: line } = (await control.ask(`POST /v1/conference_rooms/${openRoom}/participants`, { to: '+15550000009' }))
    .body
  media.pickUp(line)
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  const pay = () =>
    control.ask(`POST /v1/calls/${room.roomId}/pci`, { action: 'pause', destination_participant_id: line })
  const refused = await pay()
  assert.equal([refused.status, refused.body.error.param], [400, 'destination_participant_id'])
  assert.equal(media.sent('capture.pause'), [])
  await control.ask(`PATCH /v1/phone_numbers/${number}`, { payment_line: true })
  assert.equal([(await pay()).status, media.sent('capture.pause').at(-1)?.destinationLegId], [200, line])
  await world.close()
})

test('destination_participant_id must be a participant of the call or of its session', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  await control.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  for (const legId of ['part_1', 'part_2']) media.dialIn(legId, '1001')
  await media.command('leg.move', 'part_2')
  await media.dialInUntil('leg.answer', 'part_3', '1002')
  const own = media.sent('leg.answer').find(({ legId }) => legId === 'part_1')!.room.roomId
  const pay = (destination_participant_id: string) =>
    control.ask(`POST /v1/calls/${own}/pci`, { action: 'pause', destination_participant_id })
  const refused = await pay('part_3')
  assert.equal([refused.status, refused.body.error.param], [400, 'destination_participant_id'])
  const paused = await pay('part_2')
  assert.equal([paused.status, paused.body.destination_participant_id], [200, 'part_2'])
  await world.close()
})

test('destination_participant_id must not be the party who pays: its keys would reach nobody', async () => {
  const { world, pay } = await payingCall()
  const refused = await pay({ action: 'pause', destination_participant_id: 'part_1' })
  assert.equal([refused.status, refused.body.error.param], [400, 'destination_participant_id'])
  assert.match(refused.body.error.message, /party who pays/)
  assert.equal(world.media.sent('capture.pause'), [])
  assert.is((await pay({ action: 'pause' })).status, 200)
  await world.close()
})

test("without one it is the participant on one of the organisation's payment numbers", async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  await control.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  await control.ask('POST /v1/connections', { name: 'Carrier', kind: 'trunk', host: '198.51.100.7' })
  await control.ask('POST /v1/phone_numbers', { number: '+15550000009', payment_line: true })
  const dialled = await control.ask(`POST /v1/conference_rooms/${openRoom}/participants`, { to: '+15550000009' })
  assert.is(dialled.status, 201)
  media.pickUp(dialled.body.id)
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  const paused = await control.ask(`POST /v1/calls/${room.roomId}/pci`, { action: 'pause' })
  assert.is(paused.body.destination_participant_id, dialled.body.id)
  assert.equal((await media.command('capture.pause')).target, { roomId: room.roomId })
  await world.close()
})

test('a payment number that the call was transferred to is its payment line, also where keys may reach no other', async () => {
  const { world, id, pay } = await payingCall({ enabled: true, payment_numbers_only: true })
  const { control, media } = world
  await control.ask('POST /v1/connections', { name: 'Carrier', kind: 'trunk', host: '198.51.100.7' })
  await control.ask('POST /v1/phone_numbers', { number: '+15550000009', payment_line: true })
  assert.is((await control.ask(`POST /v1/calls/${id}/transfer`, { to: '+15550000009' })).status, 200)
  const { legId: line } = await media.command('leg.dial')
  media.pickUp(line)
  await media.committed()
  assert.is((await pay({ action: 'pause' })).body.destination_participant_id, line)
  assert.is((await pay({ action: 'resume' })).status, 200)
  const named = await pay({ action: 'pause', destination_participant_id: line })
  assert.equal([named.status, named.body.destination_participant_id], [200, line], named.text)
  await world.close()
})

const linesOf = async ({ store }: CallsWorld) =>
  store.db.selectFrom('capture_pauses').select(['id', 'destination_participant_id as line']).execute()

test('a payment line that the call is transferred to during the pause gets the keys from then on', async () => {
  const { world, id, pay } = await payingCall()
  const { control, media } = world
  await control.ask('POST /v1/connections', { name: 'Carrier', kind: 'trunk', host: '198.51.100.7' })
  await control.ask('POST /v1/phone_numbers', { number: '+15550000009', payment_line: true })
  assert.is((await pay({ action: 'pause' })).body.destination_participant_id, null)
  await control.ask(`POST /v1/calls/${id}/transfer`, { to: '+15550000009' })
  const { legId: line } = await media.command('leg.dial')
  media.pickUp(line)
  assert.equal(await media.command('capture.direct'), { target: { legId: 'part_1' }, destinationLegId: line })
  await media.committed()
  assert.equal(await linesOf(world), [{ id: 'part_1', line }])
  assert.is((await eventTypes(world, id)).filter(type => type === 'call.pci.paused').length, 1)
  assert.is((await pay({ action: 'resume' })).status, 200)
  await world.close()
})

test('a payment line invited to the session during the pause gets the keys from then on; once it has gone, the next one, whether that comes later or is there already', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  await control.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  await control.ask('POST /v1/connections', { name: 'Carrier', kind: 'trunk', host: '198.51.100.7' })
  await control.ask('POST /v1/phone_numbers', { number: '+15550000009', payment_line: true })
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  assert.is((await control.ask(`POST /v1/calls/${room.roomId}/pci`, { action: 'pause' })).status, 200)
  const invite = async (): Promise<string> =>
    (await control.ask(`POST /v1/conference_rooms/${openRoom}/participants`, { to: '+15550000009' })).body.id
  const leave = async (legId: string) => {
    media.hangUp(legId)
    await media.committed()
  }
  const target = { roomId: room.roomId }
  const got = async (line: string, nth: number) => {
    assert.equal(await media.command('capture.direct', undefined, nth), { target, destinationLegId: line })
    await media.committed()
    assert.equal(await linesOf(world), [{ id: room.roomId, line }])
  }
  const first = await invite()
  media.pickUp(first)
  await got(first, 1)
  await leave(first)
  const second = await invite()
  media.pickUp(second)
  await got(second, 2)
  const third = await invite()
  media.pickUp(third)
  await media.committed()
  assert.is(media.sent('capture.direct').length, 2, 'the second one has not gone')
  await leave(second)
  await got(third, 3)
  await world.close()
})

test('who has dialled a payment number is a caller, never the payment line', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  await control.ask('PATCH /v1/organisation', { pci: { enabled: true, payment_numbers_only: true } })
  await control.ask('POST /v1/phone_numbers', { number: '+15550000009', payment_line: true })
  const target = { type: 'room', id: openRoom }
  await control.ask('POST /v1/inbound_routes', { match: { to: '+15550000009' }, target })
  await media.dialInUntil('leg.answer', 'part_1', '+15550000009')
  const { room } = media.sent('leg.answer')[0]!
  const pay = (fields: object = {}) => control.ask(`POST /v1/calls/${room.roomId}/pci`, { action: 'pause', ...fields })
  const named = await pay({ destination_participant_id: 'part_1' })
  assert.equal([named.status, named.body.error?.param], [400, 'destination_participant_id'])
  const paused = await pay()
  assert.equal([paused.status, paused.body.destination_participant_id], [200, null])
  await world.close()
})

test('a call that has ended cannot be paused: 409', async () => {
  const { world, pay } = await payingCall()
  world.media.hangUp('part_1')
  await world.media.committed()
  const refused = await pay({ action: 'pause' })
  assert.equal([refused.status, refused.body.error.details.reason], [409, 'not_running'])
  await world.close()
})

test.run()
