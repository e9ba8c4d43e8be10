import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { type FramerEvent, StreamFramer } from '../../../sip/message/framer.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/message/framer')
const text = (events: FramerEvent[]): string[] =>
  events.map(event => {
    if (event.kind === 'message') return Buffer.from(event.bytes).toString('latin1')
    return event.kind === 'close' ? event.reason : event.kind
  })
const one = (body: string): string => `MESSAGE x SIP/2.0\r\nl: ${Buffer.byteLength(body)}\r\n\r\n${body}`

test('messages are cut by Content-Length in bytes, however the stream is split', () => {
  const messages = [one('héllo'), one(''), one('x'.repeat(10_000)), one('last\r\n\r\n')]
  const stream = Buffer.from(`\r\n${messages[0]}${messages[1]}\r\n\r\n${messages[2]}\r\n${messages[3]}`)
  const random = seeded(7)
  for (let round = 0; round < 50; round++) {
    const framer = new StreamFramer()
    const events: FramerEvent[] = []
    for (let at = 0; at < stream.length; ) {
      const size = 1 + Math.floor(random() * (round === 0 ? 1 : 3000))
      events.push(...framer.push(stream.subarray(at, at + size)))
      at += size
    }
    const wanted = [messages[0], messages[1], 'ping', messages[2], messages[3]]
    assert.equal(
      text(events),
      wanted.map(entry => Buffer.from(entry!, 'utf8').toString('latin1')),
    )
  }
})

test('a double CRLF is a ping, a single one is not', () => {
  const framer = new StreamFramer()
  assert.equal(text(framer.push(Buffer.from('\r\n\r\n'))), ['ping'])
  assert.equal(text(framer.push(Buffer.from('\r\n'))), [])
  assert.equal(text(framer.push(Buffer.from(one('a')))), [one('a')])
})

test('the length of a message may be folded, and begin with zeros (RFC 3261 §7.3.1, §20.14)', () => {
  for (const length of ['\r\n 3', ' \r\n\t 3', ' 000000000003', ' 3\r\n ']) {
    const folded = `MESSAGE x SIP/2.0\r\nContent-Length :${length}\r\n\r\nabc`
    assert.equal(text(new StreamFramer().push(Buffer.from(`${folded}${one('b')}`))), [folded, one('b')])
  }
})

test('a stream that cannot be followed is closed, after the head of what has no length, and nothing comes after', () => {
  const cases: [string, string[]][] = [
    ...['l: x', 'l: -1', 'l: 0\r\nContent-Length: 3'].map((line): [string, string[]] => [
      `MESSAGE x SIP/2.0\r\n${line}\r\n\r\nabc`,
      [`MESSAGE x SIP/2.0\r\n${line}\r\n\r\n`, 'bad_content_length'],
    ]),
    ['MESSAGE x SIP/2.0\r\nFoo: x\r\n\r\n', ['MESSAGE x SIP/2.0\r\nFoo: x\r\n\r\n', 'no_content_length']],
    ['\rx', ['bad_line_end']],
  ]
  for (const [bytes, said] of cases) {
    const framer = new StreamFramer()
    assert.equal(text(framer.push(Buffer.from(bytes))), said)
    assert.equal(framer.push(Buffer.from(one('a'))), [])
  }
})

test('of a message that is too large comes what tells who is to hear so, and the stream is closed', () => {
  const long = `MESSAGE x SIP/2.0\r\n${'a'.repeat(40_000)}`
  const cases: [string, string, string][] = [
    ['MESSAGE x SIP/2.0\r\nContent-Length : 70000\r\n\r\nabc', 'message_too_large', '\r\n\r\n'],
    [long, 'head_too_large', 'aaa'],
    [`${long}\r\nl: 0\r\n\r\n`, 'head_too_large', 'aaa'],
  ]
  for (const [bytes, reason, end] of cases) {
    const framer = new StreamFramer()
    const [head, close, ...more] = text(framer.push(Buffer.from(bytes)))
    assert.equal([close, more], [reason, []])
    assert.ok(bytes.startsWith(head!) && head!.endsWith(end) && head!.length <= 32_768)
    assert.equal(framer.push(Buffer.from(one('a'))), [])
  }
})

test('a message keeps its bytes when more of the stream arrives', () => {
  const framer = new StreamFramer()
  const [first] = framer.push(Buffer.from(one('abc')))
  framer.push(Buffer.from(one('xyz')))
  assert.equal(text([first!]), [one('abc')])
})

test.run()
