import * as assert from 'uvu/assert'
import { giveBlock, PacketRing, takeBlock } from '../../../media/rtp/packet-ring.ts'
import { suite } from '../../harness.ts'

const packetOf = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 7 + seed) & 0xff)
const newRing = (): PacketRing => new PacketRing({ lost: 0, discarded: 0 })

const test = suite('media/rtp/packet-ring')

test('a payload of any length comes out as it went in, wherever it lies in its packet', () => {
  const ring = newRing()
  let sequence = 0
  for (const [total, offset, length] of [
    [172, 12, 160],
    [172, 12, 160],
    [176, 16, 160],
    [256, 16, 240],
    [1012, 12, 1000],
    [1500, 500, 1000],
    [3000, 12, 160],
    [13, 12, 1],
  ] as const) {
    const bytes = packetOf(total, sequence)
    ring.start(sequence)
    ring.store(sequence, 0, bytes, offset, length)
    const out = new Uint8Array(length)
    assert.ok(ring.takeWhole(0, out))
    assert.equal([...out], [...bytes.subarray(offset, offset + length)])
    sequence++
  }
})

test('streams that hold packets at the same time do not write over each other', () => {
  const rings = Array.from({ length: 100 }, newRing)
  for (let sequence = 0; sequence < 3; sequence++) {
    rings.forEach((ring, i) => ring.store(sequence, sequence * 160, packetOf(172, i + sequence), 12, 160))
  }
  const out = new Uint8Array(160)
  for (let sequence = 0; sequence < 3; sequence++) {
    rings.forEach((ring, i) => {
      assert.ok(ring.takeWhole(sequence * 160, out))
      assert.equal([...out], [...packetOf(172, i + sequence).subarray(12)])
    })
  }
})

test('what a stream has played, or gives up as it starts anew, is there for the next', () => {
  const block = takeBlock(160)
  giveBlock(block)
  const ring = newRing()
  ring.store(0, 0, packetOf(172, 1), 12, 160)
  assert.is.not(takeBlock(160), block)
  ring.start(7)
  assert.is(takeBlock(160), block)
})

test.run()
