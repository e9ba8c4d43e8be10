import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import type { ReportBlock } from '../../../media/rtp/reception-stats.ts'
import {
  ntpMiddle,
  parseRtcp,
  RTCP_BUFFER_BYTES,
  RtcpCompound,
  roundTripMs,
  rtcpIntervalMs,
  writeBye,
  writeReport,
} from '../../../media/rtp/rtcp.ts'
import { suite } from '../../harness.ts'

const BLOCK: ReportBlock = {
  ssrc: 0xcafebabe,
  fractionLost: 64,
  cumulativeLost: -2,
  highestSequence: 0x0001fffe,
  jitter: 40,
  lastSr: 0xb7052000,
  delaySinceLastSr: 0x00054000,
}
const SENDER = { wallMs: 1_000_000_000_500, rtpTimestamp: 0xfffffff0, packets: 50, octets: 8_000 }
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

const test = suite('media/rtp/rtcp')

test('a sender report with one block and a source description is a compound packet (RFC 3550 §6.4.1, §6.5)', () => {
  const buffer = new Uint8Array(RTCP_BUFFER_BYTES)
  const length = writeReport(buffer, 0x01020304, SENDER, BLOCK, 'abc')
  const expected = [
    '81c8000c 01020304',
    // 1 000 000 000.5 s after 1970 are 3 208 988 800.5 s after 1900.
    'bf454880 80000000 fffffff0 00000032 00001f40',
    'cafebabe 40fffffe 0001fffe 00000028 b7052000 00054000',
    '81ca0003 01020304 01036162 63000000',
  ]
  assert.is(hexOf(buffer.subarray(0, length)), expected.join('').replaceAll(' ', ''))
})

test('who sends nothing writes a receiver report, with no block when it received nothing', () => {
  const buffer = new Uint8Array(RTCP_BUFFER_BYTES)
  const length = writeReport(buffer, 1, null, null, 'ab')
  assert.is(hexOf(buffer.subarray(0, length)), '80c9000100000001' + '81ca000300000001' + '0102616200000000')
})

test('the items end with a zero and fill up words for every length of the CNAME', () => {
  const buffer = new Uint8Array(RTCP_BUFFER_BYTES)
  const found = new RtcpCompound()
  for (let length = 0; length <= 300; length++) {
    buffer.fill(0xff)
    const bytes = writeReport(buffer, 1, null, null, 'x'.repeat(length))
    assert.is(bytes % 4, 0)
    assert.is(buffer[bytes - 1], 0)
    assert.ok(parseRtcp(buffer.subarray(0, bytes), found))
  }
})

test('a buffer that is too small is left alone', () => {
  const buffer = new Uint8Array(60)
  assert.is(writeReport(buffer, 1, SENDER, BLOCK, 'abc'), 0)
  assert.is(writeBye(buffer, 56, 1), 56)
  assert.ok(buffer.every(byte => byte === 0))
})

test('what is written is parsed back, goodbye included', () => {
  const buffer = new Uint8Array(RTCP_BUFFER_BYTES)
  const found = new RtcpCompound()
  const length = writeBye(buffer, writeReport(buffer, 0x01020304, SENDER, BLOCK, 'me@host'), 0x01020304)
  assert.ok(parseRtcp(buffer.subarray(0, length), found))
  assert.is(found.ssrc, 0x01020304)
  assert.ok(found.hasSenderInfo && found.byeCount === 1)
  assert.is(found.senderNtp, ntpMiddle(SENDER.wallMs))
  assert.is(found.senderNtp, 0x48808000)
  assert.equal([found.senderRtpTimestamp, found.senderPackets, found.senderOctets], [0xfffffff0, 50, 8_000])
  assert.is(found.blockCount, 1)
  assert.equal(found.blockAbout(0xcafebabe), BLOCK)
  assert.is(found.blockAbout(1), null)
})

test('packets of unknown type are passed over, and nothing of the last datagram stays', () => {
  const found = new RtcpCompound()
  assert.ok(parseRtcp(bytesOf('80c90001 00000005 80cf0001 00000005 81cb0001 00000005'), found))
  assert.is(found.byeCount, 1)
  assert.ok(parseRtcp(bytesOf('80cc0002 00000006 61626364'), found))
  assert.not(found.byeCount > 0 || found.hasSenderInfo)
  assert.is(found.ssrc, 6)
})

for (const [what, hex] of [
  ['nothing', ''],
  ['a header alone', '80c90000'],
  ['a wrong version', '40c90001 00000001'],
  ['a length beyond the end', '80c90002 00000001'],
  ['a block beyond its packet', '81c90001 00000001 80ca0006 00000001 00000000 00000000 00000000 00000000 00000000'],
  ['a sender report without its sender part', '80c80001 00000001'],
  ['a goodbye with more sources than words', '82cb0001 00000001'],
  ['bytes after the last packet', '80c90001 00000001 8000'],
] as const) {
  test(`refused: ${what}`, () => assert.not(parseRtcp(bytesOf(hex), new RtcpCompound())))
}

test('the round trip is arrival less LSR less DLSR (RFC 3550 §6.4.1 figure 2)', () => {
  // A = 0xb710:8000, LSR = 0xb705:2000, DLSR = 0x0005:4000: 6.125 s.
  const seconds = 0xb7108000 / 65_536
  const wallMs = (seconds - (2_208_988_800 % 65_536) + 65_536) * 1_000
  assert.is(ntpMiddle(wallMs), 0xb7108000)
  assert.is(roundTripMs(BLOCK, wallMs), 6_125)
})

test('there is no round trip without a report of ours, nor a negative one', () => {
  assert.is(roundTripMs({ ...BLOCK, lastSr: 0 }, 1e12), null)
  const sentMs = 1_600_000_000_000
  assert.is(roundTripMs({ ...BLOCK, lastSr: ntpMiddle(sentMs), delaySinceLastSr: 65_536 }, sentMs + 500), null)
  assert.is(roundTripMs({ ...BLOCK, lastSr: ntpMiddle(sentMs), delaySinceLastSr: 32_768 }, sentMs + 750), 250)
})

test('a report about none of ours (garbage, or minutes ago without a delay) is no round trip of minutes', () => {
  const sentMs = 1_600_000_000_000
  assert.is(roundTripMs({ ...BLOCK, lastSr: 0x12345678, delaySinceLastSr: 0 }, sentMs), null)
  assert.is(roundTripMs({ ...BLOCK, lastSr: ntpMiddle(sentMs), delaySinceLastSr: 0 }, sentMs + 1_200_000), null)
})

test('the first report comes after 2.5 s, the others 5 s apart, spread from half to one and a half of it (RFC 3550 §6.3.1)', () => {
  const from = (isFirst: boolean) => [0, 0.5, 1].map(random => rtcpIntervalMs(random, isFirst))
  assert.equal(
    [from(true), from(false)],
    [
      [1_250, 2_500, 3_750],
      [2_500, 5_000, 7_500],
    ],
  )
})

test('no bytes make the parser throw or report more than it has room for', () => {
  const random = seeded(11)
  const found = new RtcpCompound()
  const buffer = new Uint8Array(RTCP_BUFFER_BYTES)
  const length = writeBye(buffer, writeReport(buffer, 1, SENDER, BLOCK, 'host'), 1)
  let accepted = 0
  for (let i = 0; i < 10_000; i++) {
    const bytes =
      i % 2 === 0
        ? Uint8Array.from({ length: Math.floor(random() * 200) }, () => random() * 256)
        : buffer.slice(0, length - (random() < 0.3 ? Math.floor(random() * length) : 0))
    if (i % 2 === 1 && bytes.length > 0) bytes[Math.floor(random() * bytes.length)] = random() * 256
    if (parseRtcp(bytes, found)) accepted++
    assert.ok(found.blockCount <= 31)
    for (let at = 0; at < found.blockCount; at++) roundTripMs(found.blocks[at]!, random() * 2e12)
  }
  assert.ok(accepted > 1_000)
})

test.run()
