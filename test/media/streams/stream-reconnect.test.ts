import * as assert from 'uvu/assert'
import { ForkBench, gaps } from '../../fakes/stream-wire.ts'
import { suite } from '../../harness.ts'

const test = suite('media/stream-fork, connection')

/** Waits between the dials, when every one fails at once. */
const waits = (bench: ForkBench, from: number): number[] =>
  bench.dialledAt.slice(1).map((at, i) => at - (i === 0 ? from : bench.dialledAt[i]!))

function failEveryDial(bench: ForkBench): void {
  let seen = bench.wires.length
  for (let i = 0; i < 100_000 && !bench.fork.ended; i += 10) {
    bench.wait(10)
    if (bench.wires.length > seen) bench.break()
    seen = bench.wires.length
  }
}

test('The first connect is tried three times, then the stream has failed with connect_failed', () => {
  const bench = new ForkBench()
  const start = bench.now
  bench.break()
  failEveryDial(bench)
  assert.is(bench.status, 'failed/connect_failed')
  assert.equal(waits(bench, start), [250, 500])
  assert.is(bench.changes.length, 1)
})

test('Three handshakes that hang have failed within 10 s, each after 3 s', () => {
  const bench = new ForkBench()
  bench.wait(9_750)
  assert.is(bench.status, 'failed/connect_failed')
  assert.is(bench.wires.length, 3)
  assert.is(bench.fork.snapshot().endedDetail, 'the receiver did not answer in time')
  assert.ok(bench.wires.every(wire => wire.terminated))
})

test('Frames produced for a receiver that is never reached all count as dropped', () => {
  const bench = new ForkBench()
  bench.run(600)
  assert.is(bench.status, 'failed/connect_failed')
  const { framesSent, framesDropped } = bench.fork.snapshot()
  assert.is(framesSent, 0)
  // The last of the three handshakes was given up after 9.75 s.
  assert.is(framesDropped, 2 * 488)
})

test('After an abnormal close it is retried after 250 ms, 500 ms, 1, 2, 4, 4 … s for 30 s, then stopped with receiver_closed', () => {
  const bench = new ForkBench().open()
  bench.wait(10_000)
  const dropped = bench.now
  bench.break()
  assert.is(bench.status, 'reconnecting')
  failEveryDial(bench)
  assert.equal(waits(bench, dropped), [250, 500, 1000, 2000, 4000, 4000, 4000, 4000, 4000, 4000])
  assert.is(bench.status, 'stopped/receiver_closed')
  assert.is(bench.now, dropped + 30_000)
})

test('A stream that is given up for a receiver that answers and does not stay says what ended the last connection', () => {
  for (const [code, told] of [
    [1011, 'the receiver closed with 1011'],
    [1006, 'the connection broke'],
  ] as const) {
    const bench = new ForkBench().open()
    bench.break(code)
    for (let seen = 1, i = 0; i < 3100 && !bench.fork.ended; i++) {
      bench.wait(10)
      if (bench.wires.length === seen) continue
      seen = bench.wires.length
      bench.open()
      bench.break(code)
    }
    assert.is(bench.status, 'stopped/receiver_closed')
    assert.is(bench.fork.snapshot().endedDetail, told)
  }
})

test('Each wait has full jitter: any share of its longest', () => {
  const shares = [0.5, 0.1, 0, 0.9]
  const bench = new ForkBench({}, () => shares.shift() ?? 1).open()
  bench.wait(10_000)
  const dropped = bench.now
  bench.break()
  for (let dials = 2; dials <= 5; dials++) {
    bench.wait(bench.fork.deadline - bench.now)
    assert.is(bench.wires.length, dials)
    bench.break()
  }
  assert.equal(waits(bench, dropped), [125, 50, 0, 1800])
})

test('After a reconnect connected and start come again for the same stream, sequence numbers restart, chunk and timestamp continue', () => {
  const bench = new ForkBench({ streamId: 'ms_same' }).open()
  bench.run(50)
  bench.break()
  bench.run(150)
  bench.open()
  bench.run(10)
  const [first, second] = bench.wires
  assert.equal(second?.events().slice(0, 3), ['connected', 'start', 'media'])
  const start = second?.messages[1]
  assert.is(start?.sequenceNumber, '1')
  assert.is(start?.streamSid, 'ms_same')
  assert.is(start?.start?.reconnected, true)
  assert.is(start?.start?.framesDropped, 100)
  assert.is(first?.messages[1]?.start?.reconnected, undefined)
  for (const track of ['inbound', 'outbound']) {
    const received = [...first!.media(track), ...second!.media(track)]
    assert.is(gaps(received).length, 50)
    assert.equal(second?.media(track)[0]?.chunk, 101)
    assert.ok(received.every(({ chunk, timestamp }) => timestamp === (chunk - 1) * 20))
  }
  assert.is(bench.fork.snapshot().framesDropped, 100)
  assert.is(bench.fork.counters().reconnects, 1)
})

test('A frame that the broken connection had not passed on counts as dropped, not as sent', () => {
  const bench = new ForkBench().open()
  bench.run(5)
  bench.wire.stalled = true
  bench.run(5)
  bench.break()
  const { framesSent, framesDropped } = bench.fork.snapshot()
  assert.equal([framesSent, framesDropped], [10, 2])
})

test('A receiver that closes with 1000 wanted it: stopped with receiver_closed at once', () => {
  const bench = new ForkBench().open()
  bench.run(5)
  bench.break(1000)
  assert.is(bench.status, 'stopped/receiver_closed')
  assert.is(bench.fork.deadline, Infinity)
})

test('A close frame without a code is as deliberate as 1000, any other code is not', () => {
  for (const [code, status] of [
    [1005, 'stopped/receiver_closed'],
    [1001, 'reconnecting'],
    [1011, 'reconnecting'],
    [1006, 'reconnecting'],
  ] as const) {
    const bench = new ForkBench().open()
    bench.break(code)
    assert.is(bench.status, status)
  }
})

test('A ping goes out every 20 s, and a stream whose pings are answered goes on', () => {
  const bench = new ForkBench().open()
  for (let i = 1; i <= 5; i++) {
    bench.wait(19_999)
    assert.is(bench.wire.pings, i - 1)
    bench.wait(1)
    assert.is(bench.wire.pings, i)
  }
  assert.is(bench.status, 'streaming')
})

test('A ping that is not answered within 10 s is a dropped receiver', () => {
  const bench = new ForkBench().open()
  bench.wire.reads = false
  bench.wait(29_999)
  assert.is(bench.status, 'streaming')
  bench.wait(1)
  assert.is(bench.status, 'reconnecting')
  assert.ok(bench.wires[0]?.terminated)
})

test('A receiver that accepts and dies after a second is dialled ever more slowly, and given up 30 s after the first break', () => {
  const bench = new ForkBench().open()
  bench.wait(1000)
  const broke = bench.now
  bench.break()
  while (!bench.fork.ended) {
    bench.wait(Math.max(0, bench.fork.deadline - bench.now))
    if (bench.fork.ended) break
    bench.open()
    bench.wait(1000)
    bench.break()
  }
  assert.is(bench.status, 'stopped/receiver_closed')
  assert.ok(bench.now - broke <= 31_000, `${bench.now - broke} ms`)
})

test('A connection that has lasted for 5 s begins the retries and their 30 s anew', () => {
  const bench = new ForkBench().open()
  for (let i = 0; i < 5; i++) {
    bench.wait(1000)
    bench.break()
    bench.wait(bench.fork.deadline - bench.now)
    bench.open()
  }
  assert.equal(waits(bench, 0).slice(-2), [3000, 5000])
  bench.wait(5000)
  const dropped = bench.now
  bench.break()
  assert.is(bench.fork.deadline, dropped + 250)
})

test('A connection that breaks soon after the first connect is retried after 250 ms, however many tries that took', () => {
  const bench = new ForkBench()
  bench.break()
  bench.wait(250)
  bench.open()
  bench.wait(1000)
  bench.break()
  assert.is(bench.fork.deadline, bench.now + 250)
})

test('A stream that is stopped when its 30 s are nearly over is stopped, not closed by the receiver', () => {
  const bench = new ForkBench({}, () => 0).open()
  bench.break()
  bench.wait(29_500)
  bench.fork.stop('stopped')
  assert.is(bench.status, 'reconnecting')
  bench.wait(1000)
  assert.is(bench.status, 'stopped/stopped')
})

test('A stream that is stopped by whoever hears that its receiver dropped is not dialled again', () => {
  const bench = new ForkBench().open()
  bench.onChange = ({ status }) => {
    if (status === 'reconnecting') bench.fork.stop('stopped')
  }
  bench.break()
  bench.wait(60_000)
  assert.is(bench.status, 'stopped/stopped')
  assert.is(bench.wires.length, 1)
})

test('A message over 64 KiB ends the stream as closed by the receiver, which is not dialled again', () => {
  const bench = new ForkBench().open()
  bench.run(5)
  bench.fork.oversized(bench.wire)
  bench.break(1006)
  bench.wait(60_000)
  assert.is(bench.status, 'stopped/receiver_closed')
  assert.is(bench.wires.length, 1)
})

test('What the receiver of a fork sends is counted and changes nothing', () => {
  const bench = new ForkBench().open()
  for (let i = 0; i < 1000; i++) bench.fork.received(bench.wire, Buffer.from('{"event":"clear"}'))
  assert.is(bench.status, 'streaming')
  assert.is(bench.fork.counters().messagesIgnored, 1000)
})

test('Reports of a connection that has been given up change nothing', () => {
  const bench = new ForkBench()
  const late = bench.wire
  bench.wait(3_300)
  bench.open()
  bench.fork.opened(late)
  bench.fork.closed(late, 1000)
  bench.fork.oversized(late)
  bench.fork.drained(late)
  bench.wire.reads = false
  bench.wait(20_000)
  bench.fork.pong(late, 1)
  bench.wait(9_999)
  assert.is(bench.status, 'streaming')
  assert.equal(late.messages, [])
  bench.wait(1)
  assert.is(bench.status, 'reconnecting')
})

test('No input changes a stream that has ended', () => {
  const bench = new ForkBench().open()
  bench.fork.stop('stopped')
  const final = bench.fork.snapshot()
  bench.open()
  bench.break()
  bench.fork.dtmf('1')
  bench.run(10)
  bench.fork.close()
  bench.wait(60_000)
  assert.equal(bench.fork.snapshot(), final)
  assert.is(bench.wires.length, 1)
})

test.run()
