import * as assert from 'uvu/assert'
import { parseMessage } from '../../../sip/message/parse.ts'
import { parseReasons, q850, q850OfStatus, reasonFields } from '../../../sip/message/reason.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/message/reason')

function reasonsOf(...values: string[]) {
  const lines = [
    'BYE sip:a@192.0.2.1 SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.9;branch=z9hG4bK1',
    'From: <sip:b@192.0.2.9>;tag=b',
    'To: <sip:a@192.0.2.1>;tag=a',
    'Call-ID: one',
    'CSeq: 2 BYE',
    ...values.map(value => `Reason: ${value}`),
    'Content-Length: 0',
    '\r\n',
  ]
  const message = parseMessage(Buffer.from(lines.join('\r\n')))
  if (message.kind === 'failure') throw new Error(message.error)
  return parseReasons(message.headers)
}

test('a Reason has a protocol, a cause and a text; there may be several, in one header or more (RFC 3326 §2)', () => {
  assert.equal(
    reasonsOf('SIP ;cause=200 ;text="Call completed elsewhere"', 'q.850; Cause=16, SIP;cause=486;text=busy'),
    [
      { protocol: 'SIP', cause: 200, text: 'Call completed elsewhere' },
      { protocol: 'Q.850', cause: 16, text: null },
      { protocol: 'SIP', cause: 486, text: 'busy' },
    ],
  )
})

test('what is no Reason that we know is left out, and a text is what can be shown, of a length that can be kept', () => {
  assert.equal(
    reasonsOf(
      'Q.850',
      'Q.850;text="no cause"',
      'Q.850;cause=128',
      'Q.850;cause=0',
      'SIP;cause=0',
      'X;cause=1',
      'SIP;cause=-1',
    ),
    [],
  )
  const [{ text } = { text: '' }] = reasonsOf(`Q.850;cause=16;text="${'é'.repeat(500)}"`)
  assert.is(text, 'é'.repeat(120))
  assert.is(reasonsOf('Q.850;cause=16;text="a\u0007b"')[0]?.text, 'ab')
  assert.is(reasonsOf(Array(100).fill('Q.850;cause=16').join()).length, 5)
})

test('what we send can be read again', () => {
  const fields = reasonFields([q850(17), { protocol: 'SIP', cause: 200, text: 'say "no"' }])
  assert.equal(
    fields.map(([name]) => name),
    ['Reason', 'Reason'],
  )
  assert.equal(reasonsOf(...fields.map(([, value]) => value)), [
    { protocol: 'Q.850', cause: 17, text: 'User busy' },
    { protocol: 'SIP', cause: 200, text: 'say "no"' },
  ])
})

test('final statuses stand for the causes of RFC 3398 §8.2.6.1', () => {
  const table = { 404: 1, 480: 18, 484: 28, 486: 17, 503: 41, 504: 102, 600: 17, 603: 21, 604: 1, 302: null }
  for (const [status, cause] of Object.entries(table)) assert.is(q850OfStatus(Number(status)), cause, status)
})

test('the text of a Reason is never cut within a character', () => {
  const [reason] = reasonsOf(`SIP;cause=486;text="${'x'.repeat(119)}👍"`)
  assert.is(reason?.text, 'x'.repeat(119))
})

test.run()
