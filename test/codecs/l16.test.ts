import * as assert from 'uvu/assert'
import { readL16be, readL16le, writeL16be, writeL16le } from '../../codecs/l16.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/l16')

const SAMPLES = Int16Array.of(1, -2, 0x1234, -32_768, 32_767)

test('RTP carries the most significant octet first (RFC 3551 §4.5.11)', () => {
  const octets = new Uint8Array(10)
  writeL16be(SAMPLES, octets)
  assert.equal([...octets], [0x00, 0x01, 0xff, 0xfe, 0x12, 0x34, 0x80, 0x00, 0x7f, 0xff])
})

test('streams carry the least significant octet first', () => {
  const octets = new Uint8Array(12)
  writeL16le(SAMPLES, octets, 1)
  assert.equal([...octets], [0, 0x01, 0x00, 0xfe, 0xff, 0x34, 0x12, 0x00, 0x80, 0xff, 0x7f, 0])
})

test('what was written is read back, in either order', () => {
  for (const [write, read] of [
    [writeL16be, readL16be],
    [writeL16le, readL16le],
  ] as const) {
    const octets = new Uint8Array(10)
    const back = new Int16Array(5)
    write(SAMPLES, octets)
    assert.is(read(octets, back), 5)
    assert.equal(back, SAMPLES)
  }
})

test('a payload that is too long or ends in half a sample is read as far as both sides go', () => {
  const out = new Int16Array(2)
  assert.is(readL16be(new Uint8Array(7), out), 2)
  assert.is(readL16le(new Uint8Array(3), out), 1)
})

test.run()
