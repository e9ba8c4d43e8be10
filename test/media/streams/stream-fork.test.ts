import * as assert from 'uvu/assert'
import { ForkBench } from '../../fakes/stream-wire.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-fork')
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const sequence = (bench: ForkBench): number[] => bench.wire.messages.slice(1).map(m => Number(m.sequenceNumber))

test('The stream is streaming when the upgrade was answered 101 and start is sent', () => {
  const bench = new ForkBench()
  assert.is(bench.status, 'connecting')
  bench.open()
  assert.is(bench.status, 'streaming')
  assert.equal(bench.wire.events(), ['connected', 'start'])
  assert.is(bench.changes.length, 1)
})

test('Chunks count the frames of each track, timestamps run on one clock for both, sequence numbers rise by one', () => {
  const bench = new ForkBench().open()
  bench.run(3)
  for (const track of ['inbound', 'outbound']) {
    const sent = bench.wire.media(track).map(({ chunk, timestamp }) => [chunk, timestamp])
    assert.equal(sent, [
      [1, 0],
      [2, 20],
      [3, 40],
    ])
  }
  assert.equal(sequence(bench), range(1, 7))
  assert.is(bench.wire.messages[0]?.sequenceNumber, undefined)
})

test('Both frames of a slot, and the read marker behind them, are one write in their slot', () => {
  const bench = new ForkBench().open()
  assert.is(bench.wire.writes, 1)
  for (let slot = 1; slot <= 20; slot++) {
    bench.fork.write('inbound', bench.frame)
    assert.is(bench.wire.writes, slot)
    bench.fork.write('outbound', bench.frame)
    assert.is(bench.wire.writes, slot + 1)
    assert.is(bench.wire.messages.length, 2 + 2 * slot)
    bench.wait(20)
  }
  assert.is(bench.wire.pings, 4)
})

test('A track that begins late counts its own chunks from 1 and keeps to the common clock', () => {
  const bench = new ForkBench().open()
  for (let i = 0; i < 5; i++) bench.fork.write('inbound', bench.frame)
  bench.fork.write('outbound', bench.frame)
  bench.fork.write('inbound', bench.frame)
  bench.fork.write('outbound', bench.frame)
  assert.equal(
    bench.wire.media('outbound').map(({ chunk, timestamp }) => [chunk, timestamp]),
    [
      [1, 80],
      [2, 100],
    ],
  )
  assert.is(bench.wire.media('inbound').length, 6)
})

test('A track whose partner is silent does not wait for it longer than one frame', () => {
  const bench = new ForkBench().open()
  for (let i = 1; i <= 50; i++) {
    bench.fork.write('inbound', bench.frame)
    assert.is(bench.wire.media('inbound').length, i - 1)
    bench.wait(20)
  }
})

test('A stream of one track carries that track only', () => {
  for (const [tracks, other] of [
    ['inbound', 'outbound'],
    ['outbound', 'inbound'],
  ] as const) {
    const bench = new ForkBench({ tracks }).open()
    bench.run(10)
    assert.is(bench.wire.media(tracks).length, 10)
    assert.is(bench.wire.media(other).length, 0)
    assert.is(bench.fork.snapshot().framesSent, 10)
  }
})

test('While connecting frames wait under the same rule', () => {
  const bench = new ForkBench()
  bench.run(120)
  bench.open()
  assert.equal(
    bench.wire.media('inbound').map(({ chunk }) => chunk),
    range(21, 120),
  )
  assert.is(bench.fork.snapshot().framesDropped, 40)
})

test('The frames that come out of the queue are those that went in, in order', () => {
  const bench = new ForkBench({ format: 'l16_8000' })
  bench.run(130)
  bench.open()
  assert.equal(
    bench.wire.media('outbound').map(({ payload }) => payload.readInt16LE(0)),
    range(31, 130),
  )
})

test('Keys are sent in order with the audio, with the track name that the protocol gives them', () => {
  const bench = new ForkBench({ tracks: 'inbound' })
  bench.run(2)
  bench.fork.dtmf('5')
  bench.run(1)
  bench.open()
  assert.equal(bench.wire.events(), ['connected', 'start', 'media', 'media', 'dtmf', 'media'])
  assert.equal(bench.wire.messages[4], {
    event: 'dtmf',
    sequenceNumber: '4',
    dtmf: { track: 'inbound_track', digit: '5' },
    streamSid: 'ms_1',
  })
})

test('At most 32 keys wait; the oldest makes room and is counted', () => {
  const bench = new ForkBench()
  for (let i = 0; i < 40; i++) bench.fork.dtmf(String(i % 10))
  bench.open()
  assert.is(bench.wire.events().filter(event => event === 'dtmf').length, 32)
  assert.is(bench.wire.messages[2]?.dtmf?.digit, '8')
  assert.is(bench.fork.counters().keysDropped, 8)
})

test('Stopping sends what waits, then stop, then closes with 1000', () => {
  const bench = new ForkBench().open()
  bench.wire.stalled = true
  bench.run(50)
  bench.fork.stop('stopped')
  assert.is(bench.status, 'streaming')
  bench.release()
  assert.is(bench.status, 'stopped/stopped')
  assert.is(bench.wire.media('outbound').length, 50)
  assert.equal(bench.wire.messages.at(-1), {
    event: 'stop',
    sequenceNumber: '102',
    stop: { accountSid: 'org_1', callSid: 'call_1' },
    streamSid: 'ms_1',
  })
  assert.is(bench.wire.closeCode, 1000)
  assert.is(bench.fork.snapshot().framesDropped, 0)
  assert.is(bench.fork.deadline, Infinity)
})

test('The end of the call stops the stream with call_ended, and a frame that comes later is not taken', () => {
  const bench = new ForkBench().open()
  bench.run(5)
  bench.fork.close()
  bench.fork.close()
  bench.run(5)
  assert.is(bench.status, 'stopped/call_ended')
  assert.is(bench.fork.snapshot().framesSent, 10)
  assert.equal(bench.wire.events().slice(-1), ['stop'])
  assert.is(bench.changes.length, 2)
})

test('Queued audio is flushed for at most 1 s; what is left then counts as dropped, and stop and 1000 follow', () => {
  const bench = new ForkBench().open()
  bench.wire.stalled = true
  bench.run(50)
  bench.fork.stop('stopped')
  bench.wait(999)
  assert.is(bench.status, 'streaming')
  bench.wait(1)
  assert.is(bench.status, 'stopped/stopped')
  assert.equal(bench.wire.events(), ['connected', 'start', 'media', 'media', 'stop'])
  assert.is(bench.wire.closeCode, 1000)
  assert.is(bench.fork.snapshot().framesSent, 2)
  assert.is(bench.fork.snapshot().framesDropped, 98)
})

test('A stream that is stopped while it connects sends its audio when the connection opens within 1 s', () => {
  const bench = new ForkBench()
  bench.run(10)
  bench.fork.stop('call_ended')
  bench.wait(500)
  bench.open()
  assert.is(bench.status, 'stopped/call_ended')
  assert.is(bench.wire.media('inbound').length, 10)
  assert.is(bench.wire.events().at(-1), 'stop')
})

test('A stream that is stopped while it connects gives up after 1 s', () => {
  const bench = new ForkBench()
  bench.run(10)
  bench.fork.stop('stopped')
  bench.wait(1000)
  assert.is(bench.status, 'stopped/stopped')
  assert.ok(bench.wire.terminated)
  assert.is(bench.fork.snapshot().framesDropped, 20)
})

test('A stream that is stopped while the receiver is gone ends at once', () => {
  const bench = new ForkBench().open()
  bench.break()
  bench.fork.stop('stopped')
  assert.is(bench.status, 'stopped/stopped')
})

test('A receiver that drops while the stream is being stopped leaves it stopped for the reason asked', () => {
  const bench = new ForkBench().open()
  bench.wire.stalled = true
  bench.run(10)
  bench.fork.stop('stopped')
  bench.break(1000)
  assert.is(bench.status, 'stopped/stopped')
  assert.is(bench.fork.snapshot().framesSent + bench.fork.snapshot().framesDropped, 20)
})

test.run()
