import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { ForkBench, gaps } from '../../fakes/stream-wire.ts'
import { suite } from '../../harness.ts'

const test = suite('media/stream-fork, stall')

const FIVE_SECONDS = 250
const TRACKS = ['inbound', 'outbound']

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const sequence = (bench: ForkBench): number[] => bench.wire.messages.slice(1).map(m => Number(m.sequenceNumber))
const dropped = (bench: ForkBench): number => bench.fork.snapshot().framesDropped

function pathOf(roundTripMs: number): ForkBench {
  const bench = new ForkBench()
  bench.wire.roundTripMs = roundTripMs
  bench.wait(2 * roundTripMs)
  return bench.open()
}

function resume(bench: ForkBench): void {
  bench.wire.reads = true
  bench.wait(0)
}

test('Stalling a receiver for 5 s drops exactly the frames older than 2 s on each track, and the chunk gap is frames_dropped', () => {
  const bench = new ForkBench().open()
  bench.run(10)
  bench.wire.reads = false
  bench.run(FIVE_SECONDS)
  assert.is(dropped(bench), 2 * 150)
  resume(bench)
  bench.run(10)
  for (const track of TRACKS) {
    // Frames 11 to 20 were in the socket: they can no longer be dropped, and wait with the 90 newest.
    assert.equal(gaps(bench.wire.media(track)), range(21, 170))
    assert.is(bench.wire.media(track).at(-1)?.timestamp, 269 * 20)
  }
  assert.equal(sequence(bench), range(1, 1 + 2 * (270 - 150)))
  assert.is(dropped(bench), 2 * 150)
  assert.is(bench.fork.snapshot().framesSent, 2 * (270 - 150))
  assert.is(bench.changes.length, 1)
})

test('What a receiver has read and no marker has confirmed counts as waiting: up to 4 frames', () => {
  for (const [before, unconfirmed] of [10, 11, 12, 13, 14, 15].map(n => [n, n % 5] as const)) {
    const bench = new ForkBench().open()
    bench.run(before)
    bench.wire.reads = false
    bench.run(FIVE_SECONDS)
    assert.is(dropped(bench), 2 * (150 + unconfirmed))
    resume(bench)
    for (const track of TRACKS) assert.is(gaps(bench.wire.media(track)).length, 150 + unconfirmed)
  }
})

test('100 frames wait per track without loss, and the 101st drops the oldest one that can be', () => {
  const bench = new ForkBench().open()
  bench.wire.reads = false
  bench.run(100)
  assert.is(dropped(bench), 0)
  bench.run(1)
  assert.is(dropped(bench), 2)
  resume(bench)
  assert.equal(gaps(bench.wire.media('inbound')), [11])
})

test('A stalled receiver gets no more than 10 frames of each track into its socket, and no more after many stalls', () => {
  const bench = new ForkBench().open()
  for (let stall = 0; stall < 5; stall++) {
    bench.run(50)
    const before = bench.wire.media('outbound').length
    bench.wire.reads = false
    bench.run(FIVE_SECONDS)
    assert.is(bench.wire.media('outbound').length, before + 10)
    resume(bench)
  }
})

test('What comes behind what stood in the socket is at most 2 s old', () => {
  const bench = new ForkBench().open()
  bench.run(20)
  bench.wire.reads = false
  bench.run(FIVE_SECONDS)
  const inSocket = bench.wire.media('inbound').length
  resume(bench)
  const late = bench.wire.media('inbound').slice(inSocket)
  assert.is(late.length, 90)
  assert.ok(late.every(({ timestamp }) => 270 * 20 - timestamp <= 2000))
})

for (const perSecond of [40, 20, 10, 5])
  test(`A receiver that reads ${perSecond} frames a second gets none that is older than 3.5 s, and is told what it missed`, () => {
    const bench = new ForkBench({ tracks: 'inbound' }).open()
    const began = bench.now
    bench.wire.msPerMessage = 1000 / perSecond
    bench.run(3000)
    const ages = bench.wire.messages.flatMap(({ media }, index) =>
      media === undefined ? [] : [bench.wire.readAt[index]! - began - Number(media.timestamp)],
    )
    // In the first seconds it is not yet known how slow the receiver is.
    const oldest = Math.max(...ages.slice(Math.floor(ages.length / 4)))
    assert.ok(oldest <= 3500, `${oldest} ms old when it was read`)
    const media = bench.wire.media('inbound')
    assert.ok(media.length > 60 * perSecond * 0.8, `${media.length} were read in a minute`)
    const told = media.length + dropped(bench)
    assert.ok(told > 2890 && told <= 3000, `${told} were sent or counted as dropped, the others wait`)
  })

test('A receiver that leaves pings unanswered for less than 5 s is streaming, then stalled, and streaming as soon as it answers', () => {
  const bench = new ForkBench().open()
  bench.wire.reads = false
  // A marker follows the fifth frame.
  bench.run(5 + 249)
  assert.is(bench.status, 'streaming')
  bench.run(1)
  assert.is(bench.status, 'stalled')
  bench.fork.pong(bench.wire, 0)
  assert.is(bench.status, 'stalled', 'a pong that nobody asked for proves no reading')
  resume(bench)
  assert.is(bench.status, 'streaming')
})

test('A socket that takes nothing for 5 s is stalled, and streaming when it does again', () => {
  const bench = new ForkBench().open()
  bench.run(10)
  bench.wire.stalled = true
  bench.run(FIVE_SECONDS + 5)
  assert.is(bench.status, 'stalled')
  bench.release()
  assert.is(bench.status, 'streaming')
})

for (const perSecond of [40, 20, 10, 5])
  test(`A receiver that reads ${perSecond} frames a second is slow, and not stalled`, () => {
    const bench = new ForkBench().open()
    bench.wire.msPerMessage = 1000 / perSecond
    bench.run(3000)
    assert.is(bench.changes.length, 1)
  })

test('A stalled stream can be stopped, and ends with its call or its receiver', () => {
  const stalled = (): ForkBench => {
    const bench = new ForkBench().open()
    bench.wire.reads = false
    bench.run(300)
    assert.is(bench.status, 'stalled')
    return bench
  }
  const ends = (end: (bench: ForkBench) => void): string => {
    const bench = stalled()
    end(bench)
    bench.wait(1000)
    return bench.status
  }
  assert.is(
    ends(bench => bench.fork.stop('stopped')),
    'stopped/stopped',
  )
  assert.is(
    ends(bench => bench.fork.close()),
    'stopped/call_ended',
  )
  assert.is(
    ends(bench => bench.break(1000)),
    'stopped/receiver_closed',
  )
  assert.is(stalled().wires.length, 1)
})

test('A socket that takes nothing for 5 s holds one frame of each track, and drops as many', () => {
  const bench = new ForkBench().open()
  bench.run(10)
  bench.wire.stalled = true
  bench.run(FIVE_SECONDS)
  assert.is(bench.wire.media('inbound').length, 11)
  assert.is(dropped(bench), 2 * 150)
  bench.release()
  assert.equal(gaps(bench.wire.media('outbound')), range(12, 161))
})

for (const roundTripMs of [1, 10, 60, 200, 500, 900])
  test(`A receiver that answers pings after ${roundTripMs} ms loses nothing`, () => {
    const bench = pathOf(roundTripMs)
    bench.run(3000)
    assert.is(dropped(bench), 0)
    bench.wait(2000)
    for (const track of TRACKS) assert.is(bench.wire.media(track).length, 3000)
  })

test('A path whose round trip rises from 10 to 600 ms, and falls, and rises again, loses nothing', () => {
  const bench = pathOf(10)
  for (const roundTripMs of [600, 10, 600, 300, 600, 10]) {
    bench.run(500)
    bench.wire.roundTripMs = roundTripMs
  }
  bench.run(500)
  assert.is(dropped(bench), 0)
  bench.wait(2000)
  assert.is(bench.wire.media('inbound').length, 3500)
})

test('A path whose round trip varies at random up to 500 ms loses nothing', () => {
  const random = seeded(3)
  const bench = pathOf(100)
  for (let i = 0; i < 5000; i++) {
    bench.wire.roundTripMs = 500 * random()
    bench.run(1)
  }
  assert.is(dropped(bench), 0)
})

test('On a path with a round trip of 200 ms a stall of 5 s drops 150 frames and those that were in flight', () => {
  const bench = pathOf(200)
  bench.run(500)
  bench.wire.reads = false
  bench.run(FIVE_SECONDS)
  const perTrack = dropped(bench) / 2
  assert.ok(perTrack >= 150 && perTrack <= 150 + 22, `${perTrack}`)
  resume(bench)
  bench.wait(2000)
  for (const track of TRACKS) assert.is(gaps(bench.wire.media(track)).length, perTrack)
})

test('A stream pings once in 100 ms on a short path, and once in a round trip on a long one', () => {
  for (const [roundTripMs, most] of [
    [1, 100],
    [90, 100],
    [500, 20],
  ] as const) {
    const bench = pathOf(roundTripMs)
    bench.run(500)
    assert.ok(bench.wire.pings <= most, `${bench.wire.pings}`)
    assert.ok(bench.wire.pings > 0.9 * most, `${bench.wire.pings}`)
  }
})

test('A receiver that answers only the last of the pings that it finds goes on where it was', () => {
  const bench = new ForkBench().open()
  bench.run(995)
  bench.wire.answersLastOnly = true
  bench.wire.reads = false
  bench.run(50)
  const { pings } = bench.wire
  resume(bench)
  bench.run(100)
  assert.is(dropped(bench), 0)
  assert.is(bench.wire.media('inbound').length, 1145)
  assert.ok(bench.wire.pings > pings + 20)
})

test('A pong that answers no ping proves that the receiver lives, not that it has read', () => {
  const bench = new ForkBench().open()
  bench.wire.reads = false
  bench.run(50)
  bench.fork.pong(bench.wire, 0)
  assert.is(bench.wire.media('inbound').length, 10)
})

test('A stall of 5 s does not reconnect, even when the ping that watches over the connection falls into it', () => {
  const bench = new ForkBench().open()
  bench.run(900)
  bench.wire.reads = false
  bench.run(FIVE_SECONDS)
  resume(bench)
  bench.run(1500)
  assert.is(bench.status, 'streaming')
  assert.is(bench.wires.length, 1)
})

test('What a broken connection left unread may have been read: it counts as sent, and not against those that wait', () => {
  const bench = new ForkBench().open()
  bench.wire.reads = false
  bench.run(30)
  bench.break()
  assert.equal([bench.fork.snapshot().framesSent, dropped(bench)], [20, 0])
  bench.run(80)
  assert.is(dropped(bench), 0)
  bench.run(1)
  assert.is(dropped(bench), 2)
})

test('A key keeps its place behind the audio that waits for the receiver to read', () => {
  const bench = new ForkBench({ tracks: 'inbound' }).open()
  bench.wire.reads = false
  bench.run(20)
  bench.fork.dtmf('5')
  bench.run(1)
  assert.not.ok(bench.wire.events().includes('dtmf'))
  resume(bench)
  assert.is(bench.wire.events().indexOf('dtmf'), 2 + 20)
})

test('Every frame produced is sent, dropped or waiting, whatever the pattern', () => {
  const random = seeded(7)
  const bench = new ForkBench({}, random).open()
  for (let i = 0; i < 4000; i++) {
    const dice = random()
    if (dice < 0.01) bench.wire.stalled = true
    else if (dice < 0.02) bench.wire.reads = false
    else if (dice < 0.03) {
      bench.wire.reads = true
      bench.release()
    } else if (dice < 0.033) bench.break()
    else if (dice < 0.05) bench.wire.roundTripMs = 1000 * random()
    else if (dice < 0.2 && bench.status === 'reconnecting') bench.open()
    bench.run(1)
  }
  while (bench.status === 'reconnecting') {
    bench.wait(4000)
    bench.open()
  }
  bench.wire.reads = true
  bench.release()
  bench.fork.stop('stopped')
  bench.wait(1000)
  const { framesSent, framesDropped, status } = bench.fork.snapshot()
  assert.is(status, 'stopped')
  assert.is(framesSent + framesDropped, 8000)
  assert.ok(framesDropped > 100)
})

test.run()
