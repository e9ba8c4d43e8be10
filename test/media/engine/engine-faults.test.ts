import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { isFailure, type StreamSpec } from '../../../media/protocol.ts'
import type { Sink } from '../../../media/rooms/sink.ts'
import type { SinkNoun } from '../../../media/sinks/sink-kind.ts'
import type { SpeechToText } from '../../../media/speech/speech-engines.ts'
import { streams } from '../../../media/streams/streams.ts'
import { FarEnd, socketOf, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { levelOf, toneFrame } from './party.ts'

const OPEN = { legId: 'part_a', affinity: '', host: '' }

const test = suite('media/engine/engine-faults')

let dataDir: string

test.before(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
})

test.after(() => rmSync(dataDir, { recursive: true }))

const LISTEN = { listenId: 'l', bargeIn: false, endpointMs: 500, language: null } as never
const EAR = { understands: () => true, prepare: () => {} } as unknown as SpeechToText

test('a leg that is closed while its socket is opened leaves neither leg nor port', async () => {
  const farEnd = new FarEnd('192.0.2.1', () => 0)
  let opened = (): void => {}
  const ready = new Promise<void>(resolve => {
    opened = resolve
  })
  const openSocket = async () => {
    await ready
    return socketOf(farEnd)
  }
  const engine = new TestEngine(dataDir, { openSocket })
  const opening = engine.engine.run('leg.open', OPEN)
  engine.engine.do('leg.close', { legId: 'part_a' })
  opened()
  assert.ok(isFailure(await opening))
  assert.ok(farEnd.closed)
  assert.equal(engine.engine.snapshot().legs, [])
  await engine.close()
})

test('two that open the same leg at once open one socket', async () => {
  let sockets = 0
  const openSocket = async () => {
    sockets++
    return socketOf(new FarEnd('192.0.2.1', () => 0))
  }
  const engine = new TestEngine(dataDir, { openSocket })
  const replies = await Promise.all([engine.engine.run('leg.open', OPEN), engine.engine.run('leg.open', OPEN)])
  assert.equal(sockets, 1)
  assert.equal(replies.filter(isFailure).length, 1)
  await engine.close()
})

test('a command that throws is answered, and ends the leg that it names', async () => {
  const createVoiceDetector = () => {
    throw new Error('no memory')
  }
  const engine = new TestEngine(dataDir, { stt: EAR, createVoiceDetector })
  await engine.join('part_a')
  await engine.join('part_bb')
  const request = { legId: 'part_a', listen: LISTEN }
  const reply = await engine.engine.run('leg.listen', request)
  assert.equal(reply as object, { failure: 'unanswered', message: 'a fault: no memory' })
  assert.equal(engine.ends, [{ legId: 'part_a', reason: 'internal_error' }])
  assert.equal(engine.faults.length, 1)
  assert.equal(engine.engine.stats().counters.engine_faults_total, 1)
  await engine.close()
})

test('a leg that throws in a tick is out of its room and ended; those who were with it hear each other on', async () => {
  const createVoiceDetector = () => ({
    hear: () => {
      throw new Error('a bug')
    },
    learnNoise: () => {},
    reset: () => {},
    close: () => {},
  })
  const engine = new TestEngine(dataDir, { stt: EAR, createVoiceDetector })
  const [a, b, c] = [await engine.join('part_a'), await engine.join('part_bb'), await engine.join('part_ccc')]
  engine.engine.do('leg.listen', { legId: 'part_a', listen: LISTEN })
  const talk = () => engine.run(60, tick => b.speaker.speak(toneFrame(1000, tick), engine.now))
  talk()
  assert.equal(engine.ends, [{ legId: 'part_a', reason: 'internal_error' }])
  assert.equal(engine.of('leg.left'), [{ legId: 'part_a', roomId: 'call_room' }])
  assert.ok(a.closed)
  assert.ok(levelOf(1000, c.received.heard(20, 50)) > -20)
  engine.engine.do('leg.close', { legId: 'part_a' })
  assert.equal(engine.engine.snapshot().legs.length, 2)
  await engine.close()
})

test('a stream that throws in a frame ends as failed; the leg goes on, and so does what else listens to it', async () => {
  const createResampler = () => ({
    ...{ fromHz: 8000, toHz: 16_000, latencySamples: 128 },
    process: () => {
      throw new Error('a bug')
    },
    close: () => {},
  })
  const heard: number[] = []
  const meter = { onPause: 'silence', write: () => heard.push(engine.ticks), close: () => {} } as const
  let sinks: Sink[] | null = null
  const meters: SinkNoun = {
    create: ({ sinksOf }) => ({
      commands: {},
      enter: () => {
        sinks = sinksOf({ legId: 'part_a' })
      },
    }),
  }
  const engine = new TestEngine(dataDir, { createResampler, sinks: [streams, meters] })
  await engine.join('part_a')
  const stream = (streamId: string, format: StreamSpec['format']) =>
    engine.engine.run('stream.start', {
      ...{
        streamId,
        target: { legId: 'part_a' },
        url: 'ws://127.0.0.1:1/',
        tracks: 'both',
        format,
        customParameters: {},
      },
      ...{ accountSid: 'org_1', callSid: 'call_1', signingSecret: 'whsec_c2VjcmV0' },
      addresses: { publicOnly: true, allowed: [] },
    })
  await stream('ms_1', 'l16_16000')
  await stream('ms_2', 'mulaw_8000')
  // Behind the streams.
  sinks!.push(meter)
  engine.run(1)
  await Promise.resolve()
  engine.run(9)
  assert.equal(heard.length, 2 * 10)
  assert.equal(engine.ends, [])
  assert.equal(
    engine.of('stream.changed').map(({ streamId, status }) => [streamId, status]),
    [['ms_1', 'failed']],
  )
  assert.equal(
    engine.engine.snapshot().streams.map(({ streamId }) => streamId),
    ['ms_2'],
  )
  assert.equal(
    engine.faults.map(({ error }) => String(error)),
    ['Error: a bug'],
  )
  assert.equal(engine.engine.stats().counters.engine_faults_total, 1)
  await engine.close()
})

test.run()
