import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import type { SipRequest } from '../../../sip/message/message.ts'
import { toText } from '../../../sip/message/message.ts'
import { MAX_HEAD_BYTES, type ParseErrorCode, parseMessage } from '../../../sip/message/parse.ts'
import { suite } from '../../harness.ts'
import { message } from '../pipe.ts'

const test = suite('sip/message/parse')
const START = 'OPTIONS sip:b@192.0.2.2 SIP/2.0'
const REST = [
  'Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1',
  'From: "A" <sip:a@192.0.2.1>;tag=1',
  'To: <sip:b@192.0.2.2>',
  'Call-ID: 1@a',
  'CSeq: 1 OPTIONS',
]

function read(...lines: string[]): SipRequest {
  const result = parseMessage(message(...lines))
  if (result.kind !== 'request') throw new Error(result.kind === 'failure' ? result.error : 'a response')
  return result
}

function errorOf(...lines: string[]): ParseErrorCode | null {
  const result = parseMessage(message(...lines))
  return result.kind === 'failure' ? result.error : null
}

test('header names are known in any case and in their compact forms', () => {
  const request = read(
    START,
    'v: SIP/2.0/UDP h;branch=z9hG4bK1',
    'F: sip:a@h;tag=1',
    'T: sip:b@h',
    'I: x',
    'cSEQ: 1 OPTIONS',
    'K: timer, 100rel',
    'x: 90',
    'M: <sip:a@h>',
  )
  assert.equal(request.headers.list('supported'), ['timer', '100rel'])
  assert.is(request.headers.get('session-expires'), '90')
  assert.is(request.headers.get('contact'), '<sip:a@h>')
  assert.ok(request.headers.hasToken('supported', 'timer'))
})

test('lists are split at commas outside quotes and angle brackets', () => {
  const request = read(START, ...REST, 'Route: <sip:a,b@h;lr>, "x, \\" y" <sip:c@h>,,', 'Route: <sip:d@h>')
  assert.equal(request.headers.list('route'), ['<sip:a,b@h;lr>', '"x, \\" y" <sip:c@h>', '<sip:d@h>'])
})

test('folded lines are one value', () => {
  assert.is(read(START, ...REST, 'Subject: one', '  two', '\tthree').headers.get('subject'), 'one two three')
})

test('a display name in Latin-1, as older exchanges write it, is text; of one in UTF-8 that was cut within a character the rest is', () => {
  const nameIn = (bytes: Buffer): string => {
    const parsed = parseMessage(
      Buffer.concat([
        Buffer.from(`${START}\r\n${REST.filter(line => !line.startsWith('From')).join('\r\n')}\r\nFrom: "`),
        bytes,
        Buffer.from('" <sip:a@h>;tag=1\r\nContent-Length: 0\r\n\r\n'),
      ]),
    )
    if (!('kind' in parsed) || parsed.kind !== 'request') throw new Error(JSON.stringify(parsed))
    return toText(parsed.from.displayName!)
  }
  assert.is(nameIn(Buffer.from('Müller-Lüdenscheidt', 'latin1')), 'Müller-Lüdenscheidt')
  assert.is(nameIn(Buffer.from('Müller-Lüdenscheidt')), 'Müller-Lüdenscheidt')
  assert.is(nameIn(Buffer.from('Ольга').subarray(0, 9)), 'Ольг\ufffd')
})

test('UTF-8 display names are text, and other bytes are kept as they came', () => {
  const [via, , ...rest] = REST
  const request = read(START, via!, 'From: "Żółw" <sip:a@h>;tag=1', ...rest)
  assert.is(toText(request.from.displayName!), 'Żółw')
  const bytes = Buffer.concat([
    Buffer.from(`${[START, ...REST].join('\r\n')}\r\nSubject: `),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('\r\n\r\n'),
  ])
  const result = parseMessage(bytes)
  assert.is(result.kind === 'request' && result.headers.get('subject'), '\xff\xfe')
})

test('an address without angle brackets leaves its parameters to the header', () => {
  const [via, , , ...rest] = REST
  const request = read(
    START,
    via!,
    'From: sip:a@h:5070;tag=7',
    'To: "x" <sip:[2001:db8::1]:5070;transport=tcp;tag=no>',
    ...rest,
  )
  assert.equal([request.from.uri, request.from.tag], ['sip:a@h:5070', '7'])
  assert.equal([request.to.uri, request.to.tag], ['sip:[2001:db8::1]:5070;transport=tcp;tag=no', null])
})

test('Content-Length counts bytes, and without it the body goes to the end', () => {
  const body = 'grüße'
  const bytes = (extra: string[]) =>
    Buffer.concat([Buffer.from(message(START, ...REST, ...extra)), Buffer.from(`${body}!`)])
  const counted = parseMessage(bytes([`l: ${Buffer.byteLength(body)}`]))
  const open = parseMessage(bytes([]))
  assert.is(counted.kind === 'request' && Buffer.from(counted.body).toString(), body)
  assert.is(open.kind === 'request' && Buffer.from(open.body).toString(), `${body}!`)
})

test('what every message must have is demanded', () => {
  for (let i = 0; i < REST.length; i++) {
    const lines = REST.filter((_, at) => at !== i)
    const result = parseMessage(message(START, ...lines))
    assert.is(result.kind === 'failure' && result.error, 'missing_header')
    assert.is(result.kind === 'failure' && result.request, null)
  }
})

test('broken requests keep what a 400 needs', () => {
  const result = parseMessage(message(START, ...REST, 'No colon here', 'Max-Forwards: 70'))
  if (result.kind !== 'failure') throw new Error('read')
  assert.equal([result.error, result.request?.method], ['bad_header', 'OPTIONS'])
  assert.is(result.request?.headers.get('max-forwards'), '70')
})

test('bare line ends, NUL and spaces in names do not pass', () => {
  for (const line of ['Subject: a\rb', 'Subject: a\nX-Evil: b', 'Subject: a\0', 'Sub ject: a', ': a', 'Übung: a']) {
    assert.is(errorOf(START, ...REST, line), 'bad_header', JSON.stringify(line))
  }
})

test('messages, headers and their number are bounded', () => {
  assert.is(errorOf(START, ...REST, `X: ${'a'.repeat(70_000)}`), 'too_large')
  assert.is(errorOf(START, ...REST, `X: ${'a'.repeat(8200)}`), 'header_too_large')
  assert.is(errorOf(START, ...REST, ...Array.from({ length: 130 }, () => 'X: a')), 'too_many_headers')
  assert.is(errorOf(START, ...REST, `X: ${'a'.repeat(8000)}`, ...Array.from({ length: 120 }, () => 'X: a')), null)
})

test('a response is read without what is too large in it', () => {
  for (const [more, body] of [
    [[`Z: ${'a'.repeat(8200)}`, 'Content-Length: 1'], 'b'],
    [['Content-Length: 1', ...Array.from({ length: 130 }, () => 'Z: a')], 'b'],
    [['Content-Length: 70000'], ''],
    [['Content-Length: 1', ...Array.from({ length: 5 }, () => `Y: ${'a'.repeat(8000)}`)], ''],
  ] as const) {
    const head = message('SIP/2.0 200 OK', ...REST, ...more).toString()
    // A stream passes on only the beginning of too large a head.
    const bytes = head.length > MAX_HEAD_BYTES ? head.slice(0, MAX_HEAD_BYTES) : `${head}${body}`
    const result = parseMessage(Buffer.from(bytes), true)
    if (result.kind !== 'response') throw new Error('no response')
    assert.equal(
      [Buffer.from(result.body).toString(), result.headers.get('z')?.slice(0, 2) ?? null],
      [body, more.length > 100 ? 'a' : null],
    )
  }
  assert.is(errorOf('SIP/2.0 200 OK', ...REST.slice(1), `Z: ${'a'.repeat(8200)}`), 'missing_header')
})

test('line ends before the start line are skipped, and alone they are a keep-alive', () => {
  assert.is(errorOf('', '', START, ...REST), null)
  for (const bytes of ['', '\r\n', '\r\n\r\n']) {
    const result = parseMessage(Buffer.from(bytes))
    assert.is(result.kind === 'failure' && result.error, 'empty')
  }
})

test('whatever seeded mutation does to valid messages, the parser answers with a value', () => {
  const random = seeded(20_260)
  const seeds = [
    message(START, ...REST, 'Contact: "A, B" <sip:a@[2001:db8::1]:5060;lr>;expires=3', 'Content-Length: 0'),
    message('SIP/2.0 200 OK', ...REST, 'Record-Route: <sip:p;lr>, <sip:q>', 'Session-Expires: 90;refresher=uac'),
  ]
  const spice = [
    '\r\n',
    '\r\n ',
    '"',
    '\\',
    '<',
    '>',
    ';',
    ',',
    ':',
    '=',
    '%',
    '\0',
    '\xff',
    ' ',
    'Via: ',
    '9'.repeat(40),
  ]
  let read = 0
  for (let i = 0; i < 5000; i++) {
    let bytes = Buffer.from(seeds[i % seeds.length]!)
    for (let change = Math.floor(random() * 4); change >= 0; change--) {
      const at = Math.floor(random() * bytes.length)
      const cut = Math.floor(random() * 8)
      const piece = Buffer.from(spice[Math.floor(random() * spice.length)]!, 'latin1')
      bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(Math.min(bytes.length, at + cut))])
    }
    const result = parseMessage(bytes)
    if (result.kind !== 'failure') read++
  }
  assert.ok(read > 200 && read < 4000, `${read} of 5000 still readable`)
})

test('hostile repetition takes no more than linear time', () => {
  // A quadratic parser would take minutes for these, and run into the test's time-out.
  const fill = (piece: string) => piece.repeat(Math.floor(8000 / piece.length))
  for (const piece of ['"', '<', ';', ',', ';a=', '\\', ' ', 'SIP/', ';a="', '%41', '<>,']) {
    const lines = Array.from({ length: 7 }, () => `Route: ${fill(piece)}`)
    const result = parseMessage(message(START, ...REST, ...lines))
    if (result.kind === 'request') result.headers.list('route')
    parseMessage(message(START, `Via: ${fill(piece)}`, ...REST.slice(1)))
    parseMessage(message(START, `Via: SIP/2.0/UDP h${fill(piece)}`, ...REST.slice(1)))
    parseMessage(message(START, REST[0]!, `From: ${fill(piece)}`, ...REST.slice(2)))
    parseMessage(message(START, REST[0]!, `From: <sip:a@b>${fill(piece)}`, ...REST.slice(2)))
  }
})

test.run()
