import * as assert from 'uvu/assert'
import { JitterBuffer, JitterCounters, type JitterOptions, type PullResult } from '../../../media/rtp/jitter.ts'
import { Network, type NetworkOptions } from '../../fakes/network.ts'
import { suite } from '../../harness.ts'

const FRAME = 160
const FIRST_SEQUENCE = 65_500
const FIRST_TIMESTAMP = 2 ** 32 - 20_000

/** The sender's audio: every instant has its own byte, and no frame is silent. */
const byteAt = (sample: number): number => (Math.imul(sample, 2_654_435_761) >>> 24) & 0xff

interface Packet {
  index: number
  sequence: number
  timestamp: number
  payload: Uint8Array
}

interface Run {
  kinds: (PullResult | 'stay')[]
  /** of each 'audio' frame, the sample its first byte was sent as; NaN where the frame is not one run of the input */
  samples: number[]
  delays: number[]
  buffer: JitterBuffer
  lost: Packet[]
}

interface Call extends Partial<NetworkOptions> {
  seconds: number
  /** of the packets in turn [samples] */
  lengths?: number[]
  driftPpm?: number
  phaseMs?: number
  audio?: (sample: number) => number
  options?: Partial<JitterOptions>
}

function* packetsOf(call: Call): Generator<{ packet: Packet; sentMs: number }> {
  const lengths = call.lengths ?? [FRAME]
  const audio = call.audio ?? byteAt
  const msPerSample = 1 / 8 / (1 + (call.driftPpm ?? 0) / 1e6)
  let sample = 0
  for (let index = 0; sample < call.seconds * 8_000; index++) {
    const length = lengths[index % lengths.length]!
    const payload = new Uint8Array(length)
    for (let i = 0; i < length; i++) payload[i] = audio(sample + i)
    const sequence = (FIRST_SEQUENCE + index) & 0xffff
    const timestamp = (FIRST_TIMESTAMP + sample) >>> 0
    yield { packet: { index, sequence, timestamp, payload }, sentMs: sample * msPerSample + (call.phaseMs ?? 7) }
    sample += length
  }
}

/** Where the frame starts in the input, looked for near where the last one ended. */
function locate(out: Uint8Array, near: number): number {
  for (let shift = 0; shift < 4_000; shift++) {
    for (const start of shift === 0 ? [near] : [near + shift, near - shift]) {
      let same = 0
      while (same < FRAME && out[same] === byteAt(start + same)) same++
      if (same === FRAME) return start
    }
  }
  return Number.NaN
}

/** Pulls, and skips or inserts a frame at once if the buffer asks for that: how the leg makes it inaudible is not tested here. */
function pullAsWanted(buffer: JitterBuffer, out: Uint8Array, nowMs: number): PullResult | 'stay' {
  if (buffer.excess < 0) {
    buffer.stay(nowMs)
    return 'stay'
  }
  const kind = buffer.pull(out, nowMs)
  return buffer.excess > 0 && (buffer.isReady || kind !== 'audio') ? buffer.more(out) : kind
}

function run(call: Call): Run {
  const buffer = new JitterBuffer(call.options)
  const network = new Network<Packet>({ seed: 1, ...call })
  const sender = packetsOf(call)
  const result: Run = { kinds: [], samples: [], delays: [], buffer, lost: network.lost }
  const out = new Uint8Array(FRAME)
  let next = sender.next()
  let near = 0
  for (let nowMs = 0; nowMs <= call.seconds * 1_000; nowMs += 20) {
    for (; !next.done && next.value.sentMs <= nowMs; next = sender.next())
      network.send(next.value.packet, next.value.sentMs)
    for (const { packet, arrivalMs } of network.receive(nowMs)) {
      buffer.push(packet.sequence, packet.timestamp, packet.payload, 0, packet.payload.length, arrivalMs)
    }
    const kind = pullAsWanted(buffer, out, nowMs)
    result.kinds.push(kind)
    if (kind === 'audio' && call.audio === undefined) {
      const sample = locate(out, near)
      result.samples.push(sample)
      near = (Number.isNaN(sample) ? near : sample) + FRAME
    } else {
      result.samples.push(-1)
      near += kind === 'audio' || kind === 'lost' ? FRAME : 0
    }
    result.delays.push(buffer.currentDelayMs)
  }
  return result
}

/** Every frame from the first audio on is the next frame of the input. */
function assertContinuous({ kinds, samples }: Run): void {
  const first = kinds.indexOf('audio')
  assert.ok(first >= 0 && first <= 3, `audio starts at tick ${first}`)
  const played = samples.slice(first)
  const wrong = played.findIndex((sample, i) => sample !== i * FRAME)
  assert.is(wrong, -1, `frame ${wrong}: sample ${played[wrong]}, ${kinds[first + wrong]}`)
}

const most = (numbers: number[]): number => numbers.reduce((a, b) => Math.max(a, b))
const count = (kinds: Run['kinds'], kind: PullResult | 'stay'): number => kinds.filter(each => each === kind).length

const test = suite('media/rtp/jitter')

test('without loss and jitter the output is the input, sample by sample, in the next tick after its arrival', () => {
  for (const phaseMs of [1, 7, 13, 15.9]) {
    const result = run({ seconds: 120, phaseMs })
    assertContinuous(result)
    const { counters } = result.buffer
    assert.is(counters.lost + counters.late + counters.concealed + counters.inserted + counters.discarded, 0)
    const wrong = result.delays.slice(10).find(delay => Math.abs(delay - (20 - phaseMs)) > 1e-6)
    assert.is(wrong, undefined, `sent at ${phaseMs} ms of a tick`)
  }
})

test('a packet that comes just before a tick is played in it only once the network is known', () => {
  const delayAfter = (phaseMs: number, jitterMs: number): number => {
    const { delays, buffer } = run({ seconds: 20, phaseMs, jitterMs })
    assert.is(buffer.counters.late + buffer.counters.lost, 0)
    return delays.at(-1)!
  }
  assert.ok(Math.abs(delayAfter(17, 0) - 3) < 0.1, `${delayAfter(17, 0)} ms of a steady one`)
  assert.ok(delayAfter(17, 6) > 15, 'of an unsteady one')
})

for (const lengths of [[80], [160], [240], [320], [480], [800], [33], [1_024], [1_600]]) {
  test(`RFC 3551 §4.2: packets of ${lengths.join(', ')} samples are cut and joined to frames`, () => {
    const result = run({ seconds: 60, lengths, phaseMs: 5 })
    assertContinuous(result)
    assert.is(result.buffer.counters.lost, 0)
    assert.is(result.buffer.counters.inserted, 0)
  })
}

test('packets of changing lengths are cut and joined to frames, once it is known how long they are', () => {
  const { samples, kinds, buffer } = run({ seconds: 60, lengths: [160, 80, 480, 7, 240] })
  assert.is(buffer.counters.lost, 0)
  assert.is(count(kinds.slice(100), 'audio'), kinds.length - 100)
  assert.ok(samples.slice(100).every((sample, i, all) => i === 0 || sample === all[i - 1]! + FRAME))
})

test('packets that overtake each other within the delay are put in order', () => {
  const result = run({ seconds: 120, reorder: 0.2, reorderMs: 21 })
  const { counters } = result.buffer
  assert.ok(counters.late < 5, `${counters.late} late`)
  assert.ok(count(result.kinds, 'audio') > 5_980)
  assert.ok(result.samples.slice(200).every((sample, i, all) => i === 0 || sample === all[i - 1]! + FRAME))
})

/** A steady network, except for packets that arrive 4 ms after their successors. @returns frames by which the delay grew, and the last delay [ms] */
function withOvertaken(...overtaken: number[]): { inserted: number; delayMs: number; late: number } {
  const buffer = new JitterBuffer()
  const out = new Uint8Array(FRAME)
  const push = (index: number, arrivalMs: number): void => {
    buffer.push(index, index * FRAME, new Uint8Array(FRAME).fill(index), 0, FRAME, arrivalMs)
  }
  for (let index = 0; index < 1500; index++) {
    const atMs = index * 20 + 7
    if (!overtaken.includes(index)) push(index, atMs)
    if (overtaken.includes(index - 1)) push(index - 1, atMs + 4)
    pullAsWanted(buffer, out, atMs + 13)
  }
  const { inserted, late } = buffer.counters
  return { inserted, late, delayMs: buffer.currentDelayMs }
}

test('a packet behind its successor once in ten seconds costs a frame of concealment, and everything after it no delay', () => {
  const { inserted, late, delayMs } = withOvertaken(300, 810, 1320)
  assert.equal([inserted, late], [0, 3])
  assert.ok(Math.abs(delayMs - 13) < 0.1, `${delayMs} ms`)
})

test('for packets that come behind their successors more often the delay grows', () => {
  const { inserted, late } = withOvertaken(300, 700, 800, 900)
  assert.is(inserted, 1)
  assert.is(late, 1, 'the second is played yet, and the others find the delay that they need')
})

test('a duplicate is counted and changes nothing', () => {
  const result = run({ seconds: 60, duplication: 0.3 })
  assertContinuous(result)
  assert.ok(result.buffer.counters.duplicate > 500)
  assert.is(result.buffer.counters.late, 0)
})

for (const loss of [0.01, 0.05, 0.2]) {
  test(`of ${loss * 100} % loss exactly the lost frames are concealed`, () => {
    const result = run({ seconds: 120, loss, seed: 7 })
    const first = result.kinds.indexOf('audio')
    const base = result.samples[first]! / FRAME
    const end = base + result.kinds.length - first
    const lost = result.lost.map(packet => packet.index).filter(index => index > base && index < end)
    const concealed = result.kinds.slice(first).flatMap((kind, i) => (kind === 'audio' ? [] : [base + i]))
    assert.equal(concealed, lost)
    assert.ok(lost.length > 30)
    result.samples.slice(first).forEach((sample, i) => {
      if (result.kinds[first + i] === 'audio') assert.is(sample, (base + i) * FRAME)
    })
    assert.is(result.buffer.counters.inserted + result.buffer.counters.late, 0)
  })
}

test('the rest of a frame whose other packet is lost is played, and counted as concealed', () => {
  const result = run({ seconds: 60, lengths: [80], loss: 0.02 })
  const { counters } = result.buffer
  assert.ok(count(result.kinds, 'audio') > 2_980)
  assert.ok(counters.concealed > 80 && counters.concealed <= result.lost.length)
})

test('jitter makes the delay grow until packets are no longer late, and it shrinks when the network is quiet', () => {
  const buffer = new JitterBuffer()
  const out = new Uint8Array(FRAME)
  const late: number[] = []
  const delays: number[] = []
  for (const [phase, jitterMs] of [0, 90, 0].entries()) {
    const network = new Network<Packet>({ seed: 3, jitterMs })
    const before = buffer.counters.late
    for (let tick = 0; tick < 3_000; tick++) {
      const index = phase * 3_000 + tick
      const payload = new Uint8Array(FRAME).fill(byteAt(index))
      network.send({ index, sequence: index & 0xffff, timestamp: index * FRAME, payload }, tick * 20 + 5)
      for (const { packet, arrivalMs } of network.receive((tick + 1) * 20)) {
        buffer.push(packet.sequence, packet.timestamp, packet.payload, 0, FRAME, phase * 60_000 + arrivalMs)
      }
      pullAsWanted(buffer, out, phase * 60_000 + (tick + 1) * 20)
    }
    late.push(buffer.counters.late - before)
    delays.push(buffer.currentDelayMs)
  }
  assert.is(late[0], 0)
  assert.ok(late[1]! < 20, `${late[1]} late packets`)
  assert.is(late[2], 0)
  assert.ok(delays[0]! <= 40 && delays[1]! > 50 && delays[2]! < 45, delays.join(', '))
  assert.ok(buffer.counters.inserted >= 2 && buffer.counters.discarded >= 2)
})

test('the delay does not grow beyond its bound, however late packets are', () => {
  for (const maxDelayFrames of [2, 4, 10]) {
    const { delays, buffer } = run({ seconds: 120, jitterMs: 400, options: { maxDelayFrames } })
    assert.ok(
      most(delays) <= maxDelayFrames * 20 + 30,
      `${maxDelayFrames} frames: ${most(delays)} ms, ${buffer.counters.resyncs} resyncs`,
    )
    assert.ok(buffer.counters.late > 300)
  }
})

for (const driftPpm of [200, -200]) {
  test(
    `a sender whose clock is off by ${driftPpm} ppm neither overflows nor starves in an hour`,
    () => {
      const result = run({ seconds: 3_600, driftPpm })
      const { counters } = result.buffer
      assert.is(counters.late + counters.lost + counters.overflow + counters.resyncs, 0)
      assert.ok(most(result.delays) < 85, `${most(result.delays)} ms`)
      // 3600 s × 200 ppm = 720 ms = 36 frames.
      const followed = driftPpm > 0 ? counters.discarded : counters.inserted
      assert.ok(followed >= 33 && followed <= 37, `${followed} frames`)
      assert.ok(count(result.kinds, 'audio') >= 180_000 - 45)
    },
    { timeoutMs: 60_000 },
  )
}

/** Pushes frame `index` of a stream, at its time, and pulls. */
function stepper(options: Partial<JitterOptions> = {}) {
  const buffer = new JitterBuffer(options)
  const out = new Uint8Array(FRAME)
  let nowMs = 0
  return {
    buffer,
    out,
    push: (sequence: number, timestamp: number, length = FRAME) =>
      buffer.push(
        sequence & 0xffff,
        timestamp >>> 0,
        new Uint8Array(length).fill(sequence & 0x7f),
        0,
        length,
        nowMs + 10,
      ),
    pull: () => {
      nowMs += 20
      return pullAsWanted(buffer, out, nowMs)
    },
  }
}

test('a timestamp gap between consecutive sequence numbers is silence, not loss', () => {
  const { buffer, out, push, pull } = stepper()
  for (let i = 0; i < 10; i++) {
    push(i, i * FRAME)
    pull()
  }
  const pause: Run['kinds'] = []
  for (let i = 10; i < 50; i++) pause.push(pull())
  const resumed: Run['kinds'] = []
  for (let i = 50; i < 55; i++) {
    push(i - 40, i * FRAME)
    resumed.push(pull())
  }
  assert.equal(pause.slice(0, 4), ['lost', 'lost', 'lost', 'empty'])
  assert.is(pause.at(-1), 'empty')
  assert.equal(resumed, ['audio', 'audio', 'audio', 'audio', 'audio'])
  assert.is(out[0], 14)
  assert.is(buffer.counters.lost, 0)
  assert.is(buffer.counters.inserted + buffer.counters.discarded + buffer.counters.late, 0)
})

test('packets without audio are no loss: while they come there is silence', () => {
  const { buffer, push, pull } = stepper()
  for (let i = 0; i < 5; i++) {
    push(i, i * FRAME)
    pull()
  }
  const event: Run['kinds'] = []
  for (let i = 5; i < 205; i++) {
    if (i !== 20) buffer.skip(i)
    event.push(pull())
  }
  push(205, 205 * FRAME)
  assert.equal([...new Set(event)], ['silence'])
  assert.is(pull(), 'audio')
  assert.is(buffer.counters.overflow, 0)
  assert.is(buffer.counters.lost, 1)
  assert.is(buffer.counters.concealed, 0)
})

test('after a pause of some seconds that the sender has not counted, or a clock set back, nothing of what it says is lost', () => {
  for (const back of [0, 90_000_000]) {
    const buffer = new JitterBuffer()
    const out = new Uint8Array(FRAME)
    const heard: number[] = []
    let packet = 0
    for (let tick = 0; tick < 600; tick++) {
      if (tick < 100 || tick >= 300) {
        const timestamp = (packet * FRAME + 100_000_000 - (packet < 100 ? 0 : back)) >>> 0
        const payload = new Uint8Array(FRAME).fill(byteAt(packet))
        assert.is(buffer.push(packet, timestamp, payload, 0, FRAME, tick * 20 + 5), 'ok', `packet ${packet}`)
        packet++
      }
      if (buffer.pull(out, tick * 20 + 20) === 'audio') heard.push(out[0]!)
    }
    assert.equal(
      heard,
      Array.from({ length: heard.length }, (_, n) => byteAt(n)),
    )
    assert.ok(heard.length > 396)
  }
})

test('after a pause that the sender has not counted nothing is lost where it marks the talk spurt, and the delay is as before', () => {
  for (const pauseTicks of [5, 12, 50, 90]) {
    const buffer = new JitterBuffer()
    const out = new Uint8Array(FRAME)
    const heard: number[] = []
    let packet = 0
    for (let tick = 0; tick < 200 + pauseTicks; tick++) {
      if (tick < 100 || tick >= 100 + pauseTicks) {
        const payload = new Uint8Array(FRAME).fill(byteAt(packet))
        const begins = packet === 0 || packet === 100
        assert.is(
          buffer.push(packet, packet * FRAME, payload, 0, FRAME, tick * 20 + 5, begins),
          'ok',
          `packet ${packet}`,
        )
        packet++
      }
      if (buffer.pull(out, tick * 20 + 20) === 'audio') heard.push(out[0]!)
    }
    assert.equal(
      heard,
      Array.from({ length: heard.length }, (_, n) => byteAt(n)),
    )
    assert.ok(heard.length > 196, `${heard.length} after ${pauseTicks} ticks`)
    assert.ok(buffer.currentDelayMs < 40, `${buffer.currentDelayMs} ms after ${pauseTicks} ticks`)
  }
})

test('a stream that stops is concealed for 60 ms and empty after that', () => {
  const { push, pull } = stepper()
  assert.is(pull(), 'empty')
  push(1, 0)
  assert.equal([pull(), pull(), pull(), pull(), pull()], ['audio', 'lost', 'lost', 'lost', 'empty'])
})

test('a packet that comes after its time is late once and a duplicate after that', () => {
  const { buffer, push, pull } = stepper()
  for (let i = 0; i < 10; i++) {
    if (i !== 5) push(i, i * FRAME)
    pull()
  }
  assert.is(push(5, 5 * FRAME), 'late')
  assert.is(push(5, 5 * FRAME), 'duplicate')
  assert.is(push(9, 9 * FRAME), 'duplicate')
  assert.is(buffer.counters.late, 1)
  assert.is(buffer.counters.lost, 1)
})

test('a packet that is late is played yet where nothing behind it was: the delay grows by what was made up', () => {
  const { buffer, out, push, pull } = stepper()
  const kinds: Run['kinds'] = []
  for (let i = 0; i < 40; i++) {
    if (i === 21) push(20, 20 * FRAME)
    if (i !== 20) push(i, i * FRAME)
    kinds.push(pull())
  }
  assert.equal(kinds.slice(19, 23), ['audio', 'lost', 'audio', 'audio'])
  assert.is(out[0], 38)
  assert.is(buffer.counters.inserted, 1)
  assert.is(buffer.counters.late + buffer.counters.lost, 0)
})

test('packets that come after those behind them were played make the delay grow for the next ones like them', () => {
  const { buffer, push, pull } = stepper()
  const lateAt = (i: number): boolean => i >= 50 && i % 20 === 10
  for (let i = 0; i < 400; i++) {
    if (lateAt(i - 2)) push(i - 2, (i - 2) * FRAME)
    if (!lateAt(i)) push(i, i * FRAME)
    pull()
  }
  assert.ok(buffer.counters.inserted >= 2 && buffer.counters.inserted <= 4, `${buffer.counters.inserted} frames`)
  assert.is(buffer.counters.late, 2, 'one alone says nothing yet')
})

test('a jump of sequence and timestamp is followed at its second packet, forward and back', () => {
  const { buffer, push, pull } = stepper()
  const results: string[] = []
  for (const [sequence, timestamp] of [
    [100, 5_000],
    [40_000, 900_000_000],
    [7, 160],
  ] as const) {
    let last: Run['kinds'][0] = 'empty'
    for (let i = 0; i < 6; i++) {
      results.push(push(sequence + i, timestamp + i * FRAME))
      last = pull()
    }
    assert.is(last, 'audio')
  }
  assert.equal(results.filter(result => result === 'overflow').length, 2)
  assert.is(buffer.counters.resyncs, 2)
})

test('one stray sequence number does not disturb the stream', () => {
  const { buffer, push, pull } = stepper()
  for (let i = 0; i < 100; i++) {
    push(i, i * FRAME)
    if (i % 10 === 5) assert.is(push(i + 20_000 + i * 300, i), 'overflow')
    const kind = pull()
    if (i > 0) assert.is(kind, 'audio', `tick ${i}`)
  }
  assert.is(buffer.counters.lost + buffer.counters.resyncs, 0)
})

test('a timestamp jump with consecutive sequence numbers is followed, forward at once, back after 200 ms', () => {
  const { buffer, push, pull } = stepper()
  let sequence = 0
  const play = (timestamp: number, packets: number): Run['kinds'] =>
    Array.from({ length: packets }, (_, i) => {
      push(sequence++, timestamp + i * FRAME)
      return pull()
    })
  play(0, 50)
  assert.equal(play(1_000_000, 5), ['audio', 'audio', 'audio', 'audio', 'audio'])
  const back = play(500, 30)
  assert.is(back.at(-1), 'audio')
  assert.ok(back.indexOf('audio', 2) <= 13, back.join())
  assert.is(buffer.counters.resyncs, 2)
})

test('a stall of the network that ends in a burst is caught up with, and the delay comes back', () => {
  const { buffer, push, pull } = stepper()
  let index = 0
  for (; index < 100; index++) {
    push(index, index * FRAME)
    pull()
  }
  for (let i = 0; i < 20; i++) pull()
  for (let i = 0; i < 20; i++, index++) push(index, index * FRAME)
  const kinds: Run['kinds'] = []
  for (let i = 0; i < 1_000; i++, index++) {
    push(index, index * FRAME)
    kinds.push(pull())
  }
  assert.ok(count(kinds, 'audio') >= 998)
  assert.is(buffer.counters.resyncs, 0)
  assert.ok(buffer.currentDelayMs <= 42, `${buffer.currentDelayMs} ms`)
})

test('packets that came before the first pull add no delay', () => {
  const { buffer, out, push, pull } = stepper()
  for (let i = 0; i < 100; i++) push(i, i * FRAME)
  assert.is(pull(), 'audio')
  assert.is(out[0], 99)
  assert.is(buffer.counters.overflow, 0)
})

test('a stream that nobody pulled for a while, as on hold, goes on with its newest audio', () => {
  const { buffer, out, push, pull } = stepper()
  let index = 0
  for (; index < 50; index++) {
    push(index, index * FRAME)
    pull()
  }
  const payload = new Uint8Array(FRAME)
  for (const heldFrom = index; index < heldFrom + 1_017; index++) {
    buffer.push(index, index * FRAME, payload.fill(index & 0x7f), 0, FRAME, index * 20 + 10)
  }
  buffer.pull(out, index * 20)
  assert.is(out[0], (index - 1) & 0x7f)
})

test('after a hold in which nobody pulled nothing is lost and the delay is as before, whether the sender counted on or stood still', () => {
  for (const isTold of [true, false]) {
    for (const heldFrames of isTold ? [8, 15, 1_000] : [50, 1_000]) {
      for (const counted of [0, heldFrames]) {
        const { buffer, out } = stepper()
        const payload = new Uint8Array(FRAME)
        let now = 0
        const push = (index: number, at: number): void => {
          buffer.push(index, at * FRAME, payload.fill(index & 0x7f), 0, FRAME, now - 11)
        }
        for (let index = 0; index < 300; index++, now += 20) {
          push(index, index)
          buffer.pull(out, now)
        }
        now += heldFrames * 20
        if (isTold) buffer.resume()
        // Ticks before the first packet.
        for (let i = 0; i < 2; i++, now += 20) buffer.pull(out, now)
        const what = `${heldFrames} frames, of which ${counted} counted${isTold ? '' : ', untold'}`
        for (let index = 300; index < 310; index++, now += 20) {
          push(index, index + counted)
          buffer.pull(out, now)
          assert.is(out[0], index & 0x7f, what)
        }
        assert.ok(buffer.currentDelayMs <= 31, `${buffer.currentDelayMs} ms after ${what}`)
        assert.is(buffer.counters.late, 0)
      }
    }
  }
})

test('a payload beyond the bound is dropped and counted', () => {
  const { buffer, push } = stepper()
  assert.is(push(1, 0, 1_601), 'overflow')
  assert.is(push(1, 0, 0), 'overflow')
  assert.is(buffer.push(1, 0, new Uint8Array(100), 50, 51, 0), 'overflow')
  assert.is(buffer.counters.overflow, 3)
})

test('no order of hostile packets makes it throw, hang or leave its bounds', () => {
  const { buffer, out, push, pull } = stepper()
  let state = 12_345
  const random = (range: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * range)
  }
  for (let i = 0; i < 50_000; i++) {
    const sequence = random(4) === 0 ? random(65_536) : i + random(80) - 40
    const timestamp = random(4) === 0 ? random(2 ** 32) : i * FRAME + random(8_000)
    if (random(10) === 0) buffer.skip(sequence & 0xffff)
    else push(sequence, timestamp, random(1_100))
    if (random(2) === 0) pull()
    assert.ok(buffer.currentDelayMs >= 0 && buffer.currentDelayMs <= 420, `${i}: ${buffer.currentDelayMs} ms`)
  }
  for (const name of Object.keys(new JitterCounters()) as (keyof JitterCounters)[]) {
    assert.ok(Number.isSafeInteger(buffer.counters[name]), name)
  }
  assert.is(out.length, FRAME)
  const after = Array.from({ length: 20 }, (_, i) => {
    push(i, i * FRAME)
    return pull()
  })
  assert.is(after.at(-1), 'audio')
})

test.run()
