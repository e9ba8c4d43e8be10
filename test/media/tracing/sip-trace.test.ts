import * as assert from 'uvu/assert'
import { SipTrace } from '../../../media/tracing/sip-trace.ts'
import type { WireMessage } from '../../../media/tracing/wire-message.ts'
import { suite } from '../../harness.ts'

const test = suite('media/tracing/sip-trace')

let clock = 1_000_000
const LATER = 10_000

function message(line: string, callId: string, more = ''): WireMessage {
  return {
    at: clock++,
    isSent: false,
    transport: 'udp',
    local: { host: '127.0.0.1', port: 5060 },
    remote: { host: '127.0.0.2', port: 5061 },
    text: `${line}\r\nCall-ID: ${callId}\r\n${more}\r\n`,
  }
}

const linesOf = (trace: { messages: { text: string }[] } | null | undefined): string[] =>
  trace?.messages.map(({ text }) => text.split('\r\n')[0]!) ?? []

test('what passed before a leg was known is of it, and what passes after; other dialogs are not', () => {
  const trace = new SipTrace()
  trace.note(message('INVITE sip:a SIP/2.0', 'one'))
  trace.note(message('SIP/2.0 100 Trying', 'one'))
  trace.note(message('INVITE sip:b SIP/2.0', 'two'))
  trace.claim('one', 'part_1')
  trace.note(message('SIP/2.0 200 OK', 'one'))
  assert.equal(linesOf(trace.read('part_1')), ['INVITE sip:a SIP/2.0', 'SIP/2.0 100 Trying', 'SIP/2.0 200 OK'])
  assert.is(trace.read('part_2'), null)
})

test('a leg that was tried over several ways has the messages of all of them, in order', () => {
  const trace = new SipTrace()
  trace.claim('first', 'part_1')
  trace.note(message('INVITE sip:a SIP/2.0', 'first'))
  trace.claim('second', 'part_1')
  trace.note(message('INVITE sip:b SIP/2.0', 'second'))
  trace.note(message('SIP/2.0 503 Service Unavailable', 'first'))
  assert.equal(linesOf(trace.read('part_1')), [
    'INVITE sip:a SIP/2.0',
    'INVITE sip:b SIP/2.0',
    'SIP/2.0 503 Service Unavailable',
  ])
  assert.is(trace.callIdOf('part_1'), 'second')
})

test('a trace is handed over once what follows the end has passed, again until it is done, and then forgotten', () => {
  const trace = new SipTrace()
  trace.claim('one', 'part_1')
  trace.note(message('BYE sip:a SIP/2.0', 'one'))
  const ended = clock
  trace.end('part_1', ended)
  assert.equal(trace.take([], ended + 10), [])
  trace.note(message('SIP/2.0 200 OK', 'one'))
  for (let i = 0; i < 2; i++) {
    assert.equal(trace.take([], ended + LATER).map(linesOf), [['BYE sip:a SIP/2.0', 'SIP/2.0 200 OK']])
  }
  assert.equal(trace.take(['part_1'], ended + LATER), [])
  assert.is(trace.read('part_1'), null)
  assert.is(trace.size, 0)
})

test('what is read and handed over has its secrets blotted out', () => {
  const trace = new SipTrace()
  trace.claim('one', 'part_1')
  trace.note(message('INVITE sip:a SIP/2.0', 'one', 'Authorization: Digest response="6629fae49393"\r\n'))
  trace.note({
    ...message('INFO sip:a SIP/2.0', 'one', 'Content-Type: application/dtmf-relay\r\n'),
    text: 'INFO sip:a SIP/2.0\r\nCall-ID: one\r\n\r\nSignal=7\r\n',
  })
  const shown = JSON.stringify(trace.read('part_1'))
  assert.not.match(shown, '6629fae49393')
  assert.not.match(shown, 'Signal=7')
})

test('a caller who is to be told to nobody is in no message of its dialog, and other callers are', () => {
  const secrets = ['2125550100', 'Bob', '10.1.1.7', 'eyJhbGci', 'bobs-pbx']
  const from = '"Bob" <sip:+12125550100@10.1.1.7>;tag=hers'
  const contact = 'Contact: <sip:+12125550100@10.1.1.7:5060>\r\n'
  const talk = (asked: string): WireMessage[] => [
    message(
      'INVITE sip:1002@us SIP/2.0',
      'one',
      `f: ${from}\r\nTo: <sip:1002@us>\r\nP-Asserted-Identity: "Bob"\r\n <sip:+12125550100@10.1.1.7>\r\n${asked}\r\n${contact}Identity: eyJhbGci\r\nDiversion: <sip:+13105550001@x>\r\n\r\no=bobs-pbx 1 1 IN IP4 10.2.2.2`,
    ),
    {
      ...message('SIP/2.0 200 OK', 'one', `From: ${from}\r\nTo: <sip:1002@us>;tag=ours\r\nContact: <sip:us>\r\n`),
      isSent: true,
    },
    message('BYE sip:us SIP/2.0', 'one', `From: ${from}\r\nTo: <sip:1002@us>;tag=ours\r\n`),
    {
      ...message(
        'INVITE sip:+12125550100@10.1.1.7:5060 SIP/2.0',
        'one',
        `From: <sip:1002@us>;tag=ours\r\nTo: ${from}\r\n`,
      ),
      isSent: true,
    },
    message('SIP/2.0 200 OK', 'one', `From: <sip:1002@us>;tag=ours\r\nTo: ${from}\r\n${contact}`),
  ]
  const shown = (asked: string): string => {
    const trace = new SipTrace()
    trace.claim('one', 'part_1')
    for (const one of talk(asked)) trace.note(one)
    return trace
      .read('part_1')!
      .messages.map(({ text }) => text)
      .join('')
  }
  for (const asked of [
    'Privacy: critical;id',
    'privacy :\r\n user',
    'Privacy: header',
    'Remote-Party-ID: <sip:x@y>;privacy=full',
  ]) {
    const text = shown(asked)
    // The address of our own requests is part of sending them; it does not tell whom they are for.
    for (const secret of secrets)
      assert.not.match(text.replace('@10.1.1.7:5060 SIP/2.0', ''), secret, `${asked}: ${secret}`)
    assert.is(text.match(/;tag=hers/g)!.length, 5, 'the dialog can be followed')
    for (const kept of ['<sip:1002@us>;tag=ours', 'Diversion: <sip:+13105550001@x>', 'Contact: <sip:us>'])
      assert.match(text, kept)
  }
  for (const asked of ['Privacy: none', 'Remote-Party-ID: <sip:x@y>;privacy=off', 'X-Privacy: id']) {
    for (const secret of secrets) assert.match(shown(asked), secret)
  }
})

test('a leg has 200 messages and 256 KiB at most of a dialog, and what is more is counted', () => {
  const trace = new SipTrace()
  trace.claim('one', 'part_1')
  for (let i = 0; i < 250; i++) trace.note(message('OPTIONS sip:a SIP/2.0', 'one'))
  assert.is(trace.read('part_1')?.messages.length, 200)
  assert.is(trace.read('part_1')?.dropped, 50)
  trace.claim('large', 'part_2')
  for (let i = 0; i < 10; i++) trace.note(message(`INVITE sip:a;${'x'.repeat(50_000)} SIP/2.0`, 'large'))
  assert.is(trace.read('part_2')?.messages.length, 5)
  assert.is(trace.counters.messagesDropped, 55)
})

test('a flood of INVITEs that become no call, or of dialogs that nobody knows, takes bounded memory', () => {
  const trace = new SipTrace()
  for (let i = 0; i < 2000; i++) trace.note(message(`INVITE sip:a;${'x'.repeat(10_000)} SIP/2.0`, `flood${i}`))
  for (let i = 0; i < 2000; i++) trace.note(message('OPTIONS sip:a SIP/2.0', `options${i}`))
  trace.claim('flood0', 'part_0')
  assert.equal(linesOf(trace.read('part_0')), [], 'the oldest are gone')
  trace.claim('flood1999', 'part_1')
  assert.is(trace.read('part_1')?.messages.length, 1)
})

test('when nobody fetches, the oldest that have ended make room for what is going on, and are counted', () => {
  const trace = new SipTrace()
  const long = `INVITE sip:a;${'x'.repeat(60_000)} SIP/2.0`
  for (let i = 0; i < 500; i++) {
    trace.claim(`call${i}`, `part_${i}`)
    for (let n = 0; n < 4; n++) trace.note(message(long, `call${i}`))
    trace.end(`part_${i}`, clock)
  }
  assert.ok(trace.counters.legsDropped > 150, String(trace.counters.legsDropped))
  assert.is(trace.read('part_0'), null)
  assert.is(trace.read('part_499')?.messages.length, 4)
  assert.is(trace.size, 500 - trace.counters.legsDropped)
})

test('a batch is bounded, in legs and in what they hold', () => {
  const trace = new SipTrace()
  for (let i = 0; i < 100; i++) {
    trace.claim(`call${i}`, `part_${i}`)
    trace.note(message('INVITE sip:a SIP/2.0', `call${i}`))
    trace.end(`part_${i}`, clock)
  }
  const first = trace.take([], clock + LATER)
  assert.is(first.length, 64)
  const done = first.map(({ legId }) => legId)
  assert.is(trace.take(done, clock + LATER).length, 36)
  const long = new SipTrace()
  for (let i = 0; i < 10; i++) {
    long.claim(`call${i}`, `part_${i}`)
    for (let n = 0; n < 4; n++) long.note(message(`INVITE sip:a;${'x'.repeat(60_000)} SIP/2.0`, `call${i}`))
    long.end(`part_${i}`, clock)
  }
  assert.is(long.take([], clock + LATER).length, 2)
})

test('two legs of one Call-ID, of whom we call ourselves, have both sides, and each is handed over', () => {
  const trace = new SipTrace()
  trace.claim('one', 'part_out')
  trace.note({ ...message('INVITE sip:a SIP/2.0', 'one'), isSent: true })
  trace.note(message('INVITE sip:a SIP/2.0', 'one'))
  trace.claim('one', 'part_in')
  trace.end('part_in', clock)
  assert.is(trace.take([], clock + LATER)[0]?.messages.length, 2)
  trace.take(['part_in'], clock + LATER)
  assert.is(trace.read('part_out')?.messages.length, 2)
})

test.run()
