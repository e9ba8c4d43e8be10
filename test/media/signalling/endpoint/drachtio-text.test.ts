import * as assert from 'uvu/assert'
import {
  branchOf,
  fieldOf,
  headersOf,
  readSipText,
  tagOf,
  withTag,
  writeSipText,
} from '../../../../media/signalling/endpoint/drachtio-text.ts'
import { readAddresses } from '../../../../media/signalling/endpoint/drachtio-wire.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/endpoint/drachtio-text')

const INVITE = [
  'INVITE sip:1000@example.com SIP/2.0',
  'v: SIP/2.0/UDP 192.0.2.1:5060;rport;branch=z9hG4bK1',
  'From: "A; tag=no" <sip:a@example.com;tag=no>;tag=one',
  'To: sip:b@example.com;tag=two',
  'Subject: a',
  ' b',
  'Content-Length: 99',
  '',
  'gr\u00fc\u00dfe',
].join('\r\n')

test('a message is read as its fields, compact names and continued lines too, and written with its own length', () => {
  const message = readSipText(INVITE)
  assert.is(branchOf(message), 'z9hG4bK1')
  assert.is(fieldOf(message, 'subject'), 'a b')
  assert.is(message.body, 'gr\u00fc\u00dfe')
  const written = writeSipText(message).toString()
  assert.match(written, 'Content-Length: 7\r\n\r\n')
  assert.equal(readSipText(written).body, message.body)
})

test('a tag is one of the header, not of the URI or the name in it', () => {
  const message = readSipText(INVITE)
  assert.is(tagOf(fieldOf(message, 'from')), 'one')
  assert.is(tagOf(fieldOf(message, 'to')), 'two')
  assert.is(tagOf('<sip:b@example.com;tag=no>'), '')
  assert.is(withTag('<sip:b@example.com>;tag=x;other=1', 'y'), '<sip:b@example.com>;other=1;tag=y')
  assert.is(withTag('<sip:b@example.com>', ''), '<sip:b@example.com>')
})

test('fields of one name share a line, but for challenges, whose commas are their own (RFC 3261 \u00a77.3.1)', () => {
  const headers = headersOf([
    ['Route', '<sip:one;lr>'],
    ['Route', '<sip:two;lr>'],
    ['WWW-Authenticate', 'Digest realm="a", nonce="b"'],
    ['WWW-Authenticate', 'Digest realm="a", nonce="c"'],
  ])
  assert.is(headers.Route, '<sip:one;lr>, <sip:two;lr>')
  assert.is(headers['WWW-Authenticate']?.split('\r\nWWW-Authenticate: ').length, 2)
})

test('of the addresses that a server reports the first of a transport counts that is not its loopback', () => {
  const addresses = readAddresses('udp/127.0.0.1:5060,udp/192.0.2.1:5062,tcp/[2001:db8::1]:5060,udp/192.0.2.2:5060')
  assert.equal(addresses.get('udp'), { host: '192.0.2.1', port: 5062 })
  assert.equal(addresses.get('tcp'), { host: '2001:db8::1', port: 5060 })
  assert.is(addresses.get('tls'), undefined)
})

test.run()
