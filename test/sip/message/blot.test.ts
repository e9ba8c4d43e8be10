import * as assert from 'uvu/assert'
import { blotted } from '../../../sip/message/blot.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/message/blot')

const message = (head: string[], body = ''): string => `${head.join('\r\n')}\r\n\r\n${body}`
const DIGEST =
  'Digest username="ann", realm="tandem", nonce="abcdef", uri="sip:x@y", response="6629fae49393a0", qop=auth'

test("a digest's answer is blotted, and the rest of the header stays", () => {
  for (const name of ['Authorization', 'Proxy-Authorization', 'PROXY-AUTHORIZATION ', 'authorization']) {
    const shown = blotted(message(['REGISTER sip:y SIP/2.0', `${name}: ${DIGEST}`, 'CSeq: 1 REGISTER']))
    assert.not.match(shown, '6629fae49393a0')
    assert.match(
      shown,
      'username="ann", realm="tandem", nonce="abcdef", uri="sip:x@y", response="**************", qop=auth',
    )
    assert.match(shown, 'CSeq: 1 REGISTER')
  }
  const folded = blotted(
    message(['INVITE sip:y SIP/2.0', 'Authorization: Digest username="a",', '  response = "6629fa",', '\tqop=auth']),
  )
  assert.not.match(folded, '6629fa')
  assert.match(folded, 'qop=auth')
  assert.not.match(blotted(message(['INVITE sip:y SIP/2.0', 'Authorization: Digest response=6629fa'])), '6629fa')
  assert.not.match(blotted(message(['SIP/2.0 200 OK', 'Authentication-Info: qop=auth, rspauth="6629fa"'])), '6629fa')
})

test('of other schemes all is blotted but their name', () => {
  const shown = blotted(message(['INVITE sip:y SIP/2.0', 'Authorization: Bearer abc.def.ghi', 'Via: SIP/2.0/UDP a']))
  assert.match(shown, 'Authorization: Bearer ***********\r\nVia: SIP/2.0/UDP a')
})

test('a header that is a secret by its name is blotted, its continuations too; others stay', () => {
  for (const name of [
    'X-Api-Token',
    'x-apikey',
    'X-Auth',
    'P-Client-Secret',
    'Cookie',
    'X-Password',
    'PIN',
    'X-Access-Key ',
  ]) {
    const shown = blotted(message(['INVITE sip:y SIP/2.0', `${name}: Bearer abc:def,`, '\tghi', 'CSeq: 1 INVITE']))
    assert.match(shown, `${name}: ****** ********\r\n\t***\r\nCSeq: 1 INVITE`)
  }
  const open = message([
    'SIP/2.0 401 token',
    'WWW-Authenticate: Digest realm="tandem", nonce="abcdef"',
    'Subject: token: secret',
    'X-Keyboard: qwertz',
    'X-Shipping: 17',
    'Authentication-Info: qop=auth',
  ])
  assert.is(blotted(open), open)
})

test('keys of encrypted audio are blotted, and their suites stay', () => {
  const sdp = [
    'v=0',
    'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz|2^20|1:4;inline:QUJjMTIzNDU2Nzg5QUJDREUwMTIzNDU2Nzg5jjjj|2^20',
    'k=clear:geheim',
    'a=ice-pwd:asd88fgpdd777uzjYhagZg',
    'a=key-mgmt:mikey AQAFgM',
    'a=ptime:20',
    '',
  ].join('\r\n')
  const shown = blotted(message(['INVITE sip:y SIP/2.0', 'Content-Type: application/sdp'], sdp))
  for (const secret of ['WVNf', 'QUJj', 'geheim', 'asd88', 'AQAFg']) assert.not.match(shown, secret)
  assert.match(
    shown,
    'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:****************************************|2^20|1:4;inline:',
  )
  assert.match(shown, 'a=ptime:20')
})

test('of an INFO no key is shown, whatever its type', () => {
  const info = (type: string, body: string): string => blotted(message(['INFO sip:y SIP/2.0', type], body))
  assert.match(
    info('Content-Type: application/dtmf-relay', 'Signal=5\r\nDuration= 160\r\n'),
    'Signal=*\r\nDuration=****\r\n',
  )
  assert.match(info('Content-Type: application/dtmf', '5'), /\r\n\r\n\*$/)
  assert.match(info('c: text/plain', 'my card 4929\nsignal is 5'), /\r\n\r\n\*{12}\n\*{11}$/)
  assert.match(info('Content-Type: application/sdp', '4929'), /\r\n\r\n\*{4}$/)
  assert.not.match(blotted('INFO sip:y SIP/2.0\r\nContent-Type: application/dtmf\r\nSignal=7'), 'Signal=7')
})

test('bodies of which nobody knows what they say are blotted, those of calls are shown', () => {
  const of = (type: string): string =>
    blotted(message(['NOTIFY sip:y SIP/2.0', `Content-Type: ${type}`], 'SIP/2.0 200 OK'))
  assert.match(of('message/sipfrag;version=2.0'), /SIP\/2\.0 200 OK$/)
  assert.match(of('application/kpml-response+xml'), /\*{14}$/)
  assert.match(of('multipart/mixed; boundary=x'), /\*{14}$/)
})

test('passwords of URIs are blotted, ports are not', () => {
  const shown = blotted(
    message([
      'INVITE sip:ann:geheim@y SIP/2.0',
      'From: <sip:bob:secret;x=1@z:5060>;tag=1',
      'Contact: <sip:10.0.0.1:5060>',
    ]),
  )
  assert.match(shown, 'INVITE sip:ann:******@y SIP/2.0')
  assert.match(shown, 'From: <sip:bob:**********@z:5060>;tag=1')
  assert.match(shown, '<sip:10.0.0.1:5060>')
})

test('lengths stay as they are, and nothing that comes over the wire takes long', () => {
  for (const text of [
    'sip:',
    'sip:a:',
    ';inline:',
    'response=',
    '"',
    '\r\n ',
    'a=crypto:1 ',
    'Authorization:',
    'token',
    'a-key-',
  ]) {
    const long = message(
      [
        'INVITE sip:y:z@w SIP/2.0',
        `Authorization: ${text.repeat(65_536 / text.length)}`,
        text.repeat(65_536 / text.length),
      ],
      text.repeat(100),
    )
    assert.is(blotted(long).length, long.length)
  }
})

test.run()
