import * as assert from 'uvu/assert'
import { bracketed, parseUri, uriParam, userOf } from '../../../sip/message/uri.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/message/uri')

test('SIP URIs are taken apart as RFC 3261 §19.1 lays them out', () => {
  const cases: [text: string, user: string | null, host: string, port: number | null][] = [
    ['sip:alice@example.com', 'alice', 'example.com', null],
    ['SIP:alice:secret@example.com:5070;transport=tcp?a=b', 'alice', 'example.com', 5070],
    ['sips:+1-212-555;phone-context=x@gw', '+1-212-555;phone-context=x', 'gw', null],
    ['sip:[2001:db8::1]:5080', null, '2001:db8::1', 5080],
    ['sip:a%40b%25@h', 'a@b%', 'h', null],
    ['sip:under_score.example.com.', null, 'under_score.example.com.', null],
  ]
  for (const [text, user, host, port] of cases) {
    const uri = parseUri(text)
    if ('error' in uri || (uri.scheme !== 'sip' && uri.scheme !== 'sips')) throw new Error(text)
    assert.equal([userOf(uri), uri.host, uri.port], [user, host, port], text)
  }
})

test('parameters are found in any case, flags are empty and absent ones null', () => {
  const uri = parseUri('sip:a@h;Transport=TCP;lr;x="a;b"')
  assert.is('error' in uri, true)
  const plain = parseUri('sip:a@h;Transport=TCP;lr')
  if ('error' in plain) throw new Error('refused')
  assert.equal([uriParam(plain, 'transport'), uriParam(plain, 'lr'), uriParam(plain, 'ttl')], ['TCP', '', null])
})

test('tel URIs and unknown schemes are told apart', () => {
  const tel = parseUri('tel:+15551234;ext=9')
  assert.equal([!('error' in tel) && tel.scheme, !('error' in tel) && userOf(tel)], ['tel', '+15551234'])
  const other = parseUri('isbn:2983792873')
  assert.is(!('error' in other) && other.scheme, 'other')
})

test('what is no URI is an error value', () => {
  for (const text of [
    '',
    'alice',
    'sip:',
    'sip:@h',
    'sip:a b@h',
    'sip:a%4@h',
    'sip:h:0',
    'sip:h:70000',
    'sip:h:x',
    'sip:[::1',
    'sip:[zz]',
    'tel:',
    '1a:b',
    'sip:-h',
  ]) {
    assert.equal(parseUri(text), { error: 'bad_uri' }, text)
  }
})

test('IPv6 hosts get their brackets once', () => {
  assert.equal(['::1', '[::1]', '192.0.2.1', 'h'].map(bracketed), ['[::1]', '[::1]', '192.0.2.1', 'h'])
})

test.run()
