import * as assert from 'uvu/assert'
import { GROUP_PACKETS, PlayoutDelay } from '../../../media/rtp/playout-delay.ts'
import { suite } from '../../harness.ts'

/** A packet with this much to spare has come, as the jitter buffer notes it. */
function observe(delay: PlayoutDelay, spareMs: number): void {
  delay.packets++
  delay.least = Math.min(delay.least, spareMs - delay.shiftMs)
  delay.most = Math.max(delay.most, spareMs - delay.shiftMs)
  if (Number.isNaN(delay.smoothedMs)) delay.smoothedMs = spareMs
}

/** Ticks with one packet each, which has this much to spare. */
function packets(delay: PlayoutDelay, count: number, spareMs: number): void {
  for (let at = 0; at < count; at++) {
    observe(delay, spareMs)
    if (delay.packets >= GROUP_PACKETS) delay.endGroup()
  }
}

const test = suite('media/rtp/playout-delay')

test('it grows by what a late packet asks for and stops at its bound', () => {
  const delay = new PlayoutDelay(20, 100)
  observe(delay, 30)
  assert.is(delay.grow(2, 30), 2)
  assert.is(delay.grow(2, 30), 1)
  assert.is(delay.grow(1, 10), 0)
  assert.is(delay.smoothedMs, 90)
})

test('it does not grow for a packet that no bounded delay would have saved', () => {
  const delay = new PlayoutDelay(20, 100)
  observe(delay, 5)
  assert.is(delay.grow(1, 101), 0)
  assert.is(delay.grow(1, 100), 1)
})

test('a frame is too much once every packet of a second had more than it to spare', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 47, 23)
  assert.is(delay.excess, 0)
  packets(delay, 1, 23)
  assert.is(delay.excess, 1)
  delay.shift(-20)
  assert.is(delay.excess, 0)
  packets(delay, 500, 3)
  assert.is(delay.excess, 0, 'no frame waits')
  packets(delay, 500, 21)
  assert.is(delay.excess, 0, 'a frame less would leave too little')
})

test('a large delay is too much by all its frames but what the network needs', () => {
  const delay = new PlayoutDelay(20, 400)
  packets(delay, 48, 185)
  assert.is(delay.excess, 9)
})

/** Packets with this much to spare, one in 16 with less. */
function unsteadyPackets(delay: PlayoutDelay, count: number, spareMs: number, worstMs: number): void {
  for (let at = 0; at < count; at++) packets(delay, 1, at % 16 === 7 ? worstMs : spareMs)
}

test('on an unsteady network a frame less has to leave more, the worse may come, and 6 ms at the most', () => {
  const excessOf = (spareMs: number, worstMs: number): number => {
    const delay = new PlayoutDelay(20, 200)
    unsteadyPackets(delay, 2_000, spareMs, worstMs)
    return delay.excess
  }
  assert.is(excessOf(24, 24), 1, 'a steady one')
  assert.is(excessOf(25, 24), 1, 'hardly less steady')
  assert.is(excessOf(29, 24), 0)
  assert.is(excessOf(29, 25), 1, '5 ms remain where the worst are 2 ms behind the average')
  assert.is(excessOf(39, 25.9), 0)
  assert.is(excessOf(39, 26.1), 1)
})

test('with nearly nothing to spare a frame is waited for before packets are late', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 16, 0.2)
  assert.is(delay.excess, -1)
  delay.shift(20)
  assert.is(delay.excess, 0)
})

test('a packet that is late asks for what it lacks for four seconds', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 192, 10)
  observe(delay, -20)
  packets(delay, 30, 10)
  assert.is(delay.excess, -2)
  packets(delay, 192, 10)
  assert.is(delay.excess, 0)
})

test('one or two stalls in four seconds decide nothing, three do', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 192, 10)
  for (const excess of [0, 0, -7]) {
    observe(delay, -120)
    packets(delay, 30, 10)
    assert.is(delay.excess, excess)
  }
  packets(delay, 192, 10)
  assert.is(delay.excess, 0, 'what is long ago')
})

test('after a late packet half a second goes by before the delay is cut', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 192, 10)
  assert.is(delay.grow(2, 30), 2)
  packets(delay, 16, 50)
  assert.is(delay.excess, 0)
  packets(delay, 8, 50)
  assert.is(delay.excess, 2)
})

/** Number of ticks until a frame is to be skipped. */
function untilCut(delay: PlayoutDelay): number {
  for (let ticks = 1; ; ticks++) {
    packets(delay, 1, 25)
    if (delay.excess > 0) return ticks
  }
}

test('a frame less that a late packet undoes soon is tried again after twice the time, and so on up to a minute', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 192, 5)
  const tries: number[] = []
  for (let i = 0; i < 8; i++) {
    assert.is(delay.grow(1, 8), 1)
    observe(delay, 12)
    tries.push(untilCut(delay))
    delay.cut()
    packets(delay, 100, 5)
  }
  // Four seconds, then those and once, twice, four times … as many again; to a group's length.
  for (const [i, times] of [1, 2, 3, 5, 9, 17, 17, 17].entries()) {
    assert.ok(Math.abs(tries[i]! - 192 * times) <= 16, `${tries.join()}: try ${i}`)
  }
})

test('a frame less that holds is no mistake: the next one is as quick', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 192, 5)
  for (let i = 0; i < 5; i++) {
    assert.is(delay.grow(1, 8), 1)
    observe(delay, 12)
    assert.ok(untilCut(delay) <= 208)
    delay.cut()
    packets(delay, 500, 5)
  }
})

test('seconds without packets decide nothing', () => {
  const delay = new PlayoutDelay(20, 200)
  for (let at = 0; at < 1_000; at++) if (delay.packets >= GROUP_PACKETS) delay.endGroup()
  assert.is(delay.excess, 0)
  assert.ok(Number.isNaN(delay.smoothedMs))
})

test.run()
