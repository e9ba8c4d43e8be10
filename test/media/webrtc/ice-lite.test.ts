import * as assert from 'uvu/assert'
import { CONSENT_MS, IceLite } from '../../../media/webrtc/ice-lite.ts'
import {
  BINDING_ERROR,
  BINDING_INDICATION,
  BINDING_REQUEST,
  BINDING_SUCCESS,
  bindingSuccess,
  formatStun,
  ICE_CONTROLLED,
  isAuthentic,
  parseStun,
  UNKNOWN_ATTRIBUTES,
  USE_CANDIDATE,
  USERNAME,
} from '../../../media/webrtc/stun.ts'
import { suite } from '../../harness.ts'

const test = suite('media/webrtc/ice-lite')
const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

/** RFC 5769 §2: test vectors, and the password of them all. */
const PASSWORD = 'VOkJxbRl1RmTxUk/WvJxBt'
const REQUEST = hex(`
  00010058 2112a442 b7e7a701 bc34d686 fa87dfae 80220010 5354554e 20746573 7420636c 69656e74 00240004 6e0001ff
  80290008 932ff9b1 51263b36 00060009 6576746a 3a683676 59202020 00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2
  80280004 e57a3bcf`)
const RESPONSE_V4 = hex(`
  0101003c 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220 00200008 0001a147 e112a643
  00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7 80280004 c07d4c96`)
const RESPONSE_V6 = hex(`
  01010048 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220 00200014 0002a147 0113a9fa a5d3f179
  bc25f4b5 bed2b9d9 00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41 80280004 c8fb0b4c`)
const XOR_MAPPED_ADDRESS = 0x0020
const ERROR_CODE = 0x0009
/** Length of FINGERPRINT, which is last and not covered by MESSAGE-INTEGRITY. */
const FINGERPRINT_BYTES = 8

test('RFC 5769 §2.1: the sample request is read, and authentic by its password alone', () => {
  const request = parseStun(REQUEST)!
  assert.is(request.type, BINDING_REQUEST)
  assert.is(request.attributes.get(USERNAME)?.toString(), 'evtj:h6vY')
  assert.ok(isAuthentic(request, PASSWORD))
  assert.not.ok(isAuthentic(request, 'VOkJxbRl1RmTxUk/WvJxBu'))
})

test('RFC 5769 §2.2, §2.3: our answers name the same addresses as the sample responses', () => {
  const request = parseStun(REQUEST)!
  const samples = [
    { bytes: RESPONSE_V4, host: '192.0.2.1' },
    { bytes: RESPONSE_V6, host: '2001:db8:1234:5678:11:2233:4455:6677' },
  ]
  for (const { bytes, host } of samples) {
    const sample = parseStun(bytes)!
    assert.ok(isAuthentic(sample, PASSWORD))
    const ours = parseStun(bindingSuccess(request, host, 32_853, PASSWORD))!
    assert.is(ours.type, BINDING_SUCCESS)
    assert.ok(isAuthentic(ours, PASSWORD))
    assert.equal(ours.attributes.get(XOR_MAPPED_ADDRESS), sample.attributes.get(XOR_MAPPED_ADDRESS))
    assert.equal(ours.transactionId, sample.transactionId)
  }
})

test('a message of which one bit is another is no message, or not authentic', () => {
  for (let bit = 0; bit < (REQUEST.length - FINGERPRINT_BYTES) * 8; bit++) {
    const bytes = Buffer.from(REQUEST)
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    const message = parseStun(bytes)
    assert.ok(message === null || !isAuthentic(message, PASSWORD), `bit ${bit}`)
  }
  for (let length = 0; length < REQUEST.length; length++) assert.is(parseStun(REQUEST.subarray(0, length)), null)
})

const LOCAL = { ufrag: 'ours', pwd: 'ours-0123456789012345678' }
const TRANSACTION = Buffer.from('abcdefghijkl')
const NOMINATES = [USE_CANDIDATE, Buffer.alloc(0)] as const

/** A connectivity check of the far end with these credentials. */
const check = (
  more: readonly (readonly [number, Uint8Array])[] = [],
  username = 'ours:theirs',
  pwd = LOCAL.pwd,
): Buffer => formatStun(BINDING_REQUEST, TRANSACTION, [[USERNAME, Buffer.from(username)], ...more], pwd)

test('a check is answered with where it came from; the far end is sent to once it has said so', () => {
  const ice = new IceLite(LOCAL, { ufrag: 'theirs' })
  const answer = parseStun(ice.check(check(), '192.0.2.7', 4000, 0)!)!
  assert.is(answer.type, BINDING_SUCCESS)
  assert.ok(ice.isPeer('192.0.2.7', 4000))
  assert.not.ok(ice.isPeer('192.0.2.7', 4001))
  assert.not.ok(ice.mayBeSentTo(0))
  ice.check(check([NOMINATES]), '192.0.2.7', 4000, 10)
  assert.equal([ice.host, ice.port, ice.mayBeSentTo(10)], ['192.0.2.7', 4000, true])
  ice.check(check([NOMINATES]), '198.51.100.7', 5000, 20)
  assert.equal([ice.host, ice.port], ['198.51.100.7', 5000])
})

test('RFC 7675: who does not check for 30 s consents no more to be sent to, until it does', () => {
  const ice = new IceLite(LOCAL, { ufrag: 'theirs' })
  ice.check(check([NOMINATES]), '192.0.2.7', 4000, 0)
  assert.ok(ice.mayBeSentTo(CONSENT_MS - 1))
  assert.not.ok(ice.mayBeSentTo(CONSENT_MS))
  ice.check(check(), '192.0.2.7', 4000, 40_000)
  assert.ok(ice.mayBeSentTo(40_000))
})

test("RFC 8445 §11: an indication that keeps the far end's NAT open is not answered, consents to nothing, and counts as nothing", () => {
  const ice = new IceLite(LOCAL, { ufrag: 'theirs' })
  const keepAlive = formatStun(BINDING_INDICATION, TRANSACTION, [], LOCAL.pwd)
  ice.check(check([NOMINATES]), '192.0.2.7', 4000, 0)
  assert.is(ice.check(keepAlive, '192.0.2.7', 4000, CONSENT_MS - 1), null)
  assert.equal([ice.refused, ice.mayBeSentTo(CONSENT_MS)], [0, false])
  assert.is(ice.check(keepAlive, '203.0.113.66', 666, 0), null)
  assert.is(ice.refused, 1)
})

test('who has not our password, or is another call, is answered nothing and counted', () => {
  const ice = new IceLite(LOCAL, { ufrag: 'theirs' })
  const strangers = [
    check([NOMINATES], 'ours:theirs', 'a-password-that-is-not-ours'),
    check([NOMINATES], 'ours:others'),
    Buffer.alloc(20),
    RESPONSE_V4,
  ]
  for (const bytes of strangers) assert.is(ice.check(bytes, '203.0.113.66', 666, 0), null)
  assert.is(ice.refused, strangers.length)
  assert.not.ok(ice.isPeer('203.0.113.66', 666) || ice.mayBeSentTo(0))
})

test('RFC 8445 §7.3.1.1: who believes to be controlled is told of the conflict: we are, being lite', () => {
  const ice = new IceLite(LOCAL, { ufrag: 'theirs' })
  const answer = ice.check(check([[ICE_CONTROLLED, Buffer.alloc(8)]]), '192.0.2.7', 4000, 0)!
  assert.is(parseStun(answer)?.type, BINDING_ERROR)
})

test('RFC 8489 §6.3.1: a check with an attribute that must be understood, and is not, is answered 420, and counts as no check', () => {
  const ice = new IceLite(LOCAL, { ufrag: 'theirs' })
  const strange = [
    [0x0003, Buffer.alloc(4)],
    [0x7abc, Buffer.alloc(0)],
  ] as const
  const answer = parseStun(ice.check(check([NOMINATES, ...strange]), '192.0.2.7', 4000, 0)!)!
  assert.is(answer.type, BINDING_ERROR)
  assert.equal([...answer.attributes.get(ERROR_CODE)!.subarray(2, 4)], [4, 20])
  assert.equal(answer.attributes.get(UNKNOWN_ATTRIBUTES), hex('00037abc'))
  assert.not.ok(ice.mayBeSentTo(0) || ice.isPeer('192.0.2.7', 4000))
  // One that may be ignored.
  const optional = check([NOMINATES, [0xc057, Buffer.alloc(4)]])
  assert.is(parseStun(ice.check(optional, '192.0.2.7', 4000, 0)!)!.type, BINDING_SUCCESS)
})

test.run()
