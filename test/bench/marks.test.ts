import * as assert from 'uvu/assert'
import { Histogram } from '../../bench/load/histogram.ts'
import { isJoint } from '../../bench/load/joint.ts'
import { FRAMES, MARK_SAMPLES, MAX_LEGS, signOf, ULAW_SIGNS, writeMark } from '../../bench/load/mark.ts'
import { FRAME_SAMPLES, MarkReader } from '../../bench/load/mark-reader.ts'
import { PCMU } from '../../codecs/g711.ts'
import { Limiter } from '../../codecs/limiter.ts'
import { createResampler } from '../../codecs/resample.ts'
import { TimeScale } from '../../codecs/time-scale.ts'
import { Mixer } from '../../media/rooms/mixer.ts'
import { suite } from '../harness.ts'

const test = suite('bench/marks')
const silence = (): Uint8Array => new Uint8Array(FRAME_SAMPLES).fill(0xff)

const marked = (leg: number, frame: number): Uint8Array => {
  const octets = silence()
  writeMark(octets, 0, leg, frame)
  return octets
}

/** What a listener finds in frames that come one after the other. */
function found(frames: readonly Uint8Array[]): string[] {
  const reader = new MarkReader()
  return frames.map(octets => {
    reader.next().set(
      Array.from(octets, octet => ULAW_SIGNS[octet]!),
      FRAME_SAMPLES,
    )
    const what = reader.find()
    return what === 'mark' ? `${reader.mark.leg}/${reader.mark.frame}@${reader.offset}` : what
  })
}

test('a mark is read beside the noise of a hundred others', () => {
  const mixer = new Mixer(FRAME_SAMPLES)
  const linear = new Int16Array(FRAME_SAMPLES)
  PCMU.decode(marked(4000, 4011), linear)
  mixer.add(linear)
  for (let other = 0; other < 100; other++) {
    // Uniform, so that its RMS is that of -60 dBov.
    mixer.add(Int16Array.from(linear, () => Math.round((Math.random() * 2 - 1) * 57)))
  }
  const mixed = silence()
  mixer.all(linear, new Limiter())
  PCMU.encode(linear, mixed)
  assert.equal(found([mixed]), ['4000/4011@0'])
})

test('marks are found wherever they lie, each once, and after they have moved', () => {
  for (let shift = 0; shift < FRAME_SAMPLES; shift++) {
    const stream = new Uint8Array(6 * FRAME_SAMPLES).fill(0xff)
    for (let frame = 0; frame < 4; frame++) stream.set(marked(17, frame), shift + frame * FRAME_SAMPLES)
    const frames = Array.from({ length: 6 }, (_, i) => stream.subarray(i * FRAME_SAMPLES, (i + 1) * FRAME_SAMPLES))
    const seen = found(frames).filter(what => what !== 'none')
    assert.equal(
      seen.map(what => what.split('@')[0]),
      ['17/0', '17/1', '17/2', '17/3'],
      `shift ${shift}`,
    )
    const at = shift <= FRAME_SAMPLES - MARK_SAMPLES ? shift : shift - FRAME_SAMPLES
    for (const what of seen) assert.ok(Math.abs(Number(what.split('@')[1]) - at) <= 1, `${what}, shift ${shift}`)
  }
  const moved = new Uint8Array(4 * FRAME_SAMPLES).fill(0xff)
  moved.set(marked(5, 1), 0)
  moved.set(marked(5, 2), FRAME_SAMPLES - 12)
  moved.set(marked(6, 9), 2 * FRAME_SAMPLES + 10)
  const frames = Array.from({ length: 4 }, (_, i) => moved.subarray(i * FRAME_SAMPLES, (i + 1) * FRAME_SAMPLES))
  assert.equal(
    found(frames).map(what => what.split('@')[0]),
    ['5/1', '5/2', '6/9', 'none'],
  )
})

test('silence holds no mark, and a mark with any bit changed is broken', () => {
  assert.equal(found([silence()]), ['none'])
  for (let bit = 8; bit < 48; bit++) {
    const changed = marked(17, 471)
    for (let i = 0; i < 3; i++) changed[3 * bit + i]! ^= 0x80
    assert.equal(found([changed]), ['broken'], `bit ${bit}`)
  }
})

test('every leg and frame number is told apart', () => {
  for (let number = 0; number < FRAMES; number += 41) {
    const leg = (number * 7) % MAX_LEGS
    assert.equal(found([marked(leg, number + FRAMES)]), [`${leg}/${number}@0`])
  }
})

test('marks are read from a stream of 16 kHz, where its resampler has moved them to', async () => {
  const resampler = await createResampler(8000, 16_000)
  const linear = new Int16Array(FRAME_SAMPLES)
  const reader = new MarkReader()
  let latest = -1
  for (let frame = 0; frame < 500; frame++) {
    PCMU.decode(marked(3, frame), linear)
    const wide = resampler.process(linear)
    const signs = reader.next()
    for (let i = 0; i < FRAME_SAMPLES; i++) signs[FRAME_SAMPLES + i] = signOf(wide[2 * i]!)
    if (reader.find() !== 'mark') continue
    assert.is(reader.mark.frame, ++latest)
  }
  resampler.close()
  assert.ok(latest >= 497, `${latest}`)
})

test('percentiles are those of the values, to a twentieth of a millisecond', () => {
  const histogram = new Histogram()
  assert.is(histogram.percentiles(), null)
  for (let value = 1; value <= 1000; value++) histogram.add(value / 10)
  const { count, p50, p95, p99, max } = histogram.percentiles()!
  assert.is(count, 1000)
  const expected = [50, 95, 99, 100]
  for (const [i, value] of [p50, p95, p99, max].entries()) assert.ok(Math.abs(value - expected[i]!) < 0.051, `${value}`)
})

/** Signs of marks of a leg, one frame after the other. */
const signsOf = (leg: number, frames: number): Int8Array =>
  Int8Array.from(
    Array.from({ length: frames }, (_, frame) => [...marked(leg, 100 + frame)]).flat(),
    octet => ULAW_SIGNS[octet]!,
  )

for (const pace of ['faster', 'slower'] as const) {
  test(`a frame played ${pace} is known for a joint of what was said; what is torn, or another's, is not`, () => {
    const scale = new TimeScale(FRAME_SAMPLES)
    const linear = (frame: number): Int16Array => {
      const samples = new Int16Array(FRAME_SAMPLES)
      PCMU.decode(marked(17, 100 + frame), samples)
      return samples
    }
    const played: number[] = []
    const out = new Int16Array(FRAME_SAMPLES)
    let joints = 0
    for (let frame = 1; frame < 12; frame++) {
      scale.add(linear(frame), linear(frame - 1))
      if (frame < 3) continue
      const before = scale.waiting
      scale.take(out, joints === 0 ? pace : 'even', 70)
      if (before - scale.waiting !== FRAME_SAMPLES) joints = frame
      played.push(...Int8Array.from(out, signOf))
      if (joints > 0 && played.length > FRAME_SAMPLES * 2) break
    }
    assert.ok(joints > 0)
    const said = signsOf(17, 16)
    const heard = Int8Array.from(played.slice(-2 * FRAME_SAMPLES))
    const joint = Int8Array.from(played.slice(-3 * FRAME_SAMPLES, -FRAME_SAMPLES))
    assert.ok(isJoint(heard, said) || isJoint(joint, said))
    const good = isJoint(heard, said) ? heard : joint
    assert.is(isJoint(good, signsOf(18, 16)), false, "another's")
    const straight = said.slice(320, 640)
    assert.is(isJoint(straight, said), false, 'as it was said')
    for (const [from, to] of [
      [160, 240],
      [240, 320],
      [200, 280],
      [0, 160],
    ] as const) {
      const torn = good.slice()
      torn.set(signsOf(3000, 16).subarray(700 + from, 700 + to), from)
      assert.is(isJoint(torn, said), false, `torn from ${from} to ${to}`)
    }
  })
}

test.run()
