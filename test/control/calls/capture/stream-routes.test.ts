import * as assert from 'uvu/assert'
import { suite } from '../../../harness.ts'
import { type CallsWorld, eventTypes, makeCallsWorld } from '../../calls-world.ts'

const test = suite('control/calls/capture/stream-routes')
const URL = 'wss://receiver.test/audio'

async function echoCall(world: CallsWorld): Promise<string> {
  const { room } = await world.media.dialInUntil('leg.answer', 'part_1', '1002')
  return room.roomId
}

test('a stream has by default the track inbound in mulaw_8000', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const id = await echoCall(world)
  const made = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL, custom_parameters: { k: 'v' } })
  assert.is(made.status, 201)
  assert.equal(
    [made.body.tracks, made.body.format, made.body.mode, made.body.status],
    ['inbound', 'mulaw_8000', 'fork', 'streaming'],
  )
  const spec = await media.command('stream.start')
  assert.equal(spec.target, { legId: 'part_1' })
  assert.equal(spec.customParameters, { k: 'v' })
  assert.is(spec.callSid, id)
  assert.is(spec.accountSid, world.ours.organisationId)
  assert.match(spec.signingSecret, /^whsec_/)
  assert.equal(spec.addresses, { publicOnly: true, allowed: [] })
  assert.equal((await eventTypes(world, id)).at(-1), 'call.stream.started')
  await world.close()
})

test('a call has at most 4 tracks, and both counts two: the next answers 409', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const path = `POST /v1/calls/${await echoCall(world)}/streams`
  for (const tracks of ['both', 'inbound']) assert.is((await control.ask(path, { url: URL, tracks })).status, 201)
  const refused = await control.ask(path, { url: URL, tracks: 'both' })
  assert.equal([refused.status, refused.body.error.code], [409, 'resource_conflict'])
  assert.is((await control.ask(path, { url: URL, tracks: 'outbound' })).status, 201)
  assert.is((await control.ask(path, { url: URL })).status, 409)
  await world.close()
})

test('a stream is stopped by DELETE with its final counters; one that has ended answers 409', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const id = await echoCall(world)
  const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
  Object.assign(media.streams.get(body.id)!, { framesSent: 250, framesDropped: 3 })
  const live = (await control.ask(`GET /v1/calls/${id}/streams/${body.id}`)).body
  assert.equal([live.frames_sent, live.frames_dropped], [250, 3])
  const listed = (await control.ask(`GET /v1/calls/${id}/streams`)).body.data
  assert.is(listed[0].frames_sent, 250)
  const stopped = await control.ask(`DELETE /v1/calls/${id}/streams/${body.id}`)
  assert.equal(
    [stopped.status, stopped.body.status, stopped.body.ended_reason, stopped.body.frames_sent],
    [200, 'stopped', 'stopped', 250],
  )
  const again = await control.ask(`DELETE /v1/calls/${id}/streams/${body.id}`)
  assert.equal([again.status, again.body.error.code], [409, 'resource_conflict'])
  const missing = async (path: string) => {
    const { status, body: failure } = await control.ask(`DELETE /v1/calls/${path}`)
    return [status, failure.error.param]
  }
  assert.equal(await missing(`${id}/streams/ms_none`), [404, 'stream_id'])
  assert.equal(await missing(`call_none/streams/${body.id}`), [404, 'id'])
  assert.is((await control.ask(`GET /v1/calls/${id}`)).body.status, 'in_progress', 'the call is unaffected')
  await world.close()
})

test('the event of a stream that a request has started has that request', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const id = await echoCall(world)
  const { headers } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
  const [started] = (await control.ask(`GET /v1/calls/${id}/events`)).body.data
  assert.equal([started.type, started.request?.id], ['call.stream.started', headers['request-id']])
  await world.close()
})

test('of DELETEs of a stream at once one stops it, and is the request of the event; the others answer 409', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const id = await echoCall(world)
  const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
  const stop = (key: string) =>
    control.ask(`DELETE /v1/calls/${id}/streams/${body.id}`, undefined, { headers: { 'idempotency-key': key } })
  const answers = await Promise.all(['a', 'b', 'c'].map(stop))
  assert.equal(answers.map(({ status }) => status).sort(), [200, 409, 409])
  const key = ['a', 'b', 'c'][answers.findIndex(({ status }) => status === 200)]
  const [stopped] = (await control.ask(`GET /v1/calls/${id}/events`)).body.data
  assert.equal([stopped.type, stopped.request.idempotency_key], ['call.stream.stopped', key])
  assert.match(stopped.request.id, /^req_/)
  await world.close()
})

test('the end of a stream names the request that hung its call up, and none where the caller did', async () => {
  for (const byApi of [true, false]) {
    const world = await makeCallsWorld()
    const { control, media } = world
    const id = await echoCall(world)
    const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
    const running = media.streams.get(body.id)!
    const hangup = byApi ? await control.ask(`POST /v1/calls/${id}/hangup`, {}) : null
    media.emit('stream.changed', { ...running, status: 'stopped', endedReason: 'call_ended' })
    await media.committed()
    const { data } = (await control.ask(`GET /v1/calls/${id}/events`)).body
    const stopped = data.find(({ type }: { type: string }) => type === 'call.stream.stopped')
    assert.is(stopped.request?.id, hangup?.headers['request-id'])
    await world.close()
  }
})

test('a stream that is stopped while its start is on the way does not run, whenever the start comes', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const id = await echoCall(world)
  const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
  const running = { ...media.streams.get(body.id)! }
  let stops = 0
  // Media knows nothing of it yet when it is asked first.
  media.overrides.set('stream.stop', () => (++stops === 1 ? { failure: 'not_found', message: 'none' } : undefined))
  const stopped = await control.ask(`DELETE /v1/calls/${id}/streams/${body.id}`)
  assert.equal([stopped.status, stopped.body.status], [200, 'stopped'])
  assert.equal([stops, media.streams.has(body.id)], [2, false], 'it came while the first answer was on its way')
  media.streams.set(body.id, running)
  media.emit('stream.changed', running)
  await media.committed()
  await media.until(() => stops === 3)
  assert.is(media.streams.has(body.id), false, 'it came later')
  await world.close()
})

for (const [url, addresses] of [
  ['ws://127.0.0.1:9000/', []],
  ['ws://[::1]/', []],
  ['ws://[::ffff:10.0.0.1]/', []],
  ['wss://inside.test/', ['10.1.2.3']],
  ['wss://half.test/', ['93.184.216.34', '192.168.1.1']],
  ['https://receiver.test/', []],
  ['wss://receiver.test/in#part', ['93.184.216.34']],
  ['wss://receiver.test/in#', ['93.184.216.34']],
  ['nonsense', []],
] as const) {
  test(`live mode refuses ${url}`, async () => {
    const world = await makeCallsWorld({ resolve: async () => [...addresses] })
    const refused = await world.control.ask(`POST /v1/calls/${await echoCall(world)}/streams`, { url })
    assert.equal([refused.status, refused.body.error.code, refused.body.error.param], [400, 'parameter_invalid', 'url'])
    assert.equal(world.media.sent('stream.start'), [])
    await world.close()
  })
}

test("an operator's setting allows named networks", async () => {
  const world = await makeCallsWorld({ allowedNetworks: ['127.0.0.0/8'] })
  const path = `POST /v1/calls/${await echoCall(world)}/streams`
  assert.is((await world.control.ask(path, { url: 'ws://127.0.0.1:9000/' })).status, 201)
  assert.is((await world.control.ask(path, { url: 'ws://10.0.0.1:9000/' })).status, 400)
  const spec = await world.media.command('stream.start')
  assert.equal(spec.addresses, { publicOnly: true, allowed: ['127.0.0.0/8'] })
  await world.close()
})

test('a stream whose receiver does not answer is `stalled`; version 2026-05-01 does not know the word and reads `streaming`', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const id = await echoCall(world)
  const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
  const stalled = { ...media.streams.get(body.id)!, status: 'stalled' as const }
  media.streams.set(body.id, stalled)
  media.emit('stream.changed', stalled)
  await media.committed()
  const shown = async (version: string) => {
    const headers = { 'service-version': version }
    return (await control.ask(`GET /v1/calls/${id}/streams/${body.id}`, undefined, { headers })).body.status
  }
  assert.equal([await shown('2026-11-01'), await shown('2026-05-01')], ['stalled', 'streaming'])
  await world.close()
})

test('a bidirectional stream is started as one and shows what its receiver has sent; version 2026-05-01 reads `fork`', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const id = await echoCall(world)
  const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL, mode: 'bidirectional' })
  assert.equal([body.mode, body.frames_received, body.frames_refused], ['bidirectional', 0, 0])
  assert.is((await media.command('stream.start')).mode, 'bidirectional')
  media.streams.set(body.id, { ...media.streams.get(body.id)!, framesReceived: 12, framesRefused: 3 })
  const live = (await control.ask(`GET /v1/calls/${id}/streams/${body.id}`)).body
  assert.equal([live.frames_received, live.frames_refused], [12, 3])
  const last = (await control.ask(`DELETE /v1/calls/${id}/streams/${body.id}`)).body
  assert.equal([last.mode, last.status, last.frames_received, last.frames_refused], ['bidirectional', 'stopped', 12, 3])
  const headers = { 'service-version': '2026-05-01' }
  assert.is((await control.ask(`GET /v1/calls/${id}/streams/${body.id}`, undefined, { headers })).body.mode, 'fork')
  await world.close()
})

test('a stream for which nothing else is said is a fork, and a mode that there is not is refused', async () => {
  const world = await makeCallsWorld()
  const { control } = world
  const id = await echoCall(world)
  assert.is((await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })).body.mode, 'fork')
  const { status, body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL, mode: 'both_ways' })
  assert.equal([status, body.error.code, body.error.param], [400, 'parameter_invalid', 'mode'])
  await world.close()
})

test('each change of a stream is told once', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const id = await echoCall(world)
  const { body } = await control.ask(`POST /v1/calls/${id}/streams`, { url: URL })
  const at = {
    streamId: body.id,
    framesSent: 1,
    framesDropped: 0,
    framesReceived: 0,
    framesRefused: 0,
    endedReason: null,
  }
  media.emit('stream.changed', { ...at, status: 'stalled' })
  await media.committed()
  media.emit('stream.changed', { ...at, status: 'streaming' })
  media.emit('stream.changed', { ...at, status: 'reconnecting' })
  media.emit('stream.changed', { ...at, status: 'streaming' })
  media.emit('stream.changed', { ...at, status: 'stopped', endedReason: 'receiver_closed' })
  await media.committed()
  const told = (await eventTypes(world, id)).filter(type => type.startsWith('call.stream.'))
  assert.equal(told, ['call.stream.started', 'call.stream.stalled', 'call.stream.reconnecting', 'call.stream.stopped'])
  await world.close()
})

test.run()
