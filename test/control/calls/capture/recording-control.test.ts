import * as assert from 'uvu/assert'
import { suite } from '../../../harness.ts'
import { type LiveWorld, makeLiveWorld } from '../../assistants/live-world.ts'

const test = suite('control/calls/capture/recording-control')

/** A call that is answered; resolves with its ID. */
async function answeredCall({ media, make }: LiveWorld): Promise<string> {
  await make('/inbound_routes', { match: { to: '1' }, target: { type: 'echo' } })
  const { room } = await media.dialInUntil('leg.answer', 'part_recorded', '1')
  return room.roomId
}

async function recordedCall(world: LiveWorld): Promise<string> {
  const id = await answeredCall(world)
  assert.is((await world.ask(`POST /v1/calls/${id}/recording/start`)).status, 201)
  return id
}

/** The events of the call's recording, in order. */
async function toldOf({ ask }: LiveWorld, id: string): Promise<string[]> {
  const { data } = (await ask(`GET /v1/calls/${id}/events`)).body
  const types: string[] = data.map(({ type }: { type: string }) => type)
  return types.filter(type => type.startsWith('call.recording.')).reverse()
}

test('a recording that ends while it is being paused is not told to be paused after it is ready: 409', async () => {
  const world = await makeLiveWorld()
  const { ask, media } = world
  const id = await recordedCall(world)
  media.overrides.set('recording.pause', () => {
    media.carryOut('recording.stop', { recordingId: id })
    return {}
  })
  const { status, body } = await ask(`POST /v1/calls/${id}/recording/pause`)
  assert.equal([status, body.error?.details?.reason], [409, 'not_running'])
  assert.is((await ask(`GET /v1/calls/${id}/recording`)).body.status, 'ready')
  assert.equal(await toldOf(world, id), ['call.recording.ready'])
  await world.close()
})

test('a pause that media carried out before control died is written and told by the next request to pause', async () => {
  const world = await makeLiveWorld()
  const { ask, media } = world
  const id = await recordedCall(world)
  for (const [action, status, type] of [
    ['pause', 'paused', 'call.recording.paused'],
    ['resume', 'recording', 'call.recording.resumed'],
  ] as const) {
    // What media says to the second request of its kind.
    media.overrides.set(`recording.${action}`, () => ({ failure: 'conflict', message: 'it is so already' }))
    const done = await ask(`POST /v1/calls/${id}/recording/${action}`)
    assert.equal([done.status, done.body.status], [200, status])
    assert.is((await toldOf(world, id)).at(-1), type)
    assert.is((await ask(`POST /v1/calls/${id}/recording/${action}`)).status, 409, 'a third one changes nothing')
  }
  await world.close()
})

test('a call that went into a conference room unrecorded cannot be recorded or transcribed there, and the answer says what can', async () => {
  const world = await makeLiveWorld()
  const { ask, media } = world
  const id = await world.make('/conference_rooms', { name: 'Board' })
  await world.make('/inbound_routes', { match: { to: '1' }, target: { type: 'room', id } })
  await media.dialInUntil('leg.move', 'part_recorded', '1')
  const calls = (await ask('GET /v1/calls')).body.data
  const { id: callId } = calls.find(({ kind }: { kind: string }) => kind === 'party')
  for (const [what, done] of [
    ['recording', 'recorded'],
    ['transcript', 'transcribed'],
  ]) {
    const { status, body } = await ask(`POST /v1/calls/${callId}/${what}/start`)
    const message = `The call cannot be ${done}: it is in a conference room, whose session can be.`
    assert.equal([status, body.error?.details?.reason, body.error?.message], [409, 'not_possible', message])
    assert.is((await ask(`GET /v1/calls/${callId}/${what}`)).status, 404)
  }
  await world.close()
})

test('a recording that was stopped and deleted does not begin again, and nobody is told that it has: 409', async () => {
  const world = await makeLiveWorld()
  const { ask } = world
  const id = await recordedCall(world)
  assert.is((await ask(`POST /v1/calls/${id}/recording/stop`)).status, 200)
  assert.is((await ask(`DELETE /v1/calls/${id}/recording`)).status, 200)
  const { status, body } = await ask(`POST /v1/calls/${id}/recording/start`)
  assert.equal([status, body.error?.details?.reason], [409, 'not_possible'])
  assert.is((await ask(`GET /v1/calls/${id}/recording`)).status, 404)
  await world.close()
})

for (const noun of ['recording', 'transcript'] as const) {
  test(`a ${noun} that was to start while media could not be reached is not there: 503, and the next request starts it`, async () => {
    const world = await makeLiveWorld()
    const { ask, media } = world
    const id = await answeredCall(world)
    media.overrides.set(`${noun}.start`, () => ({ failure: 'unavailable', message: 'no media process' }))
    const refused = await ask(`POST /v1/calls/${id}/${noun}/start`)
    assert.equal([refused.status, refused.body.error.code], [503, 'media_unavailable'])
    assert.is((await ask(`GET /v1/calls/${id}/${noun}`)).status, 404)
    media.overrides.delete(`${noun}.start`)
    assert.is((await ask(`POST /v1/calls/${id}/${noun}/start`)).status, 201)
    await world.close()
  })

  test(`a ${noun} whose start media did not answer in time has started or will, at the latest with the next connection: 201`, async () => {
    const world = await makeLiveWorld()
    const { ask, media } = world
    const id = await answeredCall(world)
    media.overrides.set(`${noun}.start`, () => ({ failure: 'unanswered', message: 'no answer in time' }))
    const { status, body } = await ask(`POST /v1/calls/${id}/${noun}/start`)
    assert.equal([status, (await ask(`GET /v1/calls/${id}/${noun}`)).body.status], [201, body.status])
    await world.close()
  })
}

test.run()
