import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { isRtcp, parseRtp, RtpPacket, RtpSender, Unwrapper, writeRtpHeader } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
const parsed = (hex: string): RtpPacket | null => {
  const packet = new RtpPacket()
  return parseRtp(bytesOf(hex), packet) ? packet : null
}

const test = suite('media/rtp/rtp')

test('the fixed header is version, marker, payload type, sequence, timestamp and SSRC (RFC 3550 §5.1)', () => {
  const packet = parsed('80 e5 fffe ffffff00 deadbeef 010203')!
  assert.equal(
    { ...packet },
    {
      marker: true,
      payloadType: 101,
      sequence: 0xfffe,
      timestamp: 0xffffff00,
      ssrc: 0xdeadbeef,
      payloadOffset: 12,
      payloadLength: 3,
    },
  )
})

for (const [what, hex, offset, length] of [
  ['CSRCs are passed over', '82 00 0001 00000001 00000002 11111111 22222222 aabb', 20, 2],
  ['a header extension is passed over', '90 00 0001 00000001 00000002 bede0001 12345678 aabbcc', 20, 3],
  ['padding is taken off', 'a0 00 0001 00000001 00000002 aabb 000003', 12, 2],
  ['a packet may be nothing but padding', 'a0 00 0001 00000001 00000002 00000004', 12, 0],
  ['a packet may have no payload', '80 00 0001 00000001 00000002', 12, 0],
  ['CSRC, extension and padding together', 'b1 00 0001 00000001 00000002 11111111 bede0000 aa 0002', 20, 1],
] as const) {
  test(what, () => {
    const packet = parsed(hex)!
    assert.is(packet.payloadOffset, offset)
    assert.is(packet.payloadLength, length)
  })
}

for (const [what, hex] of [
  ['nothing', ''],
  ['eleven bytes', '80 00 0001 00000001 000000'],
  ['version 1', '40 00 0001 00000001 00000002 aabb'],
  ['CSRCs beyond the end', '8f 00 0001 00000001 00000002 11111111'],
  ['an extension header beyond the end', '90 00 0001 00000001 00000002 bede'],
  ['an extension beyond the end', '90 00 0001 00000001 00000002 bede0002 12345678'],
  ['padding of zero', 'a0 00 0001 00000001 00000002 aa00'],
  ['padding longer than the payload', 'a0 00 0001 00000001 00000002 aa03'],
] as const) {
  test(`refused: ${what}`, () => assert.is(parsed(hex), null))
}

test('a written header is parsed back', () => {
  const buffer = new Uint8Array(14)
  const header = { marker: true, payloadType: 8, sequence: 65_535, timestamp: 0xfffffff0, ssrc: 0x80000001 }
  assert.is(writeRtpHeader(buffer, header), 12)
  const packet = new RtpPacket()
  assert.ok(parseRtp(buffer, packet))
  assert.equal({ ...packet }, { ...header, payloadOffset: 12, payloadLength: 2 })
})

test('a second byte of 192 to 223 is RTCP, so payload types 64 to 95 cannot be RTP (RFC 5761 §4)', () => {
  for (let second = 0; second < 256; second++) {
    assert.is(isRtcp(Uint8Array.of(0x80, second, 0, 1, 0, 0, 0, 0)), second >= 192 && second <= 223)
  }
  assert.not(isRtcp(Uint8Array.of(0x80, 200, 0, 1)))
  assert.not(isRtcp(Uint8Array.of(0x00, 200, 0, 1, 0, 0, 0, 0)))
})

test('a sequence number grows over 65535 and comes back for a reordered packet', () => {
  const unwrapper = new Unwrapper(16)
  assert.equal(
    [65_533, 65_535, 1, 65_534, 0, 32_767, 65_534, 5].map(value => unwrapper.unwrap(value)),
    [65_533, 65_535, 65_537, 65_534, 65_536, 98_303, 131_070, 131_077],
  )
})

test('a timestamp grows over 2^32, and a peek is not remembered', () => {
  const unwrapper = new Unwrapper(32)
  assert.is(unwrapper.unwrap(2 ** 32 - 160), 2 ** 32 - 160)
  assert.is(unwrapper.peek(2 ** 31), 2 ** 31)
  assert.is(unwrapper.unwrap(0), 2 ** 32)
  assert.is(unwrapper.unwrap(160), 2 ** 32 + 160)
  assert.is(unwrapper.unwrap(2 ** 32 - 160), 2 ** 32 - 160)
})

test('the sender counts up over both wraps, marks the first packet after silence and keeps the last packet intact', () => {
  const sender = new RtpSender({ ssrc: 7, sequence: 65_534, timestamp: 2 ** 32 - 160, maxPayload: 160 })
  const packet = new RtpPacket()
  const seen: unknown[] = []
  let last: Uint8Array | null = null
  for (let i = 0; i < 5; i++) {
    if (i === 3) sender.pause()
    sender.packet.fill(i, 12)
    const sent = sender.write(0, 160)
    if (last !== null) assert.is(last[12], i - 1)
    last = sent
    parseRtp(sent, packet)
    seen.push([packet.marker, packet.sequence, packet.timestamp, packet.payloadLength])
    sender.advance(160)
  }
  assert.equal(seen, [
    [true, 65_534, 2 ** 32 - 160, 160],
    [false, 65_535, 0, 160],
    [false, 0, 160, 160],
    [true, 1, 320, 160],
    [false, 2, 480, 160],
  ])
  assert.is(sender.packetsSent, 5)
  assert.is(sender.octetsSent, 800)
  parseRtp(sender.write(101, 4, 0xfffffff0, true).subarray(0, 16), packet)
  assert.equal([packet.marker, packet.payloadType, packet.timestamp, packet.payloadLength], [true, 101, 0xfffffff0, 4])
})

test('no bytes make the parser throw or point outside of them', () => {
  const random = seeded(20)
  const packet = new RtpPacket()
  let accepted = 0
  for (let i = 0; i < 10_000; i++) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 80) }, () => random() * 256)
    if (i % 2 === 0 && bytes.length > 0) bytes[0] = 0x80 | (bytes[0]! & 0x3f)
    isRtcp(bytes)
    if (!parseRtp(bytes, packet)) continue
    accepted++
    assert.ok(packet.payloadOffset >= 12 && packet.payloadLength >= 0)
    assert.ok(packet.payloadOffset + packet.payloadLength <= bytes.length)
    assert.ok(packet.timestamp >= 0 && packet.ssrc >= 0)
  }
  assert.ok(accepted > 500)
})

test.run()
