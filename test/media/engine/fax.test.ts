import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { dtmfPlan, renderTone } from '../../../codecs/tones.ts'
import { type FarEnd, TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const CALLED = 'part_bb'
const THIRD = 'part_ccc'

let dataDir: string
let engine: TestEngine
let caller: FarEnd
let called: FarEnd

const test = suite('media/engine: fax')

test.beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  engine = new TestEngine(dataDir)
  caller = await engine.join(CALLER)
  called = await engine.join(CALLED)
})

test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

/** Says these samples, tick by tick; `isLost`: the network drops the frame of this tick. */
function say(who: FarEnd, samples: Int16Array, ticks: number, isLost: (tick: number) => boolean = () => false): void {
  const { receiver } = who
  let tick = 0
  engine.run(ticks, () => {
    const frame = new Int16Array(160)
    frame.set(samples.subarray(tick * 160, (tick + 1) * 160))
    if (isLost(tick++)) who.receiver = null
    who.speaker.speak(frame, engine.now)
    who.receiver = receiver
  })
}

const CNG = renderTone({ segments: [{ hz: [1100], ms: 500, levelDb: -15 }] }, 8000)
const CED = renderTone({ segments: [{ hz: [2100], ms: 2600, levelDb: -15 }] }, 8000)
const told = (): string[] => engine.of('leg.fax_tone').map(({ legId, tone }) => `${legId} ${tone}`)

test('a fax that calls and one that answers are told of, each once', () => {
  say(caller, CNG, 60)
  say(caller, CNG, 60)
  say(called, CED, 160)
  assert.equal(told(), [`${CALLER} cng`, `${CALLED} ced`])
})

test('an answer tone of which bursts are lost is what it is: what is made up in their place does not make it swing', () => {
  say(called, CED, 160, tick => tick % 26 > 21)
  assert.equal(told(), [`${CALLED} ced`])
})

/** All µ-law octets: audio that is passed on unchanged has the same octets. */
const octets = Uint8Array.from({ length: 60 * 160 }, (_, i) => (i * 37 + (i >> 8)) & 0xff)
const signal = new Int16Array(octets.length)
PCMU.decode(octets, signal)

/** What the other party hears of the signal, of which a frame is lost, from its first sample on. */
function passed(): Int16Array {
  const from = called.received.payloads.length
  say(caller, signal, 75, tick => tick === 40)
  const heard = called.received.heard(from)
  const first = Math.floor(heard.findIndex(sample => sample !== 0) / 160) * 160
  return heard.slice(first, first + signal.length)
}

test('what machines say to each other passes octet by octet, whatever gain was asked for, and what is lost of it is silence', () => {
  engine.engine.do('leg.update', { legId: CALLER, sound: { gainDb: 6 } })
  say(caller, CNG, 60)
  const expected = signal.slice()
  expected.fill(0, 40 * 160, 41 * 160)
  assert.equal(passed(), expected)
})

test('of people a loss is concealed, and gain is given', () => {
  engine.engine.do('leg.update', { legId: CALLER, sound: { gainDb: 6 } })
  say(caller, new Int16Array(160), 60)
  const heard = passed()
  assert.ok(heard.slice(40 * 160, 41 * 160).some(sample => sample !== 0))
  assert.not.equal(heard.slice(10 * 160, 11 * 160), signal.slice(10 * 160, 11 * 160))
  assert.equal(told(), [])
})

test('keys are none of a machine, and who is in a conference with one is none', async () => {
  const third = await engine.join(THIRD, {}, { telephoneEvent: false })
  say(caller, CNG, 60)
  assert.equal(told(), [`${CALLER} cng`])
  const key = renderTone(dtmfPlan('5', 100), 8000)
  say(caller, key, 20)
  say(third, key, 20)
  assert.equal(
    engine.of('leg.dtmf').map(({ legId }) => legId),
    [THIRD],
  )
})

test.run()
