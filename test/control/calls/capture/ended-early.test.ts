import { pino } from 'pino'
import * as assert from 'uvu/assert'
import type { CommandName } from '../../../../media/protocol.ts'
import { suite } from '../../../harness.ts'
import { type LiveWorld, makeLiveWorld } from '../../assistants/live-world.ts'
import { until } from '../../calls-world.ts'

const test = suite('control/calls/capture: what ended with its call before control asked media to begin it')

let world: LiveWorld
/** The warnings that an operator has read. */
let warnings: string[] = []

test.beforeEach(async () => {
  // The world before may still write.
  const ofThis: string[] = []
  warnings = ofThis
  const log = pino({ level: 'warn' }, { write: line => void ofThis.push(JSON.parse(line).msg) })
  world = await makeLiveWorld({}, { log })
})

test.afterEach(() => world.close())

/** More events than are committed together. */
const MANY = 100

/**
 * A call whose party hangs up just after its answer. Media has captured it from there on (`RoomSpec.capture`), and tells so, and how it ended, before it
 * answers the command to begin: there is no such call any more. All of that waits behind many other events.
 */
async function shortCall(wanted: object, command: CommandName, tell: (callId: string) => void) {
  const { ask, media, store } = world
  const callId = await world.make('/calls', { to: 'sip:bob@192.0.2.1', ...wanted })
  const { legId } = await media.command('leg.dial')
  media.overrides.set(command, () => {
    for (let i = 0; i < MANY; i++) media.emit('play.started', { legId, playId: `play_${i}`, clockMs: i })
    tell(callId)
    media.hangUp(legId)
    return { failure: 'not_found', message: 'there is no such room' }
  })
  media.pickUp(legId)
  await media.command(command)
  await media.committed()
  await store.followUps.idle()
  const read = async (what: string) => (await ask(`GET /v1/calls/${callId}/${what}`)).body
  const types: string[] = (await read('events')).data.map(({ type }: { type: string }) => type)
  return { read, types: types.reverse() }
}

const of = (types: readonly string[], noun: string): string[] => types.filter(type => type.startsWith(`call.${noun}.`))

test('a stream ends once, as media said', async () => {
  const { media } = world
  const streams = [{ url: 'wss://receiver.test/audio' }]
  const { read, types } = await shortCall({ streams }, 'stream.start', () => {
    const { streamId } = media.sent('stream.start')[0]!
    const run = { streamId, framesSent: 3, framesDropped: 0, framesReceived: 0, framesRefused: 0 }
    media.emit('stream.changed', { ...run, status: 'streaming', endedReason: null })
    media.emit('stream.changed', { ...run, status: 'stopped', endedReason: 'call_ended' })
  })
  const [ended] = (await read('streams')).data
  assert.equal([ended.status, ended.ended_reason, ended.frames_sent], ['stopped', 'call_ended', 3])
  assert.equal(of(types, 'stream'), ['call.stream.started', 'call.stream.stopped'])
})

test('a recording is ready, not failed', async () => {
  const { media } = world
  const { read, types } = await shortCall({ record: true }, 'recording.start', callId => {
    const file = { file: `${callId}.wav`, sampleRateHz: 8000, durationMs: 60, sizeBytes: 1004 }
    media.emit('recording.ready', { recordingId: callId, ...file, channels: [], segments: [] })
  })
  const { status, duration_ms } = await read('recording')
  assert.equal([status, duration_ms], ['ready', 60])
  assert.equal(of(types, 'recording'), ['call.recording.ready'])
})

test('a transcript has what was said', async () => {
  const { media } = world
  const { read } = await shortCall({ transcribe: true }, 'transcript.start', callId => {
    media.emit('transcript.ready', { transcriptId: callId, durationMs: 60 })
  })
  const { status, duration_ms } = await read('transcript')
  assert.equal([status, duration_ms], ['ready', 60])
})

test('a stream that had not begun has stopped with its call, and has not failed', async () => {
  const streams = [{ url: 'wss://receiver.test/audio' }]
  const { read, types } = await shortCall({ streams }, 'stream.start', () => {})
  const [ended] = (await read('streams')).data
  assert.equal([ended.status, ended.ended_reason, ended.ended_detail], ['stopped', 'call_ended', null])
  assert.equal(of(types, 'stream'), ['call.stream.stopped'])
  assert.equal(warnings, [])
})

for (const [command, wanted] of [
  ['recording.start', { record: true }],
  ['leg.listen', {}],
  ['leg.play', {}],
] as const) {
  test(`who hangs up before ${command} is no fault, and nobody is warned`, async () => {
    const assistant_id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.' })
    await shortCall({ assistant_id, ...wanted }, command, () => {})
    assert.equal(warnings, [])
  })
}

test('what media cannot begin in a running call is a fault, and the operator is warned', async () => {
  const { ask, media, store } = world
  for (const command of ['stream.start', 'recording.start', 'leg.listen', 'leg.play'] as const)
    media.overrides.set(command, () => ({ failure: 'not_found', message: 'there is no such thing' }))
  const assistant_id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.' })
  const streams = [{ url: 'wss://receiver.test/audio' }]
  const callId = await world.make('/calls', { to: 'sip:bob@192.0.2.1', record: true, streams, assistant_id })
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.command('leg.play')
  await until(() => warnings.length === 4)
  await store.followUps.idle()
  const [stream] = (await ask(`GET /v1/calls/${callId}/streams`)).body.data
  assert.equal([stream.status, stream.ended_reason], ['failed', 'connect_failed'])
  assert.equal(warnings.toSorted(), [
    'a line could not be said',
    'a recording could not be started',
    'a stream could not be started',
    'cannot listen to a caller',
  ])
})

test.run()
