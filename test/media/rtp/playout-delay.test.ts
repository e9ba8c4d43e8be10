import * as assert from 'uvu/assert'
import { GROUP_PACKETS, PlayoutDelay } from '../../../media/rtp/playout-delay.ts'
import { suite } from '../../harness.ts'

/** A packet with this much to spare has come, as the jitter buffer notes it. */
function observe({ spares, shiftMs }: PlayoutDelay, spareMs: number): void {
  spares.packets++
  spares.least = Math.min(spares.least, spareMs - shiftMs)
  spares.most = Math.max(spares.most, spareMs - shiftMs)
  if (Number.isNaN(spares.smoothedMs)) spares.smoothedMs = spareMs
}

function tick(delay: PlayoutDelay): void {
  if (delay.spares.packets >= GROUP_PACKETS) delay.endGroup()
}

/** Ticks with one packet each, which has this much to spare. */
function packets(delay: PlayoutDelay, count: number, spareMs: number): void {
  for (let at = 0; at < count; at++) {
    observe(delay, spareMs)
    tick(delay)
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

test('with nearly nothing to spare a frame is waited for before packets are late', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 16, 0.2)
  assert.is(delay.excess, -1)
  delay.shift(20)
  assert.is(delay.excess, 0)
})

for (const [what, latenessMs, asked] of [
  ['one packet that is late in four seconds decides nothing, another one asks for what it lacks', 20, [0, -2]],
  ['one or two stalls in four seconds decide nothing, three do', 120, [0, 0, -7]],
] as const) {
  test(what, () => {
    const delay = new PlayoutDelay(20, 200)
    packets(delay, 192, 10)
    for (const excess of asked) {
      observe(delay, -latenessMs)
      packets(delay, 30, 10)
      assert.is(delay.excess, excess)
    }
    packets(delay, 192, 10)
    assert.is(delay.excess, 0, 'what is long ago')
  })
}

test('after a late packet half a second goes by before the delay is cut', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 192, 10)
  assert.is(delay.grow(2, 30), 2)
  packets(delay, 16, 50)
  assert.is(delay.excess, 0)
  packets(delay, 8, 50)
  assert.is(delay.excess, 2)
})

const SECOND = 50

/** Seconds of packets with a frame to spare, one of them late every so often by less than that. @returns frames that were too much meanwhile */
function lateEvery(delay: PlayoutDelay, everySeconds: number, seconds: number): number {
  let cuts = 0
  for (let at = 1; at <= seconds * SECOND; at++) {
    packets(delay, 1, at % (everySeconds * SECOND) === 0 ? 13 : 25)
    if (delay.excess > 0) cuts++
  }
  return cuts
}

test('a line with a packet that is late once in five seconds keeps its delay; when there is none for forty, a frame is too much', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 3 * SECOND, 5)
  assert.is(delay.grow(1, 8), 1)
  // The third one tells.
  lateEvery(delay, 5, 20)
  assert.is(lateEvery(delay, 5, 280), 0)
  packets(delay, 28 * SECOND, 25)
  assert.is(delay.excess, 0)
  packets(delay, 13 * SECOND, 25)
  assert.is(delay.excess, 1)
})

test('where a packet is late twice in forty seconds, the frame that it asked for is too much four seconds later', () => {
  const delay = new PlayoutDelay(20, 200)
  packets(delay, 60 * SECOND, 5)
  for (let i = 0; i < 5; i++) {
    assert.is(delay.grow(1, 8), 1)
    observe(delay, 12)
    packets(delay, 4 * SECOND, 25)
    assert.is(delay.excess, 1, `time ${i}`)
    delay.cut()
    packets(delay, 20 * SECOND, 5)
  }
})

test('seconds without packets decide nothing', () => {
  const delay = new PlayoutDelay(20, 200)
  for (let at = 0; at < 1_000; at++) tick(delay)
  assert.is(delay.excess, 0)
  assert.is(delay.smoothedMs, 0)
})

test.run()
