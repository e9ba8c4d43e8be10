import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { keypadTrace, keysIn } from '../../../bench/phone/keypad.ts'
import { seeded } from '../../../bench/seeded.ts'
import { dtmfTone } from '../../../codecs/tones.ts'
import { BrowserLeg, FACTS } from '../../../media/legs/browser-leg.ts'
import { FrameRing } from '../../../media/legs/frame-ring.ts'
import { LEG_SAMPLES, NO_HOOKS } from '../../../media/rooms/leg.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { type Press, Typist } from './typist.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const AGENT = 'part_ag'
const PAUSE = 60
const RESUME = 120
/** From this tick on, nothing is held back any more, even after the longest stall. */
const CALM = RESUME + 160
const END = CALM + 60
const SEEDS = 24
/** Maximum level of a suppressed key, which is that of comfort noise. */
const NO_TRACE_DBOV = -60

/** What stalls around the resume: the network, the phone, or our thread; or packets are lost, or overtake each other. */
const STALLS = ['network', 'phone', 'ours', 'loss', 'order'] as const
type Stall = (typeof STALLS)[number]

const test = suite('media/engine: stalls at the end of a pause')

interface Case {
  stall: Stall
  /** Ticks of the engine. */
  from: number
  ticks: number
  /** The last key of the pause, by the phone's own clock. */
  key: Press
}

function makeCase(seed: number, stall: Stall): Case {
  const random = seeded(seed)
  const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
  const pressed = RESUME - pick(2, 20)
  const key: Press = { key: '7', from: pressed, ticks: pick(10, 50), way: 'inband' }
  return { stall, from: pick(pressed - 4, RESUME + 4), ticks: pick(5, 70), key }
}

/** Runs a case. @returns what the agent hears of the caller, and the keys reported to control */
async function played({ stall, from, ticks, key }: Case): Promise<{ heard: Int16Array; keys: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const engine = new TestEngine(dir)
  const caller = await engine.join(CALLER, {}, { telephoneEvent: false })
  const agent = await engine.join(AGENT)
  const afterwards: Press = { key: '1', from: CALM, ticks: 10, way: 'inband' }
  const typist = new Typist(engine, CALLER, caller, [key, afterwards])
  const end = from + ticks
  const isStill = (tick: number): boolean => tick >= from && tick < end
  typist.delayOf = tick => {
    if (!isStill(tick) || stall === 'phone') return 30
    if (stall === 'order') return 30 + ((tick * 7919) % 8) * 20
    return stall === 'loss' ? Number.POSITIVE_INFINITY : 30 + (stall === 'network' ? (end - tick) * 20 : 0)
  }
  let phoneTick = 0
  for (let tick = 0; phoneTick < END; tick++) {
    if (tick === PAUSE) {
      const request = { maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: null }
      engine.engine.do('capture.pause', { target: { legId: CALLER }, ...request })
    }
    const resume = (): unknown => engine.engine.do('capture.resume', { target: { legId: CALLER } })
    if (stall === 'ours' && isStill(tick)) {
      // Nothing is read and no tick runs. Then everything happens at once: packets and commands first, then the ticks that the clock catches up on.
      typist.tick(phoneTick++, false)
      engine.now += 20
      if (tick === end - 1) {
        if (from <= RESUME && RESUME < end) resume()
        typist.deliver()
      }
      continue
    }
    if (tick === RESUME) resume()
    const says = (): void => {
      if (stall === 'phone' && isStill(tick)) typist.deliver()
      else typist.tick(phoneTick++)
    }
    engine.run(1, says)
  }
  await engine.close()
  rmSync(dir, { recursive: true })
  const keys = engine.of('leg.dtmf').map(event => event.key)
  return { heard: agent.received.heard(), keys: keys.join('') }
}

for (const stall of STALLS) {
  test(`a tone of the pause is heard by nobody when it comes after a stall (${stall}), and the next key after it is a key again`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const one = makeCase(seed, stall)
      const { heard, keys } = await played(one)
      const where = `seed ${seed}: ${JSON.stringify(one)}`
      assert.match(keys, /^\**1$/, where)
      assert.is(keysIn(heard), '1', where)
      const trace = keypadTrace(heard.subarray(0, -160 * (END - CALM)))
      assert.ok(trace < NO_TRACE_DBOV, `${where}: ${trace.toFixed(1)} dBov`)
    }
  })
}

/** What others hear of a page on its WebSocket, in a pause that ends at `RESUME`. `framesAt`: number of frames that arrive in each tick. */
function heardOfPage(isLive: boolean, framesAt: (tick: number) => number): Int16Array {
  const rings = [new FrameRing(), new FrameRing()]
  const facts = new SharedArrayBuffer(4 * FACTS.count)
  new Int32Array(facts)[FACTS.live] = isLive ? 1 : 0
  const [fromPage, toPage] = rings.map(ring => ring.memory)
  const page = new BrowserLeg('b', { codec: 'L16', fromPage: fromPage!, toPage: toPage!, facts }, NO_HOOKS, () => {})
  const tone = dtmfTone('7', 500)
  const heard: number[] = []
  let sent = 0
  for (let tick = 0; tick < END; tick++) {
    for (let frame = 0; frame < framesAt(tick); frame++) {
      const at = (sent++ - TONE_FRAME) * LEG_SAMPLES
      rings[0]!.write(at < 0 ? null : tone.subarray(at, at + LEG_SAMPLES))
    }
    const isPaused = tick >= PAUSE && tick < RESUME
    page.pull(tick * 20, isPaused, isPaused)
    heard.push(...(page.said ?? new Int16Array(LEG_SAMPLES)))
    page.send(null, null, tick * 20)
  }
  return Int16Array.from(heard)
}

/** Its tone begins 20 frames before the resume. */
const TONE_FRAME = RESUME - 20

test('the same of a page whose connection stalls, and of a caller on a WebSocket whose audio waits to be played', () => {
  assert.is(keysIn(heardOfPage(true, () => 1).subarray(0, RESUME * LEG_SAMPLES)), '', 'in time')
  for (const [from, to] of [
    [TONE_FRAME - 2, RESUME + 20],
    [TONE_FRAME - 2, RESUME + 8],
    [TONE_FRAME + 2, RESUME + 24],
  ] as const) {
    const late = (tick: number): number => (tick === to ? to - from + 1 : tick >= from && tick < to ? 0 : 1)
    assert.is(keysIn(heardOfPage(true, late)), '', `nothing comes from ${from} to ${to}`)
  }
  // The ring holds 32 frames: 30 of silence, followed by the tone, which is played long after the resume.
  const early = (tick: number): number =>
    tick === RESUME - 1 ? 30 : tick >= TONE_FRAME - 30 && tick < RESUME - 1 ? 0 : 1
  assert.is(keysIn(heardOfPage(false, early)), '')
})

test.run()
