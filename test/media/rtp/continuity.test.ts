import * as assert from 'uvu/assert'
import { Continuity } from '../../../media/rtp/continuity.ts'
import { RtpPacket } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'

const test = suite('media/rtp/continuity')

const FRAME = 160
const BYTES = new Uint8Array(12)

/** A sender, whose packets take no time, and what becomes of them. */
class Stream {
  readonly continuity = new Continuity()
  /** Sequence numbers and timestamps as they are passed on. */
  readonly passed: [number, number][] = []
  /** Of all packets that are not just on. */
  readonly judged: string[] = []
  #now = 0
  #before = 0

  /** A packet arrives, so much later than the last one [ms]. */
  receive(sequence: number, timestamp: number, laterMs = 20): this {
    const { continuity } = this
    this.#now += laterMs
    const packet = Object.assign(new RtpPacket(), { sequence: sequence & 0xffff, timestamp: timestamp >>> 0 })
    const transit = (8 * this.#now - (timestamp + continuity.timestampShift)) | 0
    const isNext = packet.sequence === continuity.nextSequence && (packet.timestamp | 0) === continuity.nextTimestamp
    const judgement = isNext ? this.#next(packet) : continuity.judge(packet, transit, this.#before, 8000, this.#now)
    if (judgement !== 'on') this.judged.push(judgement)
    if (judgement === 'held') {
      continuity.hold(packet, BYTES, transit, this.#now)
      return this
    }
    const held = judgement === 'on' ? null : continuity.release()
    if (held !== null) this.#pass(held)
    this.#pass(packet)
    return this
  }

  /** As a leg does. */
  #next({ sequence, timestamp }: RtpPacket): 'on' {
    this.continuity.nextSequence = (sequence + 1) & 0xffff
    this.continuity.nextTimestamp = (timestamp + this.continuity.step) | 0
    return 'on'
  }

  talk(packets: number, sequence: number, timestamp: number): this {
    for (let n = 0; n < packets; n++) this.receive(sequence + n, timestamp + n * FRAME)
    return this
  }

  #pass({ sequence, timestamp }: { sequence: number; timestamp: number }): void {
    const { continuity } = this
    const at = (timestamp + continuity.timestampShift) >>> 0
    this.#before = (8 * this.#now - at) | 0
    continuity.arrived(this.#before)
    this.passed.push([(sequence + continuity.sequenceShift) & 0xffff, at])
  }
}

/** Whether the packets passed on follow each other. */
function isOneStream({ passed }: Stream): boolean {
  return passed.every(([sequence, timestamp], n) => {
    const [before, at] = passed[n - 1] ?? [sequence - 1, timestamp - FRAME]
    return ((sequence - before) & 0xffff) === 1 && ((timestamp - at) | 0) === FRAME
  })
}

test('numbers that wrap around are those of one stream', () => {
  const stream = new Stream().talk(200, 65_500, 2 ** 32 - 100 * FRAME)
  assert.equal(stream.judged, [])
  assert.ok(isOneStream(stream))
})

test('timestamps that jump while sequence numbers go on are followed at once', () => {
  for (const jump of [1000, 1_000_000, 2_000_000_000, -800, -1_000_000]) {
    const stream = new Stream().talk(30, 100, 5_000_000).talk(30, 130, 5_000_000 + 30 * FRAME + jump)
    assert.equal(stream.judged, ['retimed'], `by ${jump}`)
    assert.ok(isOneStream(stream))
  }
})

test('sequence numbers that jump while timestamps go on are followed at once', () => {
  for (const jump of [10, 5000, 30_000, -10, -90, -5000]) {
    const stream = new Stream().talk(30, 1000, 0).talk(30, 1030 + jump, 30 * FRAME)
    assert.equal(stream.judged, ['renumbered'], `by ${jump}`)
    assert.ok(isOneStream(stream))
  }
})

test('RFC 3550 §A.1: where both jump, the second packet in sequence tells, and the first one is not lost', () => {
  for (const [sequence, timestamp] of [
    [30_000, 1_000_000],
    [-5000, 4800],
    [40, -1_000_000],
    [-40, 1_000_000],
    [200, 16_000],
  ] as const) {
    const stream = new Stream().talk(30, 100, 0).talk(30, 130 + sequence, 30 * FRAME + timestamp)
    assert.equal(stream.judged, ['held', 'renumbered'], `by ${sequence} and ${timestamp}`)
    assert.is(stream.passed.length, 60)
    assert.ok(isOneStream(stream))
    assert.is(stream.continuity.dropped, 0)
  }
})

test('a stray packet changes nothing, and is counted', () => {
  const stream = new Stream()
    .talk(30, 100, 0)
    .receive(50_000, 77_777_777, 0)
    .talk(30, 130, 30 * FRAME)
  stream.receive(20_000, 7, 0).talk(30, 160, 60 * FRAME)
  assert.ok(isOneStream(stream))
  assert.is(stream.passed.length, 90)
  stream.receive(40_000, 9, 0)
  assert.is(stream.continuity.dropped, 2)
})

test('what is lost, late, doubled or left out in a pause is no restart', () => {
  const stream = new Stream().talk(30, 100, 0)
  stream.receive(130 + 4, (30 + 4) * FRAME, 100)
  for (const n of [30, 32, 32, 31, 33]) stream.receive(100 + n, n * FRAME, 1)
  stream.receive(135, 400 * FRAME, 365 * 20 - 5).receive(135, 400 * FRAME)
  // An outage of two seconds.
  stream.receive(235, 500 * FRAME, 2000 - 20)
  assert.equal(stream.judged, [])
  assert.equal([stream.continuity.sequenceShift, stream.continuity.timestampShift], [0, 0])
})

test('a sender that begins again where it was a moment ago is told from doubled packets by the third one', () => {
  const stream = new Stream().talk(30, 100, 0)
  for (let n = 10; n < 30; n++) stream.receive(100 + n, n * FRAME, 1)
  assert.not.ok(stream.judged.includes('renumbered'), 'doubled')
  stream.talk(10, 130, 30 * FRAME).talk(40, 115, 15 * FRAME)
  assert.is(stream.judged.filter(judged => judged === 'renumbered').length, 1)
  assert.ok(isOneStream(Object.assign(stream, { passed: stream.passed.slice(-38) })))
})

test('one that begins again a moment ago with other timestamps loses no packet', () => {
  for (const [sequence, timestamp] of [
    [-15, -20],
    [-3, -60],
    [-40, -1000],
    [-1, -2],
  ] as const) {
    const stream = new Stream().talk(60, 100, 0).talk(30, 160 + sequence, (60 + timestamp) * FRAME)
    assert.equal(stream.judged, ['held', 'renumbered'], `by ${sequence} and ${timestamp} frames`)
    assert.ok(isOneStream(stream))
  }
})

test('numbers that are missing where no audio is are no loss, but shortly after packets of something else, some of which may be lost', () => {
  for (const jump of [1, 2, 3]) {
    assert.equal(new Stream().talk(30, 100, 0).talk(30, 130 + jump, 30 * FRAME).judged, ['renumbered'])
  }
  const stream = new Stream().talk(30, 100, 0)
  stream.continuity.skip(130, 600)
  stream.talk(30, 132, 30 * FRAME)
  assert.equal(stream.judged, [])
})

test('timestamps that step further than the numbers are a pause if the packet took that long', () => {
  const paused = new Stream().talk(30, 100, 0).receive(130, 33 * FRAME, 80)
  assert.equal(paused.judged, [])
  const jumped = new Stream().talk(30, 100, 0).receive(130, 33 * FRAME, 20)
  assert.equal(jumped.judged, ['retimed'])
})

test('what follows a pause is as long after what came before, whatever its timestamps are', () => {
  const stream = new Stream()
    .talk(30, 100, 0)
    .receive(130, 123_456_789, 1020)
    .talk(10, 131, 123_456_789 + FRAME)
  const [before, after] = stream.passed.slice(29, 31)
  assert.equal([after![0] - before![0], after![1] - before![1]], [1, 51 * FRAME])
})

test('a short pause is not how long a packet lasts: a loss right behind it is no restart', () => {
  for (const pauseMs of [40, 80, 160, 180]) {
    const stream = new Stream().talk(30, 100, 0)
    let frames = 30
    for (let sequence = 130; sequence < 900; sequence += 100) {
      frames += pauseMs / 20
      stream.receive(sequence, frames * FRAME, pauseMs + 20)
      frames += 2
      stream.receive(sequence + 2, frames * FRAME, 40).talk(97, sequence + 3, (frames + 1) * FRAME)
      frames += 98
    }
    assert.equal(stream.judged, [], `${pauseMs} ms`)
    assert.is(stream.passed.at(-1)![1], (frames - 1) * FRAME)
  }
})

test('packets that become longer are known by the second one, shorter ones at once', () => {
  const stream = new Stream().talk(30, 100, 0)
  for (let n = 0; n < 5; n++) stream.receive(130 + n, (30 + 3 * n) * FRAME, n === 0 ? 20 : 60)
  assert.is(stream.continuity.step, 3 * FRAME)
  stream.receive(135, 45 * FRAME, 60).receive(136, 46 * FRAME)
  assert.is(stream.continuity.step, FRAME)
  assert.equal(stream.judged, [])
})

test.run()
