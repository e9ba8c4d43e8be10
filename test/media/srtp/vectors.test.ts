import * as assert from 'uvu/assert'
import { GcmCipher } from '../../../media/srtp/gcm-cipher.ts'
import { HmacSha1 } from '../../../media/srtp/hmac-sha1.ts'
import { deriveKeys } from '../../../media/srtp/key-derivation.ts'
import { KeyStream } from '../../../media/srtp/key-stream.ts'
import type { PacketCipher } from '../../../media/srtp/packet-cipher.ts'
import { packetCipher } from '../../../media/srtp/suites.ts'
import { suite } from '../../harness.ts'

const test = suite('media/srtp/vectors')
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'))
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const MASTER_KEY = bytesOf('e1f97a0d3e018be0d64fa32c06de4139')
const MASTER_SALT = bytesOf('0ec675ad498afeebb6960b3aabe6')
const MASTER = Buffer.concat([MASTER_KEY, MASTER_SALT]).toString('base64')

test('RFC 3711 B.2: the AES-CM key stream', () => {
  const stream = new KeyStream(
    bytesOf('2b7e151628aed2a6abf7158809cf4f3c'),
    bytesOf('f0f1f2f3f4f5f6f7f8f9fafbfcfd'),
    1500,
  )
  const bytes = new Uint8Array(48)
  stream.apply(bytes, 0, bytes.length, 0, 0)
  assert.is(
    hexOf(bytes),
    'e03ead0935c95e80e166b16dd92b4eb4d23513162b02d0f72a43a2fe4a5f97ab41e95b3bb0a2e8dd477901e4fca894c0',
  )
})

test('RFC 3711 B.3: the session keys of a master key', () => {
  const keys = deriveKeys(MASTER_KEY, MASTER_SALT, 'rtp')
  assert.is(hexOf(keys.encryption), 'c61e7a93744f39ee10734afe3ff7a087')
  assert.is(hexOf(keys.salt), '30cbbc08863d8c85d49db34a9ae1')
  assert.is(hexOf(keys.authentication), 'cebe321f6ff7716b6fd4ab49af256a156d38baa4')
})

test('RFC 2202: HMAC-SHA1', () => {
  const of = (key: Uint8Array, message: string): string => {
    const hmac = new HmacSha1(key, 100)
    hmac.message.set(Buffer.from(message))
    hmac.digest(3)
    return hexOf(hmac.digest(message.length))
  }
  assert.is(of(new Uint8Array(20).fill(0x0b), 'Hi There'), 'b617318655057264e28bc0b6fb378c8ef146be00')
  assert.is(of(Buffer.from('Jefe'), 'what do ya want for nothing?'), 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79')
})

/** Checks both directions: `plain` becomes `sealed`, and back; `sealed` with any single bit changed is rejected. */
function proves(
  cipher: PacketCipher,
  packet: { clear: number; ssrc: number; index: number; plain: string; sealed: string },
) {
  const { clear, ssrc, index } = packet
  const [plain, sealed] = [bytesOf(packet.plain), bytesOf(packet.sealed)]
  cipher.work.set(plain)
  assert.is(hexOf(cipher.work.subarray(0, cipher.seal(clear, plain.length, ssrc, index))), hexOf(sealed))
  cipher.work.set(sealed)
  const length = cipher.open(clear, sealed.length, ssrc, index)
  assert.is(hexOf(cipher.work.subarray(0, length)), hexOf(plain))
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    cipher.work.set(sealed)
    cipher.work[bit >> 3]! ^= 1 << (bit & 7)
    // The index of an RTCP packet is given here, and not read: its four bytes count for nothing.
    if (bit >> 3 >= cipher.indexAt(sealed.length) && bit >> 3 < cipher.indexAt(sealed.length) + 4 && clear === 8)
      continue
    assert.is(cipher.open(clear, sealed.length, ssrc, index), -1, `bit ${bit}`)
  }
}

test('a packet of libsrtp, AES_CM_128_HMAC_SHA1_80', () => {
  proves(packetCipher('AES_CM_128_HMAC_SHA1_80', MASTER, 'rtp'), {
    clear: 12,
    ssrc: 0xcafebabe,
    index: 0x1234,
    plain: '800f1234decafbadcafebabe abababababababababababababababab',
    sealed: '800f1234decafbadcafebabe 4e55dc4ce79978d88ca4d215949d2402 b78d6acc99ea179b8dbb',
  })
})

test('an RTCP packet of libsrtp: the tag is of 80 bits with either suite', () => {
  for (const name of ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'] as const) {
    proves(packetCipher(name, MASTER, 'rtcp'), {
      clear: 8,
      ssrc: 0xcafebabe,
      index: 1,
      plain: '81c8000bcafebabe abababababababababababababababab',
      sealed: '81c8000bcafebabe 7128035be487b9bdbef89041f977a5a8 80000001 993e08cd54d6c1230798',
    })
  }
})

test('the tag of AES_CM_128_HMAC_SHA1_32 is the beginning of the longer one', () => {
  proves(packetCipher('AES_CM_128_HMAC_SHA1_32', MASTER, 'rtp'), {
    clear: 12,
    ssrc: 0xcafebabe,
    index: 0x1234,
    plain: '800f1234decafbadcafebabe abababababababababababababababab',
    sealed: '800f1234decafbadcafebabe 4e55dc4ce79978d88ca4d215949d2402 b78d6acc',
  })
})

test('RFC 7714 §16.1.1: a packet of AEAD_AES_128_GCM', () => {
  const keys = {
    encryption: bytesOf('000102030405060708090a0b0c0d0e0f'),
    salt: bytesOf('517569642070726f2071756f'),
    authentication: new Uint8Array(0),
  }
  proves(new GcmCipher(keys, 'rtp'), {
    clear: 12,
    ssrc: 0x5501a0b2,
    index: 0xf17b,
    plain: `8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120 696e2070
      61727465 73207472 6573`,
    sealed: `8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f 42a5f47a
      51c7d19b 36de3adf 8833899d 7f27beb1 6a9152cf 765ee439 0cce`,
  })
})

test('RFC 7714 §17.1: an RTCP packet of AEAD_AES_128_GCM', () => {
  const keys = {
    encryption: bytesOf('000102030405060708090a0b0c0d0e0f'),
    salt: bytesOf('517569642070726f2071756f'),
    authentication: new Uint8Array(0),
  }
  proves(new GcmCipher(keys, 'rtcp'), {
    clear: 8,
    ssrc: 0x4d617273,
    index: 0x5d4,
    plain: `81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61
      deadbeef deadbeef deadbeef deadbeef deadbeef`,
    sealed: `81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d c676a5f1 730d6fda
      4ce09b46 86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4`,
  })
})

test.run()
