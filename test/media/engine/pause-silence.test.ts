import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { prompt } from '../../codecs/signals.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { type Press, Typist, type Way } from './typist.ts'

/** Name lengths differ, since the test addresses of the far ends come from them. */
const CALLER = 'part_a'
const AGENT = 'part_ag'
const PAYMENT = 'part_pay'
const PAUSE = 20
const CARD = '4929876543207986'

const test = suite('media/engine: silence while a key is down')

/** Speech without any pause, at the prompts' level of -17 dBov. */
const SPEECH = Int16Array.from(
  ['announcement', 'welcome', 'enter-pin', 'wait-moderator'].flatMap(name => [...prompt(name)]),
)
const speechAt = (tick: number): Int16Array => {
  const from = (tick * 160) % (SPEECH.length - 160)
  return SPEECH.subarray(from, from + 160)
}

const typed = (way: Way, ticks: number, gap: number): Press[] =>
  [...CARD].map((key, n) => ({ key, from: PAUSE + 10 + n * (ticks + gap), ticks, way }))

/** What the agent hears of a caller who presses a card number while speaking. */
async function heardOf(
  presses: Press[],
  toneDb: number | null,
  { delayOf, isPaused = true }: { delayOf?: Typist['delayOf'] | undefined; isPaused?: boolean } = {},
): Promise<Int16Array> {
  const dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const engine = new TestEngine(dir)
  const caller = await engine.join(CALLER)
  const agent = await engine.join(AGENT)
  await engine.join(PAYMENT)
  const typist = new Typist(engine, CALLER, caller, presses)
  typist.voice = speechAt
  typist.toneDb = toneDb
  if (delayOf !== undefined) typist.delayOf = delayOf
  const end = presses.at(-1)!.from + 60
  for (let tick = 0; tick < end; tick++) {
    if (isPaused && tick === PAUSE) {
      const request = { maxSeconds: 60, reason: 'payment', maskDtmf: true, destinationLegId: PAYMENT }
      engine.engine.do('capture.pause', { target: { legId: CALLER }, ...request })
    }
    engine.run(1, () => typist.tick(tick))
  }
  await engine.close()
  rmSync(dir, { recursive: true })
  return agent.received.heard()
}

/** Number of samples that differ, without those that are silent. */
const differences = (one: Int16Array, other: Int16Array): number =>
  one.filter((sample, i) => sample !== 0 && sample !== other[i]).length
const audible = (samples: Int16Array): number => samples.filter(sample => Math.abs(sample) > 100).length

test('without a pause the same tones are heard: the measurement is awake', async () => {
  const presses = typed('inband', 5, 10)
  const [withTones, without] = [
    await heardOf(presses, -18, { isPaused: false }),
    await heardOf(presses, null, { isPaused: false }),
  ]
  assert.ok(differences(withTones, without) > 5000)
})

for (const [name, way, delayOf] of [
  ['its events come beside its tone', 'both', undefined],
  ['its tone comes 60 ms before its events', 'both', (_tick: number, what: string) => (what === 'event' ? 90 : 30)],
  ['its tone comes 60 ms after its events', 'both', (_tick: number, what: string) => (what === 'event' ? 30 : 90)],
  [
    'it comes by SIP INFO, and its tone 20 ms before',
    'info and tone',
    (_tick: number, what: string) => (what === 'info' ? 50 : 30),
  ],
] as [string, Way, Typist['delayOf'] | undefined][]) {
  for (const toneDb of [0, -6, -12, -18, -30]) {
    test(`a key leaves no trace under loud speech, ${-toneDb} dB below a keypad's: ${name}`, async () => {
      for (const [ticks, gap] of [
        [3, 12],
        [10, 20],
      ] as const) {
        const presses = typed(way, ticks, gap)
        const withTones = await heardOf(presses, toneDb, { delayOf })
        const without = await heardOf(presses, null, { delayOf })
        assert.is(differences(withTones, without), 0, 'what the agent hears would be heard without the tones too')
        assert.ok(audible(withTones) > 2000, 'the agent hears the caller before and after the keys')
      }
    })
  }
}

test.run()
