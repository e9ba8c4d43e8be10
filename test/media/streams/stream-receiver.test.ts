import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { createResampler } from '../../../codecs/resample.ts'
import { SaidAudio } from '../../../media/streams/said-audio.ts'
import { ForkBench } from '../../fakes/stream-wire.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-receiver')

const bidirectional = (stream = {}): ForkBench => new ForkBench(stream, () => 1, true)

function ulaw(samples: Int16Array): string {
  const payload = new Uint8Array(samples.length)
  PCMU.encode(samples, payload)
  return Buffer.from(payload).toString('base64')
}

const frameOf = (value: number): string => ulaw(new Int16Array(160).fill(value))
const media = (payload: string): object => ({ event: 'media', streamSid: 'ms_1', media: { payload } })
const mark = (name: string): object => ({ event: 'mark', streamSid: 'ms_1', mark: { name } })
const pull = (bench: ForkBench) => bench.receiver!.voice.pull()
const marks = (bench: ForkBench) => bench.wire.messages.flatMap(message => message.mark?.name ?? [])

test('media of the receiver is played in turn, and counted', () => {
  const bench = bidirectional().open()
  for (const value of [1000, -2000]) bench.say(media(frameOf(value)))
  assert.ok(Math.abs(pull(bench)![7]! - 1000) < 40)
  assert.ok(Math.abs(pull(bench)![7]! + 2000) < 80)
  assert.is(pull(bench), null)
  assert.equal([bench.fork.snapshot().framesReceived, bench.fork.snapshot().framesRefused], [2, 0])
})

test('16 kHz of the receiver are brought to the rate of the call', () => {
  const bench = bidirectional({ format: 'l16_16000' }).open()
  const bytes = Buffer.alloc(640)
  for (let i = 0; i < 320; i++) bytes.writeInt16LE(i, 2 * i)
  bench.say(media(bytes.toString('base64')))
  assert.equal(
    [...pull(bench)!],
    Array.from({ length: 160 }, (_, i) => 2 * i),
  )
})

test('linear audio may be cut anywhere, also within a sample: what is heard is the same', () => {
  const bytes = Buffer.alloc(3200)
  for (let i = 0; i < 1600; i++) bytes.writeInt16LE(20_000 * Math.sin(i / 7), 2 * i)
  const heard = (sizes: number[]): number[] => {
    const bench = bidirectional({ format: 'l16_8000' }).open()
    for (let at = 0, n = 0; at < bytes.length; at += sizes[n++ % sizes.length]!) {
      bench.say(media(bytes.subarray(at, at + sizes[n % sizes.length]!).toString('base64')))
    }
    const frames: number[] = []
    for (let frame = pull(bench); frame !== null; frame = pull(bench)) frames.push(...frame)
    return frames
  }
  assert.equal(heard([1, 333, 2, 640, 7, 1001]), heard([bytes.length]))
})

test('half a sample in front of a `clear` is forgotten with the rest', () => {
  const bench = bidirectional({ format: 'l16_8000' }).open()
  bench.say(media(Buffer.alloc(321, 0x11).toString('base64')))
  bench.say({ event: 'clear' })
  bench.say(media(Buffer.from(new Int16Array(160).fill(700).buffer).toString('base64')))
  assert.equal([...pull(bench)!], Array(160).fill(700))
})

test('nothing of what a `clear` discards is heard in front of what comes next, from the filter of the sample rate either', async () => {
  const audio = new SaidAudio('l16_16000', await createResampler(16_000, 8000), 10_000)
  const said = (value: number): Int16Array =>
    audio.decode(Buffer.from(new Int16Array(640).fill(value).buffer).toString('base64'))!
  assert.ok(said(9000).at(-1)! > 8900)
  audio.restart()
  assert.is(Math.max(...said(0).map(Math.abs)), 0)
  audio.close()
})

test('a mark is answered in the sequence of the messages, when the audio before it was heard', () => {
  const bench = bidirectional().open()
  bench.run(1)
  bench.say(media(frameOf(100)))
  bench.say(mark('end of sentence'))
  pull(bench)
  assert.equal(marks(bench), [])
  pull(bench)
  assert.equal(bench.wire.messages.at(-1), {
    event: 'mark',
    sequenceNumber: '4',
    streamSid: 'ms_1',
    mark: { name: 'end of sentence' },
  })
  bench.run(1)
  assert.is(bench.wire.messages.at(-1)?.sequenceNumber, '6')
})

test('`clear` drops what waits, and its marks are answered', () => {
  const bench = bidirectional().open()
  bench.say(media(frameOf(100)))
  bench.say(mark('a'))
  bench.say(mark('b'))
  bench.say({ event: 'clear', streamSid: 'ms_1' })
  assert.equal(marks(bench), ['a', 'b'])
  assert.is(pull(bench), null)
})

test('a key of the receiver is pressed to the party', () => {
  const bench = bidirectional().open()
  bench.say({ event: 'dtmf', streamSid: 'ms_1', dtmf: { digit: '5' } })
  bench.say({ event: 'dtmf', streamSid: 'ms_1', dtmf: { digit: 'x' } })
  assert.equal(bench.pressed, ['5'])
  assert.is(bench.fork.counters().messagesIgnored, 1)
})

test('what is none of these messages, or of another stream, is counted and ignored', () => {
  const bench = bidirectional().open()
  const wrong = [
    'no JSON',
    '[]',
    '{"event":"media"}',
    '{"event":"media","media":{"payload":"%%"}}',
    '{"event":"mark","mark":{}}',
    '{"event":"hangup"}',
    '{"event":"clear","streamSid":"ms_2"}',
  ]
  bench.say(media(frameOf(100)))
  for (const text of wrong) bench.fork.received(bench.wire, Buffer.from(text))
  bench.fork.received(bench.wire, null)
  assert.is(bench.fork.counters().messagesIgnored, wrong.length + 1)
  assert.is(bench.status, 'streaming')
  assert.ok(pull(bench) !== null)
})

test('a receiver is told once that it sends more than may wait, and again when it does so again', () => {
  const bench = bidirectional().open()
  const second = media(ulaw(new Int16Array(8000).fill(500)))
  const told = () => bench.wire.messages.flatMap(message => message.overflow?.framesRefused ?? [])
  for (let n = 0; n < 62; n++) bench.say(second)
  assert.equal(told(), [50])
  assert.is(bench.fork.snapshot().framesRefused, 100)
  for (let n = 0; n < 50; n++) pull(bench)
  bench.say(second)
  bench.say(second)
  assert.equal(told(), [50, 150])
})

test('messages beyond 3000 at once, and 300 a second, are ignored', () => {
  const bench = bidirectional().open()
  for (let n = 0; n < 3010; n++) bench.say({ event: 'clear' })
  assert.is(bench.fork.counters().messagesIgnored, 10)
  bench.wait(1000)
  for (let n = 0; n < 310; n++) bench.say({ event: 'clear' })
  assert.is(bench.fork.counters().messagesIgnored, 20)
})

test('messages of more than 8 MiB at once, and 1 MiB a second, are ignored: reading them would stop the calls of the thread', () => {
  const bench = bidirectional().open()
  const large = Buffer.alloc(1024 * 1024, ' ')
  for (const at of [0, 1000]) {
    bench.wait(at)
    large.write('{"event":"clear"}')
    for (let n = 0; n < 9; n++) bench.fork.received(bench.wire, large)
  }
  assert.is(bench.fork.counters().messagesIgnored, 1 + 8)
})

test('a message of a thousand elements is none of ours, and is not read: brackets alone take a tenth of a second', () => {
  const bench = bidirectional().open()
  const clear = (more: string) => bench.fork.received(bench.wire, Buffer.from(`{"event":"clear","more":${more}}`))
  clear('[1,{"a":[]}]')
  assert.is(bench.fork.counters().messagesIgnored, 0)
  for (const more of [
    '['.repeat(1000) + ']'.repeat(1000),
    `[${'1,'.repeat(1000)}1]`,
    `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`,
  ]) {
    clear(more)
  }
  assert.is(bench.fork.counters().messagesIgnored, 3)
})

test('what waits goes on over a broken connection; marks that are reached meanwhile are answered on the next one', () => {
  const bench = bidirectional().open()
  bench.say(media(frameOf(700)))
  bench.say(mark('said'))
  bench.break()
  assert.is(bench.status, 'reconnecting')
  assert.ok(pull(bench) !== null)
  assert.is(pull(bench), null)
  bench.wait(250)
  bench.open()
  assert.equal(bench.wire.events(), ['connected', 'start', 'mark'])
  assert.equal(marks(bench), ['said'])
})

test('a receiver that asks by marks and reads nothing is not answered without end: its marks wait, at most 1000, until it reads', () => {
  const bench = bidirectional().open()
  bench.wire.stalled = true
  for (let n = 0; n < 2000; n++) bench.say(mark(`${n} ${'long'.repeat(40)}`))
  const unread = marks(bench).length
  assert.ok(unread < 200, `${unread} answers wait in the socket`)
  bench.release()
  assert.is(marks(bench).length, unread + 1000)
  assert.is(marks(bench).at(unread)?.split(' ')[0], String(unread))
})

test('when the stream is stopped nothing more of its receiver is heard, and no mark is answered', () => {
  const bench = bidirectional().open()
  bench.say(media(frameOf(700)))
  bench.say(mark('never'))
  bench.fork.stop('stopped')
  assert.is(pull(bench), null)
  bench.say(media(frameOf(700)))
  assert.is(pull(bench), null)
  assert.equal(bench.wire.events(), ['connected', 'start', 'stop'])
})

test('a receiver that closes is not heard any more', () => {
  const bench = bidirectional().open()
  bench.say(media(frameOf(700)))
  bench.break(1000)
  assert.is(bench.status, 'stopped/receiver_closed')
  assert.is(pull(bench), null)
})

test.run()
