import * as assert from 'uvu/assert'
import {
  answerOffer,
  applyAnswer,
  type Capabilities,
  createOffer,
  L16_16000,
  OPUS,
  PCMA,
  PCMU,
} from '../../../sip/sdp/offer-answer.ts'
import type { Direction } from '../../../sip/sdp/sdp.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/sdp/offer-answer')
const OURS: Capabilities = { codecs: [PCMU, PCMA], telephoneEvent: true, host: '192.0.2.2', port: 6000 }
const SESSION = { id: '77', previous: null }
const sdp = (...lines: string[]): Uint8Array => Buffer.from(`${lines.join('\r\n')}\r\n`)
const offer = (...lines: string[]): Uint8Array =>
  sdp('v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', ...lines)
const AUDIO = ['m=audio 4000 RTP/AVP 8 0 101', 'a=rtpmap:101 telephone-event/8000']

function answered(bytes: Uint8Array, wanted: Direction = 'sendrecv', ours = OURS) {
  const result = answerOffer(bytes, ours, wanted, SESSION)
  if ('error' in result) throw new Error(result.error)
  return { ...result, text: Buffer.from(result.answer).toString() }
}

test('the order of the offerer decides the codec, restricted to ours', () => {
  const { media, text } = answered(offer('m=audio 4000 RTP/AVP 18 8 0 101', 'a=rtpmap:101 telephone-event/8000'))
  assert.is(media.codec.name, 'PCMA')
  assert.equal([media.payloadType, media.receivePayloadTypes], [8, [8]])
  assert.match(text, 'm=audio 6000 RTP/AVP 8 101\r\n')
  assert.equal([media.remoteHost, media.remotePort, media.remoteRtcpPort, media.ptimeMs], ['192.0.2.1', 4000, 4001, 20])
})

test('telephone-event is agreed at the clock rate of the codec, where there are several', () => {
  const wide = answered(
    offer('m=audio 4000 RTP/AVP 0 101 102', 'a=rtpmap:101 telephone-event/48000', 'a=rtpmap:102 telephone-event/8000'),
  )
  assert.is(wide.media.telephoneEventPayloadType, 102)
  const none = answered(offer('m=audio 4000 RTP/AVP 0 101', 'a=rtpmap:101 telephone-event/48000'))
  assert.is(none.media.telephoneEventPayloadType, null)
  assert.not.match(none.text, 'telephone-event')
  const unwanted = answered(offer(...AUDIO), 'sendrecv', { ...OURS, telephoneEvent: false })
  assert.is(unwanted.media.telephoneEventPayloadType, null)
})

test('keys of a far end that names events of 8 kHz only, as Firefox does with Opus, are read, and sent to it as tones', () => {
  const ours = { ...OURS, codecs: [OPUS, PCMU] }
  const lines = ['m=audio 4000 RTP/AVP 109 0 101', 'a=rtpmap:109 opus/48000/2', 'a=rtpmap:101 telephone-event/8000']
  const { media, text } = answered(offer(...lines), 'sendrecv', ours)
  assert.match(text, 'a=rtpmap:101 telephone-event/8000')
  assert.equal([media.receiveTelephoneEventPayloadType, media.telephoneEventPayloadType], [101, null])
  const own = createOffer(ours, 'sendrecv', SESSION)
  const [, payloadType] = /a=rtpmap:(\d+) telephone-event\/8000/.exec(String(Buffer.from(own)))!
  const answer = offer(...lines.map(line => line.replaceAll('101', payloadType!)))
  const called = applyAnswer(own, answer, ours)
  if ('error' in called) throw new Error(called.error)
  assert.equal([called.receiveTelephoneEventPayloadType, called.telephoneEventPayloadType], [Number(payloadType), null])
})

const DIRECTIONS: [offered: Direction, wanted: Direction, answer: Direction, held: boolean][] = [
  ['sendrecv', 'sendrecv', 'sendrecv', false],
  ['sendrecv', 'sendonly', 'sendonly', false],
  ['sendrecv', 'inactive', 'inactive', false],
  ['sendonly', 'sendrecv', 'recvonly', true],
  ['sendonly', 'sendonly', 'inactive', true],
  ['recvonly', 'sendrecv', 'sendonly', false],
  ['recvonly', 'recvonly', 'inactive', false],
  ['inactive', 'sendrecv', 'inactive', true],
]

test('the answered direction is what RFC 3264 §6.1 allows', () => {
  for (const [offered, wanted, expected, held] of DIRECTIONS) {
    const { media, text } = answered(offer(...AUDIO, `a=${offered}`), wanted)
    assert.equal([media.direction, media.held], [expected, held], `${offered} with ${wanted}`)
    assert.match(text, `a=${expected}\r\n`)
  }
})

test('c=0.0.0.0 is hold as RFC 2543 did it', () => {
  const { media } = answered(offer('m=audio 4000 RTP/AVP 0', 'c=IN IP4 0.0.0.0'))
  assert.equal([media.direction, media.held], ['recvonly', true])
})

test('reports never go to a group of hosts', () => {
  const { media } = answered(offer('m=audio 4000 RTP/AVP 0', 'c=IN IP4 192.0.2.9', 'a=rtcp:4001 IN IP4 224.2.1.1'))
  assert.equal([media.remoteRtcpHost, media.remoteRtcpPort], ['192.0.2.9', 4001])
})

test('every line of the offer is answered in order, what we do not take with port 0', () => {
  const { text } = answered(
    offer('m=video 5000 RTP/AVP 31', 'm=audio 5002 RTP/SAVP 0', ...AUDIO, 'm=application 9 UDP/BFCP *'),
  )
  const lines = text.split('\r\n').filter(line => line.startsWith('m='))
  assert.equal(lines, [
    'm=video 0 RTP/AVP 31',
    'm=audio 0 RTP/SAVP 0',
    'm=audio 6000 RTP/AVP 8 101',
    'm=application 0 UDP/BFCP *',
  ])
})

test('the time of the answer is that of the offer, and of our own offers any (RFC 3264 §5, §6)', () => {
  const timed = (timing: string): Uint8Array =>
    Buffer.from(
      Buffer.from(offer(...AUDIO))
        .toString()
        .replace('t=0 0', `t=${timing}`),
    )
  assert.match(answered(timed('2873397496 2873404696')).text, /^t=2873397496 2873404696\r$/m)
  assert.match(answered(timed('whenever')).text, /^t=0 0\r$/m)
})

test('an offer that cannot be answered says why', () => {
  const error = (bytes: Uint8Array) => (answerOffer(bytes, OURS, 'sendrecv', SESSION) as { error?: string }).error
  assert.is(error(offer('m=video 5000 RTP/AVP 31')), 'no_audio')
  assert.is(error(offer('m=audio 0 RTP/AVP 0')), 'no_audio')
  assert.is(error(offer('m=audio 4000 RTP/AVP 18')), 'no_common_codec')
  const groups = ['IP4 224.2.1.1/127', 'IP4 239.255.1.1', 'IP4 255.255.255.255', 'IP4 240.0.0.1', 'IP6 ff0e::1']
  for (const host of [...groups, 'IP4 0.1.2.3', 'IP6 ::ffff:0.0.0.1']) {
    assert.is(error(offer('m=audio 4000 RTP/AVP 0', `c=IN ${host}`)), 'multicast', host)
  }
  assert.is(error(Buffer.from('x')), 'malformed')
  assert.is(error(sdp('v=0', 'o=- 1 1 IN IP4 h', 's=-', 't=0 0', 'm=audio 4000 RTP/AVP 0')), 'malformed')
})

test('a codec is known by name, clock rate and channels, in any case', () => {
  const opus = { name: 'opus', clockRateHz: 48_000, channels: 2, payloadType: 111, fmtp: 'useinbandfec=1' }
  const ours = { ...OURS, codecs: [opus, PCMU] }
  const { media, text } = answered(offer('m=audio 4000 RTP/AVP 98 0', 'a=rtpmap:98 OPUS/48000/2'), 'sendrecv', ours)
  assert.equal([media.codec.name, media.payloadType], ['opus', 98])
  assert.match(text, 'a=rtpmap:98 opus/48000/2\r\na=fmtp:98 useinbandfec=1\r\n')
  assert.is(
    answered(offer('m=audio 4000 RTP/AVP 98 0', 'a=rtpmap:98 opus/48000'), 'sendrecv', ours).media.codec.name,
    'PCMU',
  )
})

test('rtcp-mux needs both sides', () => {
  const bytes = offer(...AUDIO, 'a=rtcp-mux', 'a=rtcp:4444')
  assert.equal([answered(bytes).media.rtcpMux, answered(bytes).media.remoteRtcpPort], [false, 4444])
  const mux = answered(bytes, 'sendrecv', { ...OURS, rtcpMux: true })
  assert.equal([mux.media.rtcpMux, mux.media.remoteRtcpPort], [true, 4000])
  assert.match(mux.text, 'a=rtcp-mux')
})

test('rtcp-mux that we have offered is agreed if the answer has it too, and where we have not it is ignored (RFC 5761 §5.1.1)', () => {
  for (const [ours, theirs, isAgreed] of [
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ] as const) {
    const own = { ...OURS, rtcpMux: ours }
    const answer = offer('m=audio 4000 RTP/AVP 0', ...(theirs ? ['a=rtcp-mux'] : []))
    const media = applyAnswer(createOffer(own, 'sendrecv', SESSION), answer, own)
    if ('error' in media) throw new Error(media.error)
    assert.equal([media.rtcpMux, media.remoteRtcpPort], [isAgreed, isAgreed ? 4000 : 4001])
  }
})

test('reports go where `a=rtcp` says, and with a port alone to that of the same host (RFC 3605)', () => {
  for (const [said, host, port] of [
    ['a=rtcp:4321 IN IP4 192.0.2.9', '192.0.2.9', 4321],
    ['a=rtcp:4321', '192.0.2.1', 4321],
  ] as const) {
    const { media } = answered(offer('m=audio 4000 RTP/AVP 0', said))
    assert.equal([media.remoteRtcpHost, media.remoteRtcpPort, media.remoteHost], [host, port, '192.0.2.1'])
  }
})

test('our offer and its answer give both sides the same agreement', () => {
  const theirs: Capabilities = { codecs: [PCMA], telephoneEvent: true, host: '2001:db8::5', port: 7000 }
  const ours = createOffer(OURS, 'sendrecv', SESSION)
  const answer = answerOffer(ours, theirs, 'sendrecv', { id: '5', previous: null })
  if ('error' in answer) throw new Error(answer.error)
  const media = applyAnswer(ours, answer.answer, OURS)
  if ('error' in media) throw new Error(media.error)
  assert.equal([media.codec.name, media.payloadType, media.receivePayloadTypes], ['PCMA', 8, [8]])
  assert.equal([media.remoteHost, media.remotePort], ['2001:db8::5', 7000])
  assert.equal([media.telephoneEventPayloadType, media.receiveTelephoneEventPayloadType], [101, 101])
  assert.equal([answer.media.codec.name, answer.media.remotePort], ['PCMA', 6000])
})

test('an answer with payload types of its own is sent with theirs and received with ours', () => {
  const ours = createOffer(OURS, 'sendrecv', SESSION)
  const answer = offer('m=audio 4000 RTP/AVP 97 100', 'a=rtpmap:97 PCMA/8000', 'a=rtpmap:100 telephone-event/8000')
  const media = applyAnswer(ours, answer, OURS)
  if ('error' in media) throw new Error(media.error)
  assert.equal([media.payloadType, media.receivePayloadTypes], [97, [8]])
  assert.equal([media.telephoneEventPayloadType, media.receiveTelephoneEventPayloadType], [100, 101])
})

test('an answer without our codec or with a refused line is an error', () => {
  const ours = createOffer(OURS, 'sendrecv', SESSION)
  assert.equal(applyAnswer(ours, offer('m=audio 0 RTP/AVP 0'), OURS), { error: 'no_audio' })
  assert.equal(applyAnswer(ours, offer('m=audio 4000 RTP/AVP 18'), OURS), { error: 'no_common_codec' })
  assert.equal(applyAnswer(ours, Buffer.from(''), OURS), { error: 'malformed' })
})

test('the version grows by one when our description changes, and only then', () => {
  const version = (bytes: Uint8Array) => /o=\S+ 77 (\d+) /.exec(Buffer.from(bytes).toString())![1]
  const first = createOffer(OURS, 'sendrecv', SESSION)
  const same = createOffer(OURS, 'sendrecv', { id: '77', previous: first })
  const hold = createOffer(OURS, 'sendonly', { id: '77', previous: same })
  const moved = createOffer({ ...OURS, port: 6002 }, 'sendonly', { id: '77', previous: hold })
  assert.equal([first, same, hold, moved].map(version), ['1', '1', '2', '3'])
})

test('our re-offer keeps the lines that were refused before', () => {
  const { answer } = answered(offer('m=video 5000 RTP/AVP 31', ...AUDIO))
  const text = Buffer.from(createOffer(OURS, 'sendonly', { id: '77', previous: answer })).toString()
  const lines = text.split('\r\n').filter(line => line.startsWith('m='))
  assert.equal(lines, ['m=video 0 RTP/AVP 31', 'm=audio 6000 RTP/AVP 0 8 101'])
})

test('RFC 3264 §8.3.2: our re-offer keeps the meaning of every payload type that was agreed, whoever has chosen it', () => {
  const ours = { ...OURS, codecs: [OPUS, PCMU] }
  for (const [opus, narrow, wide] of [
    [109, 101, null],
    [96, 111, 101],
    [101, 96, 97],
  ] as const) {
    const formats = [opus, 0, narrow, ...(wide === null ? [] : [wide])]
    const events = [`a=rtpmap:${narrow} telephone-event/8000`, `a=rtpmap:${wide ?? 126} telephone-event/48000`]
    const lines = [`m=audio 4000 RTP/AVP ${formats.join(' ')}`, `a=rtpmap:${opus} opus/48000/2`, ...events]
    const { answer, text } = answered(offer(...lines), 'sendrecv', ours)
    const hold = createOffer(ours, 'sendonly', { id: '77', previous: answer })
    const again = Buffer.from(createOffer(ours, 'sendrecv', { id: '77', previous: hold })).toString()
    const mapped = (description: string) => description.match(/a=rtpmap:\d+ \S+/g)!
    for (const later of [String(Buffer.from(hold)), again]) {
      assert.equal(
        mapped(text).filter(mapping => !mapped(later).includes(mapping)),
        [],
        later,
      )
      const [, numbers] = /m=audio 6000 RTP\/AVP (.*)\r/.exec(later)!
      assert.is(new Set(numbers!.split(' ')).size, 4, later)
    }
  }
})

test('RFC 8866 §6.4: our descriptions say how much audio we take in one packet', () => {
  for (const [codecs, limit] of [
    [[PCMU, PCMA], 200],
    [[PCMU, OPUS], 120],
    [[L16_16000, PCMU], 50],
  ] as const) {
    const offered = createOffer({ ...OURS, codecs }, 'sendrecv', SESSION)
    assert.match(Buffer.from(offered).toString(), `\r\na=maxptime:${limit}\r\n`)
  }
  assert.match(answered(offer(...AUDIO)).text, '\r\na=maxptime:200\r\n')
})

test('RFC 3264 §8.3.2: a payload type that the far end has offered, and we did not take, means nothing else later', () => {
  const ours = { ...OURS, codecs: [OPUS, L16_16000, PCMU] }
  const lines = ['m=audio 4000 RTP/AVP 0 111 101 112', 'a=rtpmap:111 AMR-WB/16000', 'a=rtpmap:101 speex/8000']
  const { answer, media } = answered(offer(...lines, 'a=rtpmap:112 opus/48000/2'), 'sendrecv', ours)
  const session = { id: '77', previous: answer, theirs: media.theirs }
  const later = Buffer.from(createOffer(ours, 'sendonly', session)).toString()
  assert.equal(later.match(/a=rtpmap:\d+ \S+/g), [
    ...['a=rtpmap:112 opus/48000/2', 'a=rtpmap:113 L16/16000', 'a=rtpmap:0 PCMU/8000'],
    ...[
      'a=rtpmap:102 telephone-event/48000',
      'a=rtpmap:103 telephone-event/16000',
      'a=rtpmap:104 telephone-event/8000',
    ],
  ])
})

test('who has given every dynamic payload type a meaning gets one that is assigned to nothing', () => {
  const ours = { ...OURS, codecs: [PCMU] }
  const numbers = Array.from({ length: 32 }, (_, i) => 96 + i)
  const lines = [`m=audio 4000 RTP/AVP 0 ${numbers.join(' ')}`, ...numbers.map(one => `a=rtpmap:${one} X${one}/8000`)]
  const { answer, media } = answered(offer(...lines), 'sendrecv', ours)
  const session = { id: '77', previous: answer, theirs: media.theirs }
  assert.match(Buffer.from(createOffer(ours, 'sendonly', session)).toString(), 'a=rtpmap:35 telephone-event/8000')
})

test.run()
