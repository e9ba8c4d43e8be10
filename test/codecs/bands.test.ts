import * as assert from 'uvu/assert'
import { BandJoiner, BandSplitter } from '../../codecs/bands.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/bands')

const RATE_HZ = 16_000
const WIDE = 320
const BAND = 160
/** Of parting and joining [samples of 16 kHz]. */
const DELAY = 78
const FRAMES = 50

const tone = (hz: number): Int16Array =>
  Int16Array.from({ length: FRAMES * WIDE }, (_, i) => 10_000 * Math.sin((2 * Math.PI * hz * i) / RATE_HZ))

/** A stream in two bands, and joined again with the upper one or without it. */
function through(sent: Int16Array, isHighHeard: boolean) {
  const splitter = new BandSplitter()
  const joiner = new BandJoiner()
  const [low, high, joined] = [
    new Int16Array(sent.length / 2),
    new Int16Array(sent.length / 2),
    new Int16Array(sent.length),
  ]
  for (let frame = 0; frame < FRAMES; frame++) {
    const of = (band: Int16Array) => band.subarray(frame * BAND, (frame + 1) * BAND)
    splitter.split(sent.subarray(frame * WIDE, (frame + 1) * WIDE), of(low), of(high))
    joiner.join(of(low), isHighHeard ? of(high) : null, joined.subarray(frame * WIDE, (frame + 1) * WIDE))
  }
  return { low, high, joined }
}

/** After the filters have filled, against a tone as it was sent [dB]. */
function level(samples: Int16Array): number {
  const settled = samples.subarray(1000)
  return 10 * Math.log10(settled.reduce((sum, sample) => sum + sample ** 2, 1e-9) / settled.length / (10_000 ** 2 / 2))
}

test('what is parted and joined is what it was, to 60 dB, at every frequency', () => {
  for (const hz of [50, 300, 1000, 3000, 3500, 3900, 4000, 4100, 4500, 5000, 7000, 7900]) {
    const sent = tone(hz)
    const { joined } = through(sent, true)
    let [signal, noise] = [0, 1e-9]
    for (let i = 1000; i + DELAY < sent.length; i++) {
      signal += sent[i]! ** 2
      noise += (joined[i + DELAY]! - sent[i]!) ** 2
    }
    assert.ok(10 * Math.log10(signal / noise) > 60, `${hz} Hz: ${10 * Math.log10(signal / noise)} dB`)
  }
})

test('the lower band is what a telephone hears: whole up to 3.4 kHz, and nothing from above 4.5 kHz folded into it', () => {
  for (const hz of [100, 1000, 3000, 3400]) assert.ok(Math.abs(level(through(tone(hz), true).low)) < 0.01, `${hz} Hz`)
  for (const hz of [4600, 5000, 6000, 7000]) assert.ok(level(through(tone(hz), true).low) < -65, `${hz} Hz`)
})

test('a lower band alone joins to the same without images above 4.5 kHz', () => {
  for (const hz of [100, 1000, 3000, 3400]) {
    const { joined } = through(tone(hz), false)
    assert.ok(Math.abs(level(joined)) < 0.01, `${hz} Hz`)
    assert.ok(level(through(joined, true).high) < -60, `${hz} Hz has an image`)
  }
})

test.run()
