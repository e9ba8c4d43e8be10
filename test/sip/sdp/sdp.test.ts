import * as assert from 'uvu/assert'
import { formatSdp, parseSdp, type SessionDescription } from '../../../sip/sdp/sdp.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/sdp/sdp')

const sdp = (...lines: string[]): Uint8Array => Buffer.from(`${lines.join('\r\n')}\r\n`)
const parsed = (...lines: string[]): SessionDescription => {
  const description = parseSdp(sdp(...lines))
  if ('error' in description) throw new Error('refused')
  return description
}
const HEAD = ['v=0', 'o=- 1 2 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0']

test('a session-level c= and direction hold for media that have none of their own', () => {
  const { media } = parsed(
    ...HEAD,
    'a=sendonly',
    'm=audio 4000 RTP/AVP 0',
    'm=audio 4002 RTP/AVP 8',
    'c=IN IP6 2001:db8::1',
    'a=inactive',
  )
  assert.equal(
    media.map(({ host, direction }) => [host, direction]),
    [
      ['192.0.2.1', 'sendonly'],
      ['2001:db8::1', 'inactive'],
    ],
  )
})

test('static payload types need no rtpmap, dynamic ones without it are unknown', () => {
  const { media } = parsed(
    ...HEAD,
    'm=audio 4000 RTP/AVP 0 8 9 96 97 101',
    'a=rtpmap:97 opus/48000/2',
    'a=fmtp:97 useinbandfec=1',
    'a=rtpmap:101 telephone-event/8000',
    'a=fmtp:101 0-16',
  )
  assert.equal(
    media[0]!.payloads.map(({ payloadType, name, clockRateHz, channels, fmtp }) => [
      payloadType,
      name,
      clockRateHz,
      channels,
      fmtp,
    ]),
    [
      [0, 'PCMU', 8000, 1, null],
      [8, 'PCMA', 8000, 1, null],
      [9, 'G722', 8000, 1, null],
      [97, 'opus', 48_000, 2, 'useinbandfec=1'],
      [101, 'telephone-event', 8000, 1, '0-16'],
    ],
  )
})

test('ptime, maxptime, rtcp and rtcp-mux are read', () => {
  const { media } = parsed(
    ...HEAD,
    'm=audio 4000/2 RTP/AVP 0',
    'a=ptime:30',
    'a=maxptime:60',
    'a=rtcp:5001 IN IP4 192.0.2.9',
    'a=rtcp-mux',
    'a=unknown:x',
  )
  const { port, ptimeMs, maxptimeMs, rtcpPort, rtcpHost, rtcpMux } = media[0]!
  assert.equal([port, ptimeMs, maxptimeMs, rtcpPort, rtcpHost, rtcpMux], [4000, 30, 60, 5001, '192.0.2.9', true])
})

test('bare line feeds and unknown lines are accepted', () => {
  const description = parseSdp(
    Buffer.from(`${[...HEAD, 'b=AS:64', 'k=clear:x', 'm=audio 4000 RTP/AVP 0'].join('\n')}\n`),
  )
  assert.not('error' in description)
})

test('what is no description is refused as a value', () => {
  const bad = [
    [],
    ['hello'],
    ['v=1', ...HEAD.slice(1)],
    HEAD.slice(0, 1),
    [...HEAD, 'm=audio'],
    [...HEAD, 'm=audio 70000 RTP/AVP 0'],
    [...HEAD, 'm=audio 4000 RTP/AVP'],
    [...HEAD, 'm=audio x RTP/AVP 0'],
    [...HEAD, 'c=IN IP4'],
    [...HEAD, 'c=ATM NSAP x'],
    ['v=0', 'o=- x 2 IN IP4 h', 's=-', 't=0 0'],
    [...HEAD, ...Array.from({ length: 33 }, () => 'm=audio 4000 RTP/AVP 0')],
  ]
  for (const lines of bad) assert.equal(parseSdp(sdp(...lines)), { error: 'malformed' }, lines.join('|'))
  assert.equal(parseSdp(Buffer.alloc(70_000, 'a')), { error: 'malformed' })
})

test('a description survives writing and reading', () => {
  const lines = [
    ...HEAD,
    'm=audio 4000 RTP/AVP 0 101',
    'a=rtpmap:101 telephone-event/8000',
    'a=fmtp:101 0-15',
    'a=ptime:20',
    'a=rtcp-mux',
    'a=recvonly',
    'm=video 0 RTP/AVP 31',
  ]
  const description = parsed(...lines)
  const again = parseSdp(formatSdp(description))
  assert.not('error' in again)
  if ('error' in again) return
  assert.equal({ ...again.media[0]! }, { ...description.media[0]! })
  assert.is(again.media[1]!.port, 0)
})

test.run()
