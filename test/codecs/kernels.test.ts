import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { assembled } from '../../build/make-kernels.ts'
import { PCMA, PCMU } from '../../codecs/g711.ts'
import {
  compare,
  correlate,
  correlations,
  energies,
  FRAME_IN,
  FRAME_IN_AT,
  FRAME_OUT,
  FRAME_OUT_AT,
  MAX_SAMPLES,
  products,
  SEARCHED,
} from '../../codecs/kernels/frames.ts'
import { Limiter } from '../../codecs/limiter.ts'
import { Mixer } from '../../media/rooms/mixer.ts'
import { suite } from '../harness.ts'

const SAMPLES = 160

/** Frames of numbers that look random, loud enough that sums of some do not fit. */
function framesOf(count: number, peak = 32_767): Int16Array[] {
  let state = 7
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.round((state / 2 ** 31 - 1) * peak)
  }
  return Array.from({ length: count }, () => Int16Array.from({ length: SAMPLES }, next))
}

const sumOf = (frames: readonly Int16Array[]): number[] =>
  Array.from({ length: SAMPLES }, (_, i) => frames.reduce((sum, frame) => sum + frame[i]!, 0))

const test = suite('codecs/kernels')

test('the module is what its source says', async () => {
  const fileOf = (name: string): string =>
    readFileSync(new URL(`../../codecs/kernels/${name}`, import.meta.url), 'utf8')
  assert.is(fileOf('frames-wasm.ts'), await assembled(fileOf('frames.wat')))
})

test('frames of any length, also of those that fill no vector or no kernel, are encoded and decoded whole', () => {
  for (const law of [PCMU, PCMA]) {
    for (const length of [0, 1, 3, 7, 80, 159, 161, 441, MAX_SAMPLES, MAX_SAMPLES + 1, 3 * MAX_SAMPLES + 5]) {
      const octets = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 0xff)
      const samples = new Int16Array(length + 1).fill(77)
      law.decode(octets, samples)
      assert.is(samples[length], 77, 'what lies behind stays')
      const one = new Int16Array(1)
      for (let i = 0; i < length; i++) {
        law.decode(octets.subarray(i, i + 1), one)
        assert.is(samples[i], one[0])
      }
      const again = new Uint8Array(length + 1).fill(77)
      law.encode(samples.subarray(0, length), again)
      assert.is(again[length], 77, 'what lies behind stays')
      // µ-law has two zeros.
      for (let i = 0; i < length; i++) assert.ok(again[i] === octets[i] || (law === PCMU && octets[i] === 0x7f))
    }
  }
})

test('a sum that fits is exact to the sample, whole and without each of those in it, and its octets are those of the law', () => {
  const frames = framesOf(5, 6000)
  const mixer = new Mixer(SAMPLES)
  mixer.clear()
  for (const frame of frames) mixer.add(frame)
  const out = new Int16Array(SAMPLES)
  const octets = new Uint8Array(SAMPLES)
  mixer.all(out, new Limiter())
  assert.equal([...out], sumOf(frames))
  for (const own of frames) {
    mixer.without(own, out, new Limiter())
    assert.equal([...out], sumOf(frames.filter(frame => frame !== own)))
    for (const law of [PCMU, PCMA]) {
      law.encode(out, octets)
      mixer.without(own, out, new Limiter())
      assert.equal([...mixer.encoded(law)], [...octets])
    }
  }
  mixer.remove(frames[0]!)
  mixer.all(out, new Limiter())
  assert.equal([...out], sumOf(frames.slice(1)))
})

test('what does not fit is limited, and encoded as it was limited', () => {
  const frames = framesOf(4)
  const mixer = new Mixer(SAMPLES)
  mixer.clear()
  for (const frame of frames) mixer.add(frame)
  const out = new Int16Array(SAMPLES)
  const limiter = new Limiter()
  mixer.all(out, limiter)
  assert.ok(limiter.gain < 1)
  const limited = new Int16Array(SAMPLES)
  new Limiter().process(Int32Array.from(sumOf(frames)), null, limited)
  const octets = new Uint8Array(SAMPLES)
  PCMU.encode(limited, octets)
  mixer.clear(mixer.tick)
  for (const frame of frames) mixer.add(frame)
  mixer.all(out, new Limiter())
  assert.equal([...mixer.encoded(PCMU)], [...octets])
  assert.equal([...out], [...limited])
})

test('correlations are those of the samples, with silence before the frame', () => {
  for (const frame of [
    ...framesOf(3),
    new Int16Array(SAMPLES).fill(-32_768, 0, 1),
    new Int16Array(SAMPLES).fill(32_767),
  ]) {
    for (const [kernelFrame, at] of [
      [FRAME_IN, FRAME_IN_AT],
      [FRAME_OUT, FRAME_OUT_AT],
    ] as const) {
      kernelFrame.set(frame)
      correlate(at, frame.length)
      for (const lag of [0, 1, 2]) {
        const expected = frame.reduce((sum, sample, i) => sum + sample * (frame[i - lag] ?? 0), 0)
        assert.is(correlations[lag], expected)
      }
    }
  }
})

test('mixers that take turns keep their sums', () => {
  const frames = framesOf(4, 6000)
  const [one, other] = [new Mixer(SAMPLES), new Mixer(SAMPLES)]
  one.clear()
  other.clear()
  one.add(frames[0]!)
  other.add(frames[1]!)
  one.add(frames[2]!)
  other.add(frames[3]!)
  const out = new Int16Array(SAMPLES)
  one.all(out, new Limiter())
  assert.equal([...out], sumOf([frames[0]!, frames[2]!]))
  other.without(frames[1]!, out, new Limiter())
  assert.equal([...out], [...frames[3]!])
  one.clear()
  one.add(frames[1]!)
  one.all(out, new Limiter())
  assert.equal([...out], [...frames[1]!])
})

test('a mixer that is done leaves nothing to the frames that follow, its own and those of others', () => {
  const frames = framesOf(3, 6000)
  const [one, other] = [new Mixer(SAMPLES), new Mixer(SAMPLES)]
  const out = new Int16Array(SAMPLES)
  one.clear()
  one.add(frames[0]!)
  one.done()
  other.clear()
  other.add(frames[1]!)
  one.clear()
  one.add(frames[2]!)
  one.all(out, new Limiter())
  assert.equal([...out], [...frames[2]!])
  one.done()
  other.all(out, new Limiter())
  assert.equal([...out], [...frames[1]!])
  other.done()
  other.clear()
  other.all(out, new Limiter())
  assert.equal([...out], [...new Int16Array(SAMPLES)])
})

test('parts are compared with others that begin a sample later each, or earlier, exactly', () => {
  const samples = framesOf(3).flatMap(frame => [...frame])
  SEARCHED.set(samples)
  const product = (here: number, there: number): number =>
    samples.slice(here, here + 80).reduce((sum, sample, i) => sum + sample * samples[there + i]!, 0)
  const ways: readonly { here: number; there: number; step: 1 | -1 }[] = [
    { here: 0, there: 40, step: 1 },
    { here: 400, there: 360, step: -1 },
    { here: 200, there: 0, step: 1 },
    { here: 160, there: 400, step: -1 },
  ]
  for (const { here, there, step } of ways) {
    compare(here, there, step, 80, 320)
    for (let place = 0; place < 320; place++) {
      const at = there + step * place
      if (at < 0 || at + 80 > samples.length) continue
      assert.is(products[place], product(here, at), `${step} ${place}`)
      assert.is(energies[place], product(at, at), `${step} ${place}`)
    }
  }
})

test.run()
