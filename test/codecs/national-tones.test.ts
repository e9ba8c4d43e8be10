import * as assert from 'uvu/assert'
import { goertzelCoefficient, goertzelPower } from '../../codecs/goertzel.ts'
import { nationalTone } from '../../codecs/national-tones.ts'
import { renderTone } from '../../codecs/tones.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/national-tones')

/** On and off [ms] of one round, in steps of 10 ms. */
function cadence(samples: Int16Array): number[] {
  const spans: { isOn: boolean; ms: number }[] = []
  for (let at = 0; at < samples.length; at += 80) {
    const isOn = samples.subarray(at, at + 80).some(sample => Math.abs(sample) > 200)
    const last = spans.at(-1)
    if (last?.isOn === isOn) last.ms += 10
    else spans.push({ isOn, ms: 10 })
  }
  return spans.map(({ ms }) => ms)
}

/** Of these frequencies the loudest, so many, in the first 0.2 s. */
const loudest = (samples: Int16Array, count: number): number[] =>
  ALL.map(hz => ({ hz, power: goertzelPower(samples, goertzelCoefficient(hz, 8000), 0, 1600) }))
    .sort((a, b) => b.power - a.power)
    .slice(0, count)
    .map(({ hz }) => hz)
    .sort()

const ALL = [400, 425, 440, 450, 480, 620]

test('ringing sounds as in the country: frequencies and cadence of ITU-T E.180 Supplement 2', () => {
  for (const [country, spans, hz] of [
    ['', [1000, 4000], [425]],
    ['DE', [1000, 4000], [425]],
    ['US', [2000, 4000], [440, 480]],
    ['GB', [400, 200, 400, 2000], [400, 450]],
    ['IT', [1000, 4000], [425]],
    ['IL', [1000, 3000], [400]],
    ['MY', [400, 200, 400, 2000], [425]],
    ['XX', [1000, 4000], [425]],
  ] as const) {
    const samples = renderTone(nationalTone('ringback', country), 8000)
    assert.equal(cadence(samples), [...spans], country)
    assert.equal(loudest(samples, hz.length), [...hz], country)
  }
})

test('busy sounds as in the country', () => {
  assert.equal(cadence(renderTone(nationalTone('busy', 'GB'), 8000)), [380, 370], '375 ms each')
  assert.equal(cadence(renderTone(nationalTone('busy', 'US'), 8000)), [500, 500])
  assert.equal(cadence(renderTone(nationalTone('busy', ''), 8000)), [500, 500])
})

test.run()
