import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { CommandName } from '../../../../media/protocol.ts'
import { suite } from '../../../harness.ts'
import { type LiveWorld, makeLiveWorld } from '../../assistants/live-world.ts'
import { until } from '../../calls-world.ts'

const test = suite('control/calls/capture/transcript-control')

let world: LiveWorld
let calls = 0
test.before(async () => {
  world = await makeLiveWorld()
  await world.make('/inbound_routes', { match: { to: '1' }, target: { type: 'echo' } })
})
test.after(() => world.close())

async function called(number = '1') {
  const { media } = world
  const legId = `part_written${++calls}`
  const { room } = await media.dialInUntil('leg.answer', legId, number)
  return { legId, callId: room.roomId, path: `/v1/calls/${room.roomId}/transcript` }
}

test("a running call's transcript is started and stopped; it is ready when its last words are written", async () => {
  const { media } = world
  const { legId, callId, path } = await called()
  assert.is((await world.ask(`POST ${path}/stop`)).status, 404)
  const started = await world.ask(`POST ${path}/start`, { language: 'en-GB' })
  assert.equal([started.status, started.body.status, started.body.language], [201, 'running', 'en-GB'], started.text)
  const command = await media.command('transcript.start')
  assert.equal(command, { transcriptId: callId, target: { roomId: callId }, language: 'en-GB' })
  const again = await world.ask(`POST ${path}/start`)
  assert.equal([again.status, again.body.error.details.reason], [409, 'already_transcribed'])
  const words = { transcriptId: callId, legId, speaker: 'party' as const, startMs: 0, endMs: 900 }
  media.emit('transcript.segment', { ...words, text: 'Good morning.' })
  await media.committed()
  const stopped = await world.ask(`POST ${path}/stop`)
  assert.is(stopped.status, 200)
  assert.is(media.sent('transcript.stop').at(-1)?.transcriptId, callId)
  media.emit('transcript.segment', { ...words, text: 'Goodbye.', startMs: 1000, endMs: 1500 })
  media.emit('transcript.ready', { transcriptId: callId, durationMs: 1600 })
  await media.committed()
  const { body } = await world.ask(`GET ${path}`)
  assert.is(body.status, 'ready')
  assert.equal(
    body.segments.map(({ text }: { text: string }) => text),
    ['Good morning.', 'Goodbye.'],
  )
  const late = await world.ask(`POST ${path}/stop`)
  assert.equal([late.status, late.body.error.details.reason], [409, 'not_running'])
  media.hangUp(legId)
  await media.committed()
  assert.is((await world.ask(`POST ${path}/start`)).status, 409, 'the call is over')
})

test('who hangs up before his transcript could begin leaves an empty one, which has not failed', async () => {
  const own = await makeLiveWorld()
  const { media } = own
  media.overrides.set('transcript.start', () => ({ failure: 'not_found', message: 'the call is not here' }))
  const callId = await own.make('/calls', { to: 'sip:bob@192.0.2.9', transcribe: true })
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.command('transcript.start')
  media.hangUp(legId)
  const told = async () => (await own.ask('GET /v1/events?type=call.transcript.ready')).body.data
  const ended = async () => (await own.ask(`GET /v1/calls/${callId}/transcript`)).body
  while ((await ended()).status === 'running') await sleep(10)
  const { status, failed_reason, duration_ms, segments } = await ended()
  assert.equal([status, failed_reason, duration_ms, segments], ['ready', null, 0, []])
  assert.equal(
    (await told()).map(({ type }: { type: string }) => type),
    ['call.transcript.ready'],
  )
  await own.close()
})

for (const [noun, start, actions] of [
  ['recording', 'recording.start', ['pause', 'resume', 'stop']],
  ['transcript', 'transcript.start', ['stop']],
] as const) {
  test(`a ${noun} whose start is still on its way is not stopped as if it had ended: 503, and then it is`, async () => {
    const { media } = world
    const { callId } = await called()
    const path = `/v1/calls/${callId}/${noun}`
    assert.is((await world.ask(`POST ${path}/start`)).status, 201)
    await media.command(start)
    const commands = actions.map(action => `${noun}.${action}` as CommandName)
    for (const name of commands) media.overrides.set(name, () => ({ failure: 'not_found', message: 'not here yet' }))
    for (const action of actions) {
      const { status, body, headers } = await world.ask(`POST ${path}/${action}`)
      assert.equal([status, body.error.code, headers['retry-after']], [503, 'media_unavailable', '1'], action)
    }
    for (const name of commands) media.overrides.delete(name)
    assert.is((await world.ask(`POST ${path}/stop`)).status, 200)
  })
}

test('a language that nobody here understands is refused, and leaves no transcript', async () => {
  const { media } = world
  const { legId, path } = await called()
  media.overrides.set('transcript.start', () => ({ failure: 'invalid', message: 'no engine here understands xx' }))
  const refused = await world.ask(`POST ${path}/start`, { language: 'xx' })
  assert.equal([refused.status, refused.body.error.details.reason], [409, 'not_possible'])
  assert.match(refused.body.error.message, /no engine here understands xx/)
  assert.is((await world.ask(`GET ${path}`)).status, 404)
  media.overrides.delete('transcript.start')
  assert.is((await world.ask(`POST ${path}/start`)).status, 201, 'another one is taken')
  media.hangUp(legId)
})

test('while the caller is asked nothing can be started past the question', async () => {
  const { media } = world
  await world.make('/inbound_routes', {
    match: { to: '2' },
    target: { type: 'echo' },
    recording_consent: { key: '1' },
    record: true,
  })
  const { legId, callId, path } = await called('2')
  await until(() => media.sent('leg.collect').some(body => body.legId === legId))
  for (const line of [`${path}/start`, `/v1/calls/${callId}/recording/start`]) {
    const refused = await world.ask(`POST ${line}`)
    assert.equal([refused.status, refused.body.error.details.reason], [409, 'being_asked'], line)
  }
  media.hangUp(legId)
})

test.run()
