import * as assert from 'uvu/assert'
import { SourceLatch } from '../../../media/rtp/latch.ts'
import { suite } from '../../harness.ts'

const test = suite('media/rtp/latch')

const PHONE = '203.0.113.9'
const STRANGER = '198.51.100.1'
const MINE = 7
const THEIRS = 8

/** The description names 192.0.2.1:4000, signalling comes from PHONE. */
const latched = (more: object = {}): SourceLatch => {
  const latch = new SourceLatch()
  latch.describe({ host: '192.0.2.1', port: 4000, signallingHost: PHONE, isReachable: true, ...more })
  return latch
}

/** Offers packets in sequence from `at` on, 20 ms apart. @returns number of accepted ones */
function offer(
  latch: SourceLatch,
  from: { host: string; port?: number; ssrc?: number },
  at: number,
  count = 1,
  step = 1,
): number {
  const { host, port = 61_000, ssrc = MINE } = from
  let taken = 0
  for (let n = 0; n < count; n++) if (latch.accept(host, port, ssrc, (65_530 + n * step) & 0xffff, at + n * 20)) taken++
  return taken
}

test('media goes to the described address until a packet has come', () => {
  const latch = latched()
  assert.equal([latch.host, latch.port], ['192.0.2.1', 4000])
})

test('the first valid packet of the described or the signalling host latches onto where it really came from', () => {
  for (const host of ['192.0.2.1', PHONE, `::ffff:${PHONE}`]) {
    const latch = latched()
    assert.is(offer(latch, { host }, 0), 1, host)
    assert.equal([latch.host, latch.port], [host, 61_000])
  }
})

test('before the first latch nobody else is taken, however long and steadily it sends', () => {
  const latch = latched()
  assert.is(offer(latch, { host: STRANGER }, 0, 500), 0)
  assert.equal([latch.host, latch.port, latch.refused], ['192.0.2.1', 4000, 500])
})

test('packets of anyone else are refused while the latched source sends', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  assert.is(offer(latch, { host: STRANGER }, 20), 0)
  assert.is(offer(latch, { host: PHONE, port: 61_002 }, 40), 0)
  assert.is(latch.refused, 2)
  assert.is(latch.port, 61_000)
})

test('the described address is never refused', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  assert.is(offer(latch, { host: '192.0.2.1', port: 4000, ssrc: THEIRS }, 20), 1)
  assert.is(latch.host, '192.0.2.1')
})

test('after three seconds of silence another port of its host takes over with several packets in sequence', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  assert.is(offer(latch, { host: PHONE, port: 62_000 }, 2900), 0)
  assert.is(offer(latch, { host: PHONE, port: 62_000, ssrc: THEIRS }, 3000, 5), 2)
  assert.is(latch.port, 62_000)
})

test('after three seconds of silence another host takes over only with the same SSRC and several packets in sequence', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  assert.is(offer(latch, { host: STRANGER, ssrc: THEIRS }, 3000, 200), 0, 'another SSRC')
  assert.is(offer(latch, { host: STRANGER }, 7000, 200, 2), 0, 'out of sequence')
  assert.is(offer(latch, { host: STRANGER }, 12_000, 3), 0, 'too few')
  assert.equal([latch.host, latch.port], [PHONE, 61_000])
  assert.is(offer(latch, { host: STRANGER }, 13_000, 4), 1)
  assert.is(latch.host, STRANGER)
})

test('a host that comes back does not find its run of packets half done', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  assert.is(offer(latch, { host: STRANGER }, 3000, 3), 0)
  assert.is(offer(latch, { host: '198.51.100.2' }, 3100, 1), 0)
  assert.is(offer(latch, { host: STRANGER }, 3200, 3), 0)
})

test('an address that the policy forbids is sent nothing and taken nothing from', () => {
  const latch = latched({ host: '10.0.0.5', isReachable: false })
  assert.is(latch.port, 0)
  assert.is(offer(latch, { host: '10.0.0.5', port: 4000 }, 0), 0)
  assert.is(latch.isParty('10.0.0.5'), false)
  assert.is(offer(latch, { host: PHONE }, 20), 1)
  assert.equal([latch.host, latch.port], [PHONE, 61_000])
})

test('a new description opens the latch; the same one again does not', () => {
  const latch = latched()
  const again = { host: '192.0.2.1', signallingHost: PHONE, isReachable: true }
  offer(latch, { host: PHONE }, 0)
  latch.describe({ ...again, port: 4000 })
  assert.is(latch.port, 61_000)
  latch.describe({ ...again, port: 4002 })
  assert.is(latch.port, 4002)
  assert.is(offer(latch, { host: PHONE, port: 61_008 }, 20), 1)
})

test('packets still under way from the former address are taken, and neither draw media back nor keep the new source out', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0, 5)
  latch.describe({ host: '192.0.2.1', port: 4002, signallingHost: PHONE, isReachable: true })
  assert.is(offer(latch, { host: PHONE }, 100, 10), 10)
  assert.equal([latch.host, latch.port], ['192.0.2.1', 4002])
  assert.is(offer(latch, { host: PHONE, port: 61_008 }, 300), 1)
  assert.equal([latch.host, latch.port], [PHONE, 61_008])
  assert.is(offer(latch, { host: PHONE }, 320, 10), 0)
})

test('a party that goes on from where it was, half a second after it named another address, is behind a NAT', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  latch.describe({ host: '192.0.2.1', port: 4002, signallingHost: PHONE, isReachable: true })
  offer(latch, { host: PHONE }, 20, 25)
  assert.equal([latch.host, latch.port], [PHONE, 61_000])
})

test('a new address that the policy forbids leaves the source as it was', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0)
  latch.describe({ host: '10.0.0.5', port: 4002, signallingHost: PHONE, isReachable: false })
  offer(latch, { host: PHONE }, 20)
  assert.equal([latch.host, latch.port], [PHONE, 61_000])
})

test('a hold that names no address leaves the source as it was', () => {
  const latch = latched()
  const again = { port: 4000, signallingHost: PHONE, isReachable: true }
  offer(latch, { host: PHONE }, 0)
  latch.describe({ ...again, host: '0.0.0.0' })
  latch.describe({ ...again, host: '192.0.2.1' })
  assert.equal([latch.host, latch.port], [PHONE, 61_000])
})

test('another SSRC of the same source is its next stream; what is left of the one before it, beside it, is refused until either pauses', () => {
  const latch = latched()
  offer(latch, { host: PHONE }, 0, 10)
  assert.is(offer(latch, { host: PHONE, ssrc: THEIRS }, 200), 1)
  for (let n = 0; n < 10; n++) {
    assert.is(offer(latch, { host: PHONE, ssrc: MINE }, 207 + 20 * n), 0)
    assert.is(offer(latch, { host: PHONE, ssrc: THEIRS }, 220 + 20 * n), 1)
  }
  assert.is(offer(latch, { host: PHONE, ssrc: THEIRS }, 420, 5), 5)
  assert.is(offer(latch, { host: PHONE, ssrc: MINE }, 520, 5), 5, 'it comes back after a pause, without a packet less')

  const both = latched()
  offer(both, { host: PHONE }, 0, 10)
  assert.is(offer(both, { host: PHONE, ssrc: THEIRS }, 187), 1)
  assert.is(offer(both, { host: PHONE }, 200, 10), 7, 'a single packet of another stream takes 60 ms at the most')
})

test('what is withheld goes nowhere until a packet comes from there, or it is no longer withheld', () => {
  const latch = latched()
  latch.withhold(true)
  assert.is(latch.port, 0)
  latch.withhold(false)
  assert.equal([latch.host, latch.port], ['192.0.2.1', 4000])
  latch.withhold(true)
  assert.is(offer(latch, { host: PHONE }, 0), 1)
  latch.withhold(true)
  assert.equal([latch.host, latch.port], [PHONE, 61_000])
  const unreachable = latched({ isReachable: false })
  unreachable.withhold(false)
  assert.is(unreachable.port, 0)
})

test.run()
