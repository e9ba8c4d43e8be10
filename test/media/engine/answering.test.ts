import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { renderTone } from '../../../codecs/tones.ts'
import { prompt } from '../../codecs/signals.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { STALLS, type Stall } from '../../fakes/stalls.ts'
import { suite } from '../../harness.ts'

const test = suite('media/engine/answering')

const ANSWERING = {
  legId: 'part_1',
  messageEnd: true,
  initialSilenceMs: 4000,
  greetingMs: 2300,
  afterGreetingSilenceMs: 800,
  maxWords: 30,
  minWordMs: 100,
  betweenWordsMs: 60,
  totalMs: 6000,
  messageSilenceMs: 1800,
  messageMs: 60_000,
}

test('a leg with `answering` is listened to from its answer on, wherever it goes; a leg without it is not', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-answering-'))
  const engine = new TestEngine(dataDir)
  const capture = { recordingId: null, transcript: null, answering: ANSWERING }
  const machine = await engine.join('part_1', { roomId: 'call_1', capture })
  const other = await engine.join('part_22', { roomId: 'call_2' })
  const both = (samples: Int16Array, silentTicks: number): void =>
    engine.say(machine, samples, silentTicks, () => other.speaker.speak(new Int16Array(160), engine.now))
  both(prompt('announcement').subarray(0, 8000), 0)
  // The leg moves to another room in the middle of the greeting.
  const spec = { roomId: 'call_2', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 10 }
  await engine.engine.do('leg.move', { legId: 'part_1', room: spec, mustExist: true, muted: false })
  both(prompt('announcement').subarray(8000, 28_000), 20)
  const [answer, ...more] = engine.of('leg.answered_by')
  assert.equal([answer?.legId, answer?.answeredBy, more], ['part_1', 'machine', []])
  assert.equal(engine.of('leg.message_ended'), [])
  both(renderTone({ segments: [{ hz: [1000], ms: 300 }] }, 8000), 15)
  assert.equal(
    engine.of('leg.message_ended').map(({ legId, ended }) => [legId, ended]),
    [['part_1', 'beep']],
  )
  // 3.9 s of greeting and silence, the beep, and what is quiet behind it.
  const { ms } = engine.of('leg.message_ended')[0]!
  assert.ok(ms >= 4200 && ms <= 4500, `${ms} ms since the answer`)
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

test('a machine that is told by its beep has said all: its end is told at the same time', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-answering-'))
  const engine = new TestEngine(dataDir)
  const machine = await engine.join('part_1', {
    capture: { recordingId: null, transcript: null, answering: ANSWERING },
  })
  engine.say(machine, prompt('announcement').subarray(0, 7200), 15)
  engine.say(machine, renderTone({ segments: [{ hz: [1000], ms: 300 }] }, 8000), 30)
  const [answer] = engine.of('leg.answered_by')
  assert.equal([answer?.answeredBy, answer?.cause], ['machine', 'beep'])
  assert.equal(
    engine.of('leg.message_ended').map(({ ended, ms }) => [ended, ms]),
    [['beep', answer!.ms]],
  )
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

/** Sends comfort noise, whose level is updated every 400 ms and varies by 10 dB. */
const rest = (engine: TestEngine, { speaker }: FarEnd, level: number, ticks: number): void =>
  engine.run(ticks, tick => {
    if (tick % 20 === 0) speaker.rest(level - (tick % 40 === 0 ? 10 : 0), engine.now)
  })

test('comfort noise is silence behind the first word, however loud, and no voice before it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-answering-'))
  for (const level of [50, 40, 30, 20]) {
    const engine = new TestEngine(dataDir)
    const capture = { recordingId: null, transcript: null, answering: ANSWERING }
    const person = await engine.join('part_1', { roomId: 'call_1', capture })
    rest(engine, person, level, 50)
    engine.say(person, prompt('announcement').subarray(0, 7200))
    rest(engine, person, level, 60)
    const [answer, ...more] = engine.of('leg.answered_by')
    assert.equal([answer?.answeredBy, answer?.cause, more], ['human', 'short_greeting', []], `-${level} dBov`)
    assert.ok(answer!.ms > 2300 && answer!.ms < 2900, `${answer!.ms} ms at -${level} dBov`)
    await engine.close()
  }
  rmSync(dataDir, { recursive: true })
})

test('comfort noise behind a greeting is the silence that ends it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-answering-'))
  for (const level of [50, 40, 30, 20]) {
    const engine = new TestEngine(dataDir)
    const capture = { recordingId: null, transcript: null, answering: ANSWERING }
    const machine = await engine.join('part_1', { roomId: 'call_1', capture })
    engine.say(machine, prompt('announcement').subarray(0, 28_000))
    assert.is(engine.of('leg.answered_by')[0]?.answeredBy, 'machine')
    rest(engine, machine, level, 110)
    assert.equal(
      engine.of('leg.message_ended').map(({ ended }) => ended),
      ['silence'],
      `-${level} dBov`,
    )
    await engine.close()
  }
  rmSync(dataDir, { recursive: true })
})

/** What is told of a leg that speaks, of which nothing comes for so long [ticks], and that goes on. */
async function detectedOf(stall: Stall, ticks: number, before: Int16Array, after: Int16Array, silentTicks: number) {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-answering-'))
  const engine = new TestEngine(dataDir)
  const capture = { recordingId: null, transcript: null, answering: ANSWERING }
  const farEnd = await engine.join('part_1', { roomId: 'call_1', capture })
  engine.say(farEnd, before)
  stall(engine, farEnd, ticks)
  engine.say(farEnd, after, silentTicks)
  const [answer] = engine.of('leg.answered_by')
  const [message] = engine.of('leg.message_ended')
  await engine.close()
  rmSync(dataDir, { recursive: true })
  return { answer, message }
}

test('a greeting of which nothing comes for a second is not over: what was not received is no silence', async () => {
  const greeting = prompt('announcement')
  for (const [name, stall] of Object.entries(STALLS)) {
    const { answer } = await detectedOf(stall, 50, greeting.subarray(0, 12_000), greeting.subarray(12_000, 28_000), 0)
    assert.equal([answer?.answeredBy, answer?.cause], ['machine', 'long_greeting'], name)
    assert.ok(answer!.ms > 3000 && answer!.ms < 4000, `${answer!.ms} ms since the answer: ${name}`)
  }
})

test('nor is one that breaks off in a word for longer than any silence between sentences', async () => {
  const greeting = prompt('announcement')
  for (const [name, stall] of Object.entries(STALLS)) {
    const { answer } = await detectedOf(stall, 130, greeting.subarray(0, 12_000), greeting.subarray(12_000, 28_000), 0)
    assert.equal([answer?.answeredBy, answer?.cause], ['machine', 'long_greeting'], name)
  }
})

test('nor is that of a machine whose beep is waited for', async () => {
  const greeting = prompt('announcement')
  const beep = renderTone({ segments: [{ hz: [1000], ms: 400 }] }, 8000)
  const rest = Int16Array.from([...greeting.subarray(24_000, 28_000), ...beep])
  for (const [name, stall] of Object.entries(STALLS)) {
    const { message } = await detectedOf(stall, 95, greeting.subarray(0, 24_000), rest, 15)
    assert.is(message?.ended, 'beep', name)
  }
})

test('a person whose phone sends nothing in silence, and no comfort noise, is one when nothing has come for much longer', async () => {
  const { answer } = await detectedOf(
    engine => engine.run(150),
    0,
    // What such a phone takes for silence must have lasted for a while.
    Int16Array.from([...prompt('announcement').subarray(0, 7200), ...new Int16Array(1600)]),
    new Int16Array(0),
    0,
  )
  assert.equal([answer?.answeredBy, answer?.cause], ['human', 'short_greeting'])
  assert.ok(answer!.ms > 900 + 2200 && answer!.ms < 900 + 2600, `${answer!.ms} ms`)
})

test('a leg of which little comes is unknown when the whole time is over', async () => {
  const { answer } = await detectedOf(
    (engine, { speaker }) => {
      for (let i = 0; i < 10; i++) {
        engine.run(50)
        speaker.speak(prompt('announcement').subarray(4000, 4160), engine.now)
      }
    },
    0,
    new Int16Array(160),
    new Int16Array(0),
    0,
  )
  assert.equal(answer, { legId: 'part_1', answeredBy: 'unknown', cause: 'undecided', ms: 6000 })
})

test.run()
