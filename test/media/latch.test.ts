import * as assert from 'uvu/assert'
import { SourceLatch } from '../../media/latch.ts'
import { suite } from '../harness.ts'

const test = suite('media/latch')

const latched = (): SourceLatch => {
  const latch = new SourceLatch()
  latch.describe('192.0.2.1', 4000)
  return latch
}

test('media goes to the described address until a packet comes', () => {
  const latch = latched()
  assert.equal([latch.host, latch.port], ['192.0.2.1', 4000])
})

test('the first valid packet latches onto the address that it really came from', () => {
  const latch = latched()
  assert.ok(latch.accept('203.0.113.9', 61_000, 0))
  assert.equal([latch.host, latch.port], ['203.0.113.9', 61_000])
})

test('packets of a third address are refused and counted while the source lives', () => {
  const latch = latched()
  latch.accept('203.0.113.9', 61_000, 0)
  assert.not(latch.accept('198.51.100.1', 5000, 20))
  assert.not(latch.accept('203.0.113.9', 61_002, 40))
  assert.is(latch.refused, 2)
  assert.is(latch.port, 61_000)
})

test('the described address takes the latch back from whoever guessed the port first', () => {
  const latch = latched()
  latch.accept('198.51.100.1', 5000, 0)
  assert.ok(latch.accept('192.0.2.1', 4000, 20))
  assert.is(latch.host, '192.0.2.1')
  assert.not(latch.accept('198.51.100.1', 5000, 40))
})

test('a source that was silent for three seconds loses the latch to another', () => {
  const latch = latched()
  latch.accept('203.0.113.9', 61_000, 0)
  assert.not(latch.accept('203.0.113.9', 62_000, 2999))
  assert.ok(latch.accept('203.0.113.9', 62_000, 3000))
})

test('a new description opens the latch; the same one again does not', () => {
  const latch = latched()
  latch.accept('203.0.113.9', 61_000, 0)
  latch.describe('192.0.2.1', 4000)
  assert.is(latch.port, 61_000)
  latch.describe('192.0.2.1', 4002)
  assert.is(latch.port, 4002)
  assert.ok(latch.accept('203.0.113.9', 61_008, 20))
})

test.run()
