import * as assert from 'uvu/assert'
import { Histogram } from '../../bench/load/histogram.ts'
import { MARK_PLACES, type Mark, readMark, writeMark } from '../../bench/load/mark.ts'
import { readWideMark, writeWideMark } from '../../bench/load/wide-mark.ts'
import { writeL16le } from '../../codecs/l16.ts'
import { createResampler } from '../../codecs/resample.ts'
import { decodeUlaw, encodeUlaw } from '../../codecs/ulaw.ts'
import { Mixer } from '../../media/engine/mixer.ts'
import { suite } from '../harness.ts'

const test = suite('bench/marks')
const SAMPLES = 160
const silence = (): Uint8Array => new Uint8Array(SAMPLES).fill(0xff)

test('ten marks that are mixed are each read as they were said', () => {
  const mixer = new Mixer(SAMPLES)
  const linear = new Int16Array(SAMPLES)
  for (let place = 0; place < MARK_PLACES; place++) {
    const frame = silence()
    writeMark(frame, 0, place, 4000 + place, 16_000_000 + place)
    decodeUlaw(frame, linear)
    mixer.add(linear)
  }
  const mixed = silence()
  mixer.all(linear)
  encodeUlaw(linear, mixed)
  const mark: Mark = { leg: 0, frame: 0 }
  for (let place = 0; place < MARK_PLACES; place++) {
    assert.is(readMark(mixed, 0, place, mark), 'mark')
    assert.equal(mark, { leg: 4000 + place, frame: 16_000_000 + place })
  }
})

test('a place without a mark is silent, one with any octet changed is broken', () => {
  const frame = silence()
  writeMark(frame, 0, 3, 17, 4711)
  const mark: Mark = { leg: 0, frame: 0 }
  assert.is(readMark(frame, 0, 2, mark), 'silent')
  for (let at = 48; at < 62; at++) {
    const changed = frame.slice()
    changed[at]! ^= 1
    assert.is(readMark(changed, 0, 3, mark), 'broken', `octet ${at}`)
  }
})

test('a wide mark is read from each format of a stream', async () => {
  const resampler = await createResampler(8000, 16_000)
  const linear = new Int16Array(SAMPLES)
  const [narrow, wide] = [new Uint8Array(2 * SAMPLES), new Uint8Array(4 * SAMPLES)]
  for (let frame = 0; frame < 2000; frame++) {
    const said = silence()
    writeWideMark(said, 0, frame)
    decodeUlaw(said, linear)
    writeL16le(linear, narrow)
    writeL16le(resampler.process(linear), wide)
    const number = frame % 1024
    assert.is(readWideMark(said, 'mulaw_8000'), number)
    assert.is(readWideMark(narrow, 'l16_8000'), number)
    assert.is(readWideMark(wide, 'l16_16000'), number)
  }
  resampler.close()
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

test.run()
