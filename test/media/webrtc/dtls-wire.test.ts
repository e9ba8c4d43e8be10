import * as assert from 'uvu/assert'
import { makeCertificate, readPrivateKey } from '../../../media/webrtc/certificate.ts'
import { type DtlsMedia, DtlsWire } from '../../../media/webrtc/dtls-wire.ts'
import { BINDING_REQUEST, formatStun, USE_CANDIDATE, USERNAME } from '../../../media/webrtc/stun.ts'
import { suite } from '../../harness.ts'

const test = suite('media/webrtc/dtls-wire')
const kept = makeCertificate(0)
const IDENTITY = { certificate: kept.certificate, privateKey: readPrivateKey(kept) }
const LOCAL = { ufrag: 'ours', pwd: 'ours-0123456789012345678' }
const MEDIA: DtlsMedia = {
  role: 'passive',
  fingerprint: { hash: 'sha-256', value: '00' },
  tlsId: null,
  ice: { local: LOCAL, remote: { ufrag: 'theirs' } },
}
const CHECK = formatStun(
  BINDING_REQUEST,
  Buffer.from('abcdefghijkl'),
  [
    [USERNAME, Buffer.from('ours:theirs')],
    [USE_CANDIDATE, Buffer.alloc(0)],
  ],
  LOCAL.pwd,
)
/** RTP, and a record that looks like the beginning of a handshake. */
const RTP = Buffer.concat([Buffer.from([0x80, 0]), Buffer.alloc(170)])
const DTLS = Buffer.from([22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

function wire() {
  const sent: { first: number; host: string; port: number }[] = []
  const out = {
    sendRtp: (bytes: Uint8Array, _length: number, host: string, port: number) =>
      void sent.push({ first: bytes[0]!, host, port }),
    sendRtcp: () => {
      throw new Error('there is one port')
    },
  }
  const nobody = { isParty: () => false, aim: () => {} }
  return { wire: new DtlsWire(out, IDENTITY, nobody, MEDIA, true), sent }
}

test('before the far end has checked, nothing of anybody is looked at, and nothing is sent', () => {
  const { wire: one, sent } = wire()
  for (const bytes of [RTP, DTLS, Buffer.alloc(0)]) assert.not.ok(one.isPacket(bytes, '203.0.113.66', 666, 0))
  assert.is(one.hostAt(0), '')
  assert.equal(sent, [])
  assert.is(one.refused, 3)
})

test('a check is answered where it came from; without keys there is no audio, neither way', () => {
  const { wire: one, sent } = wire()
  assert.not.ok(one.isPacket(CHECK, '192.0.2.7', 4000, 0))
  assert.equal(sent, [{ first: 1, host: '192.0.2.7', port: 4000 }])
  assert.not.ok(one.isPacket(RTP, '192.0.2.7', 4000, 1))
  assert.is(one.hostAt(1), '')
})

test('a handshake that goes wrong is told to the far end once, and there never are keys', () => {
  const { wire: one, sent } = wire()
  one.isPacket(CHECK, '192.0.2.7', 4000, 0)
  // A ClientHello without anything that we need.
  const hello = Buffer.concat([
    Buffer.from([22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 54, 1, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0, 42, 254, 253]),
    Buffer.alloc(32),
    Buffer.from([0, 0, 0, 2, 0x00, 0x2f, 1, 0]),
  ])
  for (let times = 0; times < 3; times++) one.isPacket(hello, '192.0.2.7', 4000, 1)
  assert.equal(
    sent.map(({ first }) => first),
    [1, 21],
  )
  assert.ok(one.hasFailed)
  assert.is(one.srtp, null)
})

test.run()
