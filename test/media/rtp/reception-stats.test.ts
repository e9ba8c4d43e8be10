import * as assert from 'uvu/assert'
import { ReceptionStats } from '../../../media/rtp/reception-stats.ts'
import { suite } from '../../harness.ts'

const SSRC = 0xdeadbeef

/** A source that has passed its probation: its first counted packet is `first`. */
function validSource(first: number): ReceptionStats {
  const stats = new ReceptionStats()
  stats.receive(SSRC, (first - 1) & 0xffff, 0, 0)
  assert.ok(stats.receive(SSRC, first, 160, 20))
  return stats
}

const test = suite('media/rtp/reception-stats')

test('a source is valid after two packets in sequence; others restart the probation (RFC 3550 §A.1)', () => {
  const stats = new ReceptionStats()
  assert.equal(
    [10, 30, 50, 51, 52].map(sequence => stats.receive(SSRC, sequence, sequence * 160, sequence * 20)),
    [false, false, false, true, true],
  )
  assert.is(stats.received, 2)
  assert.is(stats.expected, 2)
})

test('lost is expected less received, over a wrap of the sequence number (RFC 3550 §A.3)', () => {
  const stats = validSource(65_530)
  for (let i = 1; i < 100; i++) if (i % 10 !== 0) stats.receive(SSRC, (65_530 + i) & 0xffff, i, i)
  assert.is(stats.expected, 100)
  assert.is(stats.cumulativeLost, 9)
  assert.is(stats.report(0)!.highestSequence, 65_536 + ((65_530 + 99) & 0xffff))
})

test('fraction lost is that of the interval since the last report, 256 for all', () => {
  const stats = validSource(0)
  for (let i = 1; i < 8; i++) if (i !== 3 && i !== 5) stats.receive(SSRC, i, i, i)
  assert.is(stats.report(0)!.fractionLost, 64)
  for (let i = 8; i < 16; i++) stats.receive(SSRC, i, i, i)
  assert.is(stats.report(0)!.fractionLost, 0)
  assert.is(stats.report(0)!.fractionLost, 0)
  assert.is(stats.report(0)!.cumulativeLost, 2)
})

test('duplicates make the loss negative, which counts as none in the interval', () => {
  const stats = validSource(1)
  for (let i = 0; i < 5; i++) stats.receive(SSRC, 1, 160, 20)
  assert.is(stats.cumulativeLost, -5)
  assert.is(stats.report(0)!.fractionLost, 0)
})

test('cumulative loss is clamped to 24 bits', () => {
  const stats = validSource(0)
  let sequence = 0
  for (let i = 0; i < 3_000; i++) {
    sequence = (sequence + 2_999) & 0xffff
    stats.receive(SSRC, sequence, i, i)
  }
  assert.is(stats.cumulativeLost, 0x7fffff)
})

test('a dropout below 3000 is loss, a packet up to 100 behind is reordering', () => {
  const stats = validSource(1_000)
  assert.ok(stats.receive(SSRC, 3_999, 0, 0))
  assert.is(stats.expected, 3_000)
  assert.ok(stats.receive(SSRC, 3_901, 0, 0))
  assert.is(stats.expected, 3_000)
})

test('a big jump is refused once and restarts the source when the next packet follows it', () => {
  const stats = validSource(1_000)
  assert.not(stats.receive(SSRC, 30_000, 0, 0))
  assert.ok(stats.receive(SSRC, 1_001, 0, 0))
  assert.not(stats.receive(SSRC, 40_000, 0, 0))
  assert.ok(stats.receive(SSRC, 40_001, 0, 0))
  assert.is(stats.expected, 1)
  assert.is(stats.received, 1)
})

test('jitter is the mean deviation of the transit time, smoothed by 16 (RFC 3550 §A.8)', () => {
  const stats = validSource(0)
  let expected = 0
  const deviations = [0, 5, 0, 5, 12, 3]
  let previous = 0
  deviations.forEach((deviationMs, i) => {
    stats.receive(SSRC, i + 1, (i + 2) * 160, (i + 2) * 20 + deviationMs)
    // The first packet came 20 ms after the one on probation, without deviation.
    expected += (Math.abs(deviationMs - previous) - expected) / 16
    previous = deviationMs
  })
  // validSource sent timestamp 160 at 20 ms: transit 0.
  assert.ok(Math.abs(stats.jitterMs - expected) < 1e-9, `${stats.jitterMs} ms instead of ${expected}`)
  assert.is(stats.report(0)!.jitter, Math.floor(expected * 8))
})

test('a steady stream has no jitter when its timestamp wraps', () => {
  const stats = new ReceptionStats()
  for (let i = 0; i < 100; i++) stats.receive(SSRC, i, (2 ** 32 - 8_000 + i * 160) >>> 0, 1e9 + i * 20)
  assert.is(stats.jitterMs, 0)
})

test('the packets of one telephone event, which share a timestamp, are no jitter', () => {
  const stats = validSource(0)
  for (let i = 1; i < 20; i++) stats.receive(SSRC, i, 320, 40 + i * 20)
  assert.ok(stats.jitterMs <= 20 / 16)
})

test('LSR is the last sender report of the source, DLSR the time since then in 1/65536 s', () => {
  const stats = validSource(0)
  assert.is(stats.report(500)!.lastSr, 0)
  assert.is(stats.report(500)!.delaySinceLastSr, 0)
  stats.senderReport(1, 0x11111111, 900)
  stats.senderReport(SSRC, 0xb7052000, 1_000)
  const block = stats.report(6_250)!
  assert.is(block.lastSr, 0xb7052000)
  // 5.25 s, the example of RFC 3550 §6.4.1 figure 2.
  assert.is(block.delaySinceLastSr, 0x00054000)
})

test('a new SSRC starts anew', () => {
  const stats = validSource(0)
  stats.receive(SSRC, 50, 1, 1)
  assert.not(stats.receive(2, 7, 1, 1))
  assert.is(stats.report(0), null)
  assert.ok(stats.receive(2, 8, 1, 1))
  assert.is(stats.cumulativeLost, 0)
  assert.is(stats.report(0)!.ssrc, 2)
})

test.run()
