import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readWav, wavHeader } from '../../../codecs/wav.ts'
import type { RoomSpec } from '../../../media/protocol.ts'
import { MANIFEST_FILE, partialDir } from '../../../media/recordings/recording-manifest.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { crossing } from '../../fakes/engine-group.ts'
import { ScriptedEar } from '../../fakes/scripted-ear.ts'
import { suite } from '../../harness.ts'
import { levelOf, toneFrame } from '../engine/party.ts'

const SECOND = 8000
const TICKS = 50
/** Samples left out at the beginning of each second, because of the jitter buffer's delay. */
const SETTLED = 1600
const CALLER_HZ = 440
const AGENT_HZ = 2000
const PRODUCT_HZ = 900
const HEARD_DBOV = -16
const UNHEARD_DBOV = -60

const CALL = 'call_recorded'
const OWN: Partial<RoomSpec> = { roomId: CALL, kind: 'call', capture: { recordingId: CALL, transcript: null } }
const SESSION: RoomSpec = {
  roomId: 'call_session',
  kind: 'conference',
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 10,
}

let dataDir: string
let engine: TestEngine
let prompt: { kind: 'file'; path: string }

const test = suite('media/recordings/recorded-call')

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir)
  const samples = Int16Array.from(
    { length: 4 * SECOND },
    (_, i) => 12_000 * Math.sin((2 * Math.PI * PRODUCT_HZ * i) / SECOND),
  )
  prompt = { kind: 'file', path: join(dataDir, 'prompt.wav') }
  const header = wavHeader({ sampleRateHz: SECOND, channels: 1, dataBytes: samples.byteLength })
  writeFileSync(prompt.path, Buffer.concat([header, Buffer.from(samples.buffer)]))
  await engine.preload(prompt)
})

test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

type FarEnd = Awaited<ReturnType<TestEngine['join']>>

const saying =
  (...voices: [FarEnd, number][]) =>
  (tick: number): void => {
    for (const [farEnd, hz] of voices) farEnd.speaker.speak(toneFrame(hz, tick), engine.now)
  }

async function finished() {
  await engine.engine.shutdown()
  const [ready] = engine.of('recording.ready')
  const wav = readWav(readFileSync(join(dataDir, 'recordings', ready!.file)))
  if ('error' in wav) throw new Error(wav.error)
  return { ready: ready!, samples: wav.samples }
}

/** Checks that only this tone is heard in a second of a channel. */
function assertHolds(channel: Int16Array, second: number, hz: number | null): void {
  const part = channel.subarray(second * SECOND + SETTLED, (second + 1) * SECOND)
  for (const each of [CALLER_HZ, AGENT_HZ, PRODUCT_HZ]) {
    const level = levelOf(each, part)
    if (each === hz) assert.ok(level > HEARD_DBOV, `second ${second}: ${each} Hz has ${level} dBov`)
    else assert.ok(level < UNHEARD_DBOV, `second ${second}: ${each} Hz has ${level} dBov`)
  }
}

const onset = (channel: Int16Array): number => channel.findIndex(sample => Math.abs(sample) > 200)

test("a bridged call's recording has a channel for each party and one for the product, from the first sample to the last", async () => {
  const caller = await engine.join('part_caller', OWN)
  await engine.engine.do('leg.play', {
    legId: 'part_caller',
    playId: 'p',
    sources: [prompt],
    loop: false,
    hangupAfter: null,
  })
  engine.run(TICKS, saying([caller, CALLER_HZ]))
  engine.engine.do('leg.stop_play', { legId: 'part_caller' })
  const agent = await engine.join('part_agent', OWN)
  engine.run(2 * TICKS, saying([caller, CALLER_HZ], [agent, AGENT_HZ]))
  engine.engine.do('leg.close', { legId: 'part_agent' })
  engine.run(TICKS, saying([caller, CALLER_HZ]))
  engine.engine.do('leg.close', { legId: 'part_caller' })
  const { ready, samples } = await finished()
  assert.equal(ready.channels, [{ legId: 'part_caller' }, { legId: 'part_agent' }, { legId: null }])
  assert.is(ready.durationMs, 4000)
  const [first, second, product] = samples as [Int16Array, Int16Array, Int16Array]
  for (const at of [0, 1, 2, 3]) assertHolds(first, at, CALLER_HZ)
  for (const at of [0, 3]) assertHolds(second, at, null)
  for (const at of [1, 2]) assertHolds(second, at, AGENT_HZ)
  assertHolds(product, 0, PRODUCT_HZ)
  for (const at of [1, 2, 3]) assertHolds(product, at, null)
  // Exact to the sample: playback begins with the room, and both parties have the same jitter buffer.
  assert.is(
    product.findIndex(sample => sample !== 0),
    1,
  )
  assert.is(onset(second) - SECOND - crossing.samples, onset(first))
})

test('a message begins where the prompt before it ends, and is no longer than it may be', async () => {
  const target = { legId: 'part_caller' }
  const caller = await engine.join('part_caller', { roomId: CALL, kind: 'call' })
  engine.run(TICKS, saying([caller, CALLER_HZ]))
  engine.engine.do('recording.start', { recordingId: CALL, target, messageMs: 2000 })
  // The prompt is on its way.
  engine.run(10, saying([caller, CALLER_HZ]))
  await engine.engine.do('leg.play', { ...target, playId: 'p', sources: [prompt], loop: false, hangupAfter: null })
  engine.run(4 * TICKS, saying([caller, CALLER_HZ]))
  engine.run(3 * TICKS, saying([caller, AGENT_HZ]))
  assert.is(engine.of('play.finished').length, 1)
  engine.engine.do('recording.stop', { recordingId: CALL })
  const { ready, samples } = await finished()
  assert.is(ready.durationMs, 2000)
  for (const at of [0, 1]) assertHolds(samples[0]!, at, AGENT_HZ)
})

test('a recording whose call has just ended is not unknown while its file is being written: a late wish to start it is a conflict', async () => {
  const caller = await engine.join('part_caller', OWN)
  engine.run(TICKS, saying([caller, CALLER_HZ]))
  engine.engine.do('leg.close', { legId: 'part_caller' })
  assert.equal(engine.of('recording.ready'), [])
  const late = engine.engine.do('recording.start', { recordingId: CALL, target: { roomId: CALL } })
  assert.is('failure' in late && late.failure, 'conflict')
  assert.equal(engine.engine.snapshot().recordings, [{ recordingId: CALL }])
  const { ready } = await finished()
  assert.is(ready.durationMs, 1000)
  assert.equal(engine.engine.snapshot().recordings, [])
})

test('what is heard stands in the product channel sample by sample, as it was sent to the party', async () => {
  const caller = await engine.join('part_caller', OWN)
  await engine.engine.do('leg.play', {
    legId: 'part_caller',
    playId: 'p',
    sources: [prompt],
    loop: false,
    hangupAfter: null,
  })
  engine.run(TICKS, saying([caller, CALLER_HZ]))
  engine.engine.do('leg.close', { legId: 'part_caller' })
  const { samples } = await finished()
  const heard = caller.received.heard()
  const product = samples[1]!
  // The far end got it through the law of its codec.
  const worst = heard.reduce((most, sample, i) => Math.max(most, Math.abs(sample - product[i]!)), 0)
  assert.ok(worst <= 512, `${worst}`)
  assert.is(heard.length, product.length)
})

test('hold audio, and what several hear at once, are the product: nobody on hold is recorded, and nothing twice', async () => {
  const caller = await engine.join('part_caller', OWN)
  const agent = await engine.join('part_agent', OWN)
  await engine.engine.do('leg.hold', { legId: 'part_caller', held: true, sources: [prompt] })
  engine.run(TICKS, saying([caller, CALLER_HZ], [agent, AGENT_HZ]))
  await engine.engine.do('leg.hold', { legId: 'part_caller', held: false, sources: [] })
  await engine.engine.do('room.play', { roomId: CALL, sources: [prompt], loop: false })
  engine.run(TICKS, saying([caller, CALLER_HZ], [agent, AGENT_HZ]))
  engine.engine.do('leg.close', { legId: 'part_agent' })
  engine.engine.do('leg.close', { legId: 'part_caller' })
  const [first, second, product] = (await finished()).samples as [Int16Array, Int16Array, Int16Array]
  assertHolds(first, 0, null)
  assertHolds(second, 0, AGENT_HZ)
  assertHolds(product, 0, PRODUCT_HZ)
  assertHolds(first, 1, CALLER_HZ)
  assertHolds(product, 1, PRODUCT_HZ)
  const levels = [0, 1].map(at => levelOf(PRODUCT_HZ, product.subarray(at * SECOND + SETTLED, (at + 1) * SECOND)))
  assert.ok(Math.abs(levels[0]! - levels[1]!) < 0.5, `${levels}`)
})

test('a caller who is moved to a conference stays on the recording of the call, alone, without a gap', async () => {
  const caller = await engine.join('part_caller', OWN)
  const other = await engine.join('part_other', SESSION)
  const both = saying([caller, CALLER_HZ], [other, AGENT_HZ])
  engine.run(TICKS, both)
  engine.engine.do('leg.move', { legId: 'part_caller', room: SESSION, mustExist: true, muted: false })
  await engine.engine.do('room.play', { roomId: SESSION.roomId, sources: [prompt], loop: false })
  engine.run(TICKS, both)
  engine.engine.do('leg.close', { legId: 'part_caller' })
  engine.run(TICKS, saying([other, AGENT_HZ]))
  const late = engine.engine.do('recording.pause', { recordingId: CALL })
  assert.is('failure' in late && late.failure, 'not_found')
  engine.engine.do('leg.close', { legId: 'part_other' })
  const { ready, samples } = await finished()
  assert.equal(ready.channels, [{ legId: 'part_caller' }, { legId: null }])
  assert.is(ready.durationMs, 2000)
  for (const at of [0, 1]) assertHolds(samples[0]!, at, CALLER_HZ)
  assertHolds(samples[1]!, 0, null)
  assertHolds(samples[1]!, 1, PRODUCT_HZ)
})

test('the recording and the transcript of a conference end when its last member has left it, though all are on calls of their own yet', async () => {
  const own = new TestEngine(dataDir, { stt: new ScriptedEar() })
  const session = { ...SESSION, capture: { recordingId: 'call_session', transcript: null } }
  const parties = [await own.join('part_a', session), await own.join('part_bb', session)]
  const target = { roomId: SESSION.roomId }
  own.engine.do('transcript.start', { transcriptId: 'call_session', target, language: null })
  own.run(TICKS, tick => {
    for (const party of parties) party.speaker.speak(toneFrame(CALLER_HZ, tick), own.now)
  })
  const leaves = (legId: string) => {
    const room = { ...SESSION, roomId: `call_of_${legId}`, kind: 'call' as const }
    own.engine.do('leg.move', { legId, room, mustExist: false, muted: false })
    own.run(TICKS)
  }
  leaves('part_a')
  assert.equal([own.of('recording.ready'), own.of('transcript.ready')], [[], []])
  leaves('part_bb')
  await own.until(() => own.of('recording.ready').length + own.of('transcript.ready').length === 2)
  const lengths = [...own.of('recording.ready'), ...own.of('transcript.ready')].map(({ durationMs }) => durationMs)
  for (const ms of lengths) assert.ok(ms >= 1900 && ms <= 2100, `${ms} ms`)
  await own.close()
})

test('a card payment that goes on in the room into which its call is moved is one stretch of silence', async () => {
  const caller = await engine.join('part_caller', OWN)
  const other = await engine.join('part_other', SESSION)
  const both = saying([caller, CALLER_HZ], [other, AGENT_HZ])
  engine.run(TICKS, both)
  const target = { legId: 'part_caller' }
  const pause = { target, maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null }
  engine.engine.do('capture.pause', pause)
  engine.run(TICKS, both)
  engine.engine.do('leg.move', { legId: 'part_caller', room: SESSION, mustExist: true, muted: false })
  engine.run(TICKS, both)
  engine.engine.do('capture.resume', { target })
  engine.run(TICKS, both)
  engine.engine.do('leg.close', { legId: 'part_caller' })
  engine.engine.do('leg.close', { legId: 'part_other' })
  const { ready } = await finished()
  assert.is(ready.segments.length, 1, JSON.stringify(ready.segments))
  assert.is(ready.segments[0]?.fromMs, 1000)
})

test('a card payment and a pause by command are silence in every channel, each with its reason, and the timeline goes on', async () => {
  const caller = await engine.join('part_caller', OWN)
  const agent = await engine.join('part_agent', OWN)
  const both = saying([caller, CALLER_HZ], [agent, AGENT_HZ])
  await engine.engine.do('leg.play', {
    legId: 'part_agent',
    playId: 'p',
    sources: [prompt],
    loop: true,
    hangupAfter: null,
  })
  engine.run(TICKS, both)
  engine.engine.do('recording.pause', { recordingId: CALL })
  assert.is((engine.engine.do('recording.pause', { recordingId: CALL }) as { failure: string }).failure, 'conflict')
  engine.run(TICKS, both)
  const target = { roomId: CALL }
  engine.engine.do('capture.pause', {
    target,
    maxSeconds: 60,
    reason: 'payment',
    maskDtmf: true,
    destinationLegId: null,
  })
  engine.run(TICKS, both)
  engine.engine.do('recording.resume', { recordingId: CALL })
  engine.run(TICKS, both)
  engine.engine.do('capture.resume', { target })
  engine.run(2 * TICKS, both)
  engine.engine.do('leg.close', { legId: 'part_agent' })
  engine.engine.do('leg.close', { legId: 'part_caller' })
  const { ready, samples } = await finished()
  assert.equal(ready.segments, [
    { fromMs: 1000, toMs: 2000, reason: 'paused' },
    { fromMs: 2000, toMs: 4000 + crossing.lingerMs, reason: 'payment' },
  ])
  assert.is(ready.durationMs, 6000)
  for (const channel of samples) {
    const silent = channel.subarray(SECOND, 4 * SECOND)
    assert.ok(silent.every(sample => sample === 0))
  }
  for (const at of [0, 5]) {
    assertHolds(samples[0]!, at, CALLER_HZ)
    assertHolds(samples[1]!, at, AGENT_HZ)
    assertHolds(samples[2]!, at, PRODUCT_HZ)
  }
})

test('a recording that was begun with its room is asked for once more without harm, also when its room is gone', async () => {
  await engine.join('part_caller', OWN)
  const asked = { recordingId: CALL, target: { roomId: CALL } }
  assert.is((engine.engine.do('recording.start', asked) as { failure: string }).failure, 'conflict')
  engine.engine.do('leg.move', { legId: 'part_caller', room: SESSION, mustExist: false, muted: false })
  assert.is((engine.engine.do('recording.start', asked) as { failure: string }).failure, 'conflict')
})

test('a recording whose disk fails only when its last second is written is told as failed once', async () => {
  const caller = await engine.join('part_caller', OWN)
  engine.run(10, saying([caller, CALLER_HZ]))
  while (!existsSync(join(partialDir(dataDir, CALL), MANIFEST_FILE))) await new Promise(setImmediate)
  rmSync(partialDir(dataDir, CALL), { recursive: true })
  await engine.engine.shutdown()
  assert.is(engine.of('recording.failed').length, 1)
  assert.equal(engine.of('recording.ready'), [])
})

test.run()
