import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { DialTarget, Request } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { ask } from '../app-harness.ts'
import { type CallsWorld, makeCallsWorld } from '../calls-world.ts'

const test = suite('control/calls/routes')

/** A call of somebody in the echo; returns its ID. */
async function echoCall(world: CallsWorld, legId = 'part_1'): Promise<string> {
  const { room } = await world.media.dialInUntil('leg.answer', legId, '1002')
  return room.roomId
}

test('POST /calls dials a SIP URI and joins the room after the answer, without a PIN', async () => {
  const world = await makeCallsWorld()
  const { media, control, pinRoom } = world
  const made = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', room_id: pinRoom, metadata: { a: 'b' } })
  assert.is(made.status, 201)
  assert.is(made.body.status, 'queued')
  assert.equal(made.body.metadata, { a: 'b' })
  const dial = await media.command('leg.dial')
  assert.is(sipTarget(dial).uri, 'sip:bob@192.0.2.1')
  assert.match(dial.affinity, /^org_\w+\/live$/)
  assert.is(dial.near, pinRoom, 'it is placed beside those of its room')
  assert.is(dial.room.roomId, made.body.id)
  media.emit('leg.ringing', { legId: dial.legId })
  await media.committed()
  assert.is((await control.ask(`GET /v1/calls/${made.body.id}`)).body.status, 'ringing')
  media.pickUp(dial.legId)
  await media.command('leg.move', dial.legId)
  assert.equal(media.sent('leg.collect'), [])
  await world.close()
})

for (const [reason, sipCode, status] of [
  ['busy', 486, 'busy'],
  ['no_answer', null, 'no_answer'],
  ['rejected', 603, 'failed'],
  ['api_hangup', null, 'cancelled'],
] as const) {
  test(`an outbound call that ends with ${reason} is ${status}`, async () => {
    const world = await makeCallsWorld()
    const made = await world.control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1' })
    const { legId } = await world.media.command('leg.dial')
    world.media.hangUp(legId, reason, sipCode)
    await world.media.committed()
    const call = (await world.control.ask(`GET /v1/calls/${made.body.id}`)).body
    assert.equal([call.status, call.ended_reason, call.sip_code], [status, reason, sipCode])
    await world.close()
  })
}

test('a number in E.164 needs an enabled connection of kind trunk, and goes out over it with its credentials', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const refused = await control.ask('POST /v1/calls', { to: '+15551234567' })
  assert.equal([refused.status, refused.body.error.param], [400, 'to'])
  const trunk = await control.ask('POST /v1/connections', {
    name: 'Carrier',
    kind: 'trunk',
    host: '198.51.100.7',
    port: 5070,
    auth: { username: 'u', password: 'p' },
    max_calls: 1,
  })
  assert.is(trunk.status, 201)
  assert.not.match(trunk.text, '"p"')
  assert.is((await control.ask('POST /v1/calls', { to: '+15551234567', from: '+15550000001' })).status, 201)
  const target = sipTarget(await media.command('leg.dial'))
  assert.is(target.uri, 'sip:+15551234567@198.51.100.7:5070')
  assert.equal(target.credentials, { username: 'u', password: 'p' })
  const full = await control.ask('POST /v1/calls', { to: '+15551234567' })
  assert.equal([full.status, full.body.error.code], [429, 'capacity_exhausted'])
  assert.ok(Number(full.headers['retry-after']) > 0)
  await world.close()
})

const trunkOfOne = async (control: CallsWorld['control'], rates: object[] = []): Promise<string> => {
  const { body } = await control.ask('POST /v1/connections', {
    name: 'Carrier',
    kind: 'trunk',
    host: '198.51.100.7',
    port: 5070,
    max_calls: 1,
    rates,
  })
  return body.id
}

test('a call can be ended without the database from its first commit on, whenever the running calls were last looked up', async () => {
  const world = await makeCallsWorld()
  const { control, media, ours } = world
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const looking = control.running.refresh()
  const { body: call } = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1' })
  const { legId } = await media.command('leg.dial')
  const legsOf = () => control.running.find(tenant, call.id)?.legs.map(({ id }) => id)
  assert.equal(legsOf(), [legId])
  await looking
  assert.equal(legsOf(), [legId])
  await control.running.refresh()
  assert.equal(legsOf(), [legId])
  assert.is(control.running.find({ ...tenant, livemode: false }, call.id), undefined)
  media.hangUp(legId, 'caller_hangup')
  await media.committed()
  await control.running.refresh()
  await control.running.refresh()
  assert.is(control.running.find(tenant, call.id), undefined)
  await world.close()
})

test('of calls that are placed at once a connection carries its `max_calls` and no more', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  await trunkOfOne(control)
  const calls = Array.from({ length: 6 }, () => control.ask('POST /v1/calls', { to: '+15551234567' }))
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  assert.equal(statuses.sort(), [201, 429, 429, 429, 429, 429])
  await control.idle()
  assert.is(media.sent('leg.dial').length, 1)
  await world.close()
})

test('of calls that are placed at once a connection begins its `calls_per_second`: the others wait up to 2 s, then 429', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const { status } = await control.ask('POST /v1/connections', {
    name: 'Carrier',
    kind: 'trunk',
    host: '198.51.100.7',
    calls_per_second: 1,
  })
  assert.is(status, 201)
  const answers = []
  for (let n = 0; n < 3; n++) answers.push(await control.ask('POST /v1/calls', { to: '+15551234567' }))
  assert.equal(
    answers.map(one => one.status),
    [201, 201, 429],
  )
  assert.equal([answers[2]?.body.error.code, answers[2]?.headers['retry-after']], ['capacity_exhausted', '1'])
  await control.idle()
  const delays = media.sent('leg.dial').map(({ delayMs = 0 }) => delayMs)
  assert.is(delays[0], 0)
  assert.ok(delays[1]! > 0 && delays[1]! <= 1050, delays.join())
  await world.close()
})

test('of calls that are transferred at once onto the last line of a connection one gets it: the others are refused, and their callers stay', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  await trunkOfOne(control)
  for (const legId of ['part_1', 'part_2', 'part_3', 'part_4']) {
    media.dialIn(legId, '1002')
    await media.command('leg.play', legId)
  }
  await media.committed()
  const transfer = (id: string) => control.ask(`POST /v1/calls/${id}/transfer`, { to: '+15551234567' })
  const answers = await Promise.all(media.sent('leg.answer').map(({ room }) => transfer(room.roomId)))
  assert.equal(answers.map(({ status }) => status).sort(), [200, 429, 429, 429])
  await media.command('leg.dial')
  assert.is((await control.ask('POST /v1/calls', { to: '+15551234567' })).status, 429)
  await control.idle()
  assert.is(media.sent('leg.dial').length, 1)
  assert.is(media.sent('leg.hangup').length, 0)
  await world.close()
})

test('a call that is transferred over a connection goes out over the one whose line it was given, though that was the last', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const first = await trunkOfOne(control, [{ prefix: '+1', cost: 1 }])
  await trunkOfOne(control, [{ prefix: '+1', cost: 2 }])
  await media.dialInUntil('leg.play', 'part_1', '1002')
  const callId = media.sent('leg.answer')[0]!.room.roomId
  assert.is((await control.ask(`POST /v1/calls/${callId}/transfer`, { to: '+15551234567' })).status, 200)
  assert.is(sipTarget(await media.command('leg.dial')).connectionId, first)
  await world.close()
})

test('a transfer to a number that no connection calls, or has no line for, or to a private address, is refused, and the caller stays', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  await media.dialInUntil('leg.play', 'part_1', '1002')
  const callId = media.sent('leg.answer')[0]!.room.roomId
  const transfer = () => control.ask(`POST /v1/calls/${callId}/transfer`, { to: '+15551234567' })
  const nowhere = await transfer()
  assert.equal([nowhere.status, nowhere.body.error.param], [400, 'to'])
  const inside = await control.ask(`POST /v1/calls/${callId}/transfer`, { to: 'sip:bob@10.0.0.5' })
  assert.equal([inside.status, inside.body.error.param], [400, 'to'])
  await trunkOfOne(control)
  assert.is((await control.ask('POST /v1/calls', { to: '+15557654321' })).status, 201)
  const full = await transfer()
  assert.equal([full.status, full.body.error.code], [429, 'capacity_exhausted'])
  await control.idle()
  assert.is((await control.ask(`GET /v1/calls/${callId}`)).body.status, 'in_progress')
  assert.is(media.sent('leg.hangup').length, 0)
  assert.is(media.sent('leg.dial').length, 1)
  await world.close()
})

test('a call to a target that does not exist is refused with 400, naming the field, and nobody is dialled', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  for (const [field, id] of [
    ['room_id', 'room_00000000000000000000000000'],
    ['assistant_id', 'asst_00000000000000000000000000'],
    ['flow_id', 'flow_00000000000000000000000000'],
    ['queue_id', 'q_00000000000000000000000000'],
    ['user_id', 'usr_00000000000000000000000000'],
  ] as const) {
    const { status, body } = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', [field]: id })
    assert.equal([status, body.error?.code, body.error?.param], [400, 'parameter_invalid', field])
  }
  assert.equal(media.sent('leg.dial'), [])
  await world.close()
})

test('a live call to a SIP address of a private network is refused, but for those that an operator allows', async () => {
  const world = await makeCallsWorld()
  for (const to of [
    'sip:bob@10.0.0.5',
    'sip:169.254.169.254',
    'sip:bob@[::1]:5070;transport=tcp',
    'sip:bob@[::ffff:192.168.0.1]',
  ]) {
    const { status, body } = await world.control.ask('POST /v1/calls', { to })
    assert.equal([status, body.error?.param], [400, 'to'], to)
  }
  assert.is((await world.control.ask('POST /v1/calls', { to: 'sip:bob@127.0.0.1' })).status, 201)
  const { publicOnly } = sipTarget(await world.media.command('leg.dial'))
  assert.is(publicOnly, true, 'media judges the address that is dialled')
  await world.close()
})

test('a call above the capacity of media answers 429 with Retry-After, and one that media cannot take 503: neither leaves anything', async () => {
  const world = await makeCallsWorld()
  const place = () => world.control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1' })
  const told = ({ status, body, headers }: Awaited<ReturnType<typeof place>>) => [
    status,
    body.error.code,
    Number(headers['retry-after']) > 0,
  ]
  world.media.maxCalls = 0
  assert.equal(told(await place()), [429, 'capacity_exhausted', true])
  world.media.overrides.set('leg.reserve', () => ({ failure: 'unavailable', message: 'draining' }))
  assert.equal(told(await place()), [503, 'media_unavailable', true])
  assert.equal((await world.control.ask('GET /v1/calls')).body.data, [])
  assert.equal((await world.control.ask('GET /v1/events')).body.data, [])
  await world.close()
})

test('a call that media refuses after all, without a port for its audio, has failed', async () => {
  const world = await makeCallsWorld()
  world.media.overrides.set('leg.dial', () => ({ failure: 'capacity', message: 'full' }))
  const refused = await world.control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1' })
  assert.equal([refused.status, refused.body.error.code], [429, 'capacity_exhausted'])
  const [call] = (await world.control.ask('GET /v1/calls')).body.data
  assert.equal([call.status, call.ended_reason], ['failed', 'capacity'])
  await world.close()
})

test('a test key reaches nobody outside, and sees no live call', async () => {
  const world = await makeCallsWorld()
  const id = await echoCall(world)
  const key = world.ours.keys.test
  assert.is((await ask(world.control.app, 'POST /v1/calls', { key, body: { to: 'sip:bob@192.0.2.1' } })).status, 400)
  for (const other of [key, world.theirs.keys.live]) {
    const answer = await ask(world.control.app, `GET /v1/calls/${id}`, { key: other })
    assert.equal([answer.status, answer.body.error.code], [404, 'resource_missing'])
  }
  await world.close()
})

test('calls are listed by status and kind', async () => {
  const world = await makeCallsWorld()
  const first = await echoCall(world)
  const second = await echoCall(world, 'part_2')
  world.media.hangUp('part_1')
  await world.media.committed()
  const ids = async (query: string) =>
    (await world.control.ask(`GET /v1/calls?${query}`)).body.data.map((call: { id: string }) => call.id)
  assert.equal(await ids('status=completed'), [first])
  assert.equal(await ids('status=in_progress&kind=party'), [second])
  assert.equal(await ids('kind=conference'), [])
  assert.is((await world.control.ask('GET /v1/calls?status=nonsense')).status, 400)
  await world.close()
})

/** The IDs of the requests that have caused events of this type. */
const requestsOf = async (world: CallsWorld, id: string, type: string): Promise<(string | null)[]> =>
  (await world.control.ask(`GET /v1/calls/${id}/events`)).body.data
    .filter((event: { type: string }) => event.type === type)
    .map(({ request }: { request: { id: string } | null }) => request?.id ?? null)

test('the events of an end by the API have its request: of a participant, of a session; whoever hangs up has none', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  for (const leg of ['part_1', 'part_2', 'part_3', 'part_4']) await media.dialInUntil('leg.move', leg, '1001')
  await media.committed()
  const session = (await control.ask(`GET /v1/conference_rooms/${openRoom}`)).body.live.call_id
  media.hangUp('part_1')
  await media.committed()
  const removed = await control.ask(`DELETE /v1/conference_rooms/${openRoom}/participants/part_2`)
  const closed = await control.ask(`POST /v1/calls/${session}/hangup`)
  await media.committed()
  const [first, second] = [removed.headers['request-id'], closed.headers['request-id']]
  const left = await requestsOf(world, session, 'conference.participant.left')
  assert.equal(left, [second, second, first, null])
  assert.equal(await requestsOf(world, session, 'conference.ended'), [second])
  assert.is(closed.body.ended_reason, 'api_hangup')
  const { data } = (await control.ask('GET /v1/events?type=call.ended')).body
  assert.equal(
    data.map(({ request }: { request: { id: string } | null }) => request?.id ?? null),
    [second, second, first, null],
  )
  await world.close()
})

test('hanging up ends the call as api_hangup; a second time answers 409', async () => {
  const world = await makeCallsWorld()
  const id = await echoCall(world)
  const ended = await world.control.ask(`POST /v1/calls/${id}/hangup`)
  assert.equal([ended.status, ended.body.status, ended.body.ended_reason], [200, 'completed', 'api_hangup'])
  assert.equal(await requestsOf(world, id, 'call.ended'), [ended.headers['request-id']])
  const again = await world.control.ask(`POST /v1/calls/${id}/hangup`)
  assert.equal([again.status, again.body.error.details.reason], [409, 'not_running'])
  await world.close()
})

test('a recording is served with Range: 206, 416, and 404 where there is none', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-recordings-'))
  mkdirSync(join(dataDir, 'recordings'))
  writeFileSync(join(dataDir, 'recordings', 'a.wav'), '0123456789')
  const world = await makeCallsWorld({ dataDir })
  const { control, media } = world
  const { body: call } = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', record: true })
  assert.is((await control.ask(`GET /v1/calls/${call.id}/recording`)).status, 404)
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.command('recording.start')
  const path = `GET /v1/calls/${call.id}/recording/content`
  assert.is((await control.ask(path)).status, 409)
  media.emit('recording.ready', {
    recordingId: call.id,
    file: 'a.wav',
    sampleRateHz: 8000,
    durationMs: 1,
    sizeBytes: 10,
    channels: [{ legId }],
    segments: [],
  })
  await media.committed()
  const whole = await control.ask(path)
  assert.equal([whole.status, whole.text, whole.headers['content-type']], [200, '0123456789', 'audio/wav'])
  const part = await control.ask(path, undefined, { headers: { range: 'bytes=2-4' } })
  assert.equal([part.status, part.text, part.headers['content-range']], [206, '234', 'bytes 2-4/10'])
  const last = await control.ask(path, undefined, { headers: { range: 'bytes=-3' } })
  assert.equal([last.status, last.text], [206, '789'])
  assert.is((await control.ask(path, undefined, { headers: { range: 'bytes=10-' } })).status, 416)
  await world.close()
  rmSync(dataDir, { recursive: true })
})

function sipTarget({ target }: Request<'leg.dial'>): DialTarget {
  if ('browserId' in target) throw new Error('a browser was dialled')
  return target
}

test.run()
