import * as assert from 'uvu/assert'
import {
  answerOffer,
  applyAnswer,
  type Capabilities,
  createOffer,
  G722,
  L16_8000,
  L16_16000,
  OPUS,
  PCMA,
  PCMU,
} from '../../../sip/sdp/offer-answer.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/sdp/codecs')

const SESSION = { id: '77', previous: null }
const ALL = [G722, OPUS, L16_16000, L16_8000, PCMU, PCMA]
const ours = (codecs = ALL): Capabilities => ({ codecs, telephoneEvent: true, host: '192.0.2.2', port: 6000 })

const offer = (...lines: string[]): Uint8Array =>
  Buffer.from(`${['v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', ...lines].join('\r\n')}\r\n`)

function answered(bytes: Uint8Array, capabilities = ours()) {
  const result = answerOffer(bytes, capabilities, 'sendrecv', SESSION)
  if ('error' in result) throw new Error(result.error)
  return { ...result, text: Buffer.from(result.answer).toString() }
}

test('all are offered in our order, each with what it is, and keys at each of their clocks (RFC 4733 §2.1)', () => {
  const text = Buffer.from(createOffer(ours(), 'sendrecv', SESSION)).toString()
  assert.match(text, 'm=audio 6000 RTP/AVP 9 111 112 113 0 8 101 102 103\r\n')
  for (const map of [
    '9 G722/8000',
    '111 opus/48000/2',
    '112 L16/16000',
    '113 L16/8000',
    '101 telephone-event/8000',
    '102 telephone-event/48000',
    '103 telephone-event/16000',
  ]) {
    assert.match(text, `a=rtpmap:${map}\r\n`)
  }
})

test('G.722 is known by its static payload type, as its clock of 8 kHz is, and keys go with that', () => {
  const { media, text } = answered(offer('m=audio 4000 RTP/AVP 9 101', 'a=rtpmap:101 telephone-event/8000'))
  assert.equal([media.codec, media.payloadType, media.telephoneEventPayloadType], [G722, 9, 101])
  assert.match(text, 'm=audio 6000 RTP/AVP 9 101\r\n')
})

test('linear audio is known by its rate and its one channel, and answered with the payload type of the offer', () => {
  const lines = ['a=rtpmap:96 L16/16000/2', 'a=rtpmap:97 L16/16000', 'a=rtpmap:98 L16/8000/1']
  const wide = answered(offer('m=audio 4000 RTP/AVP 96 97 101', ...lines, 'a=rtpmap:101 telephone-event/16000'))
  assert.equal([wide.media.codec, wide.media.payloadType], [L16_16000, 97], 'two channels are not ours')
  assert.is(wide.media.telephoneEventPayloadType, 101)
  assert.is(answered(offer('m=audio 4000 RTP/AVP 98', ...lines)).media.codec, L16_8000)
})

test('what a connection does not have is neither offered nor taken', () => {
  const capabilities = ours([PCMU, PCMA])
  assert.match(Buffer.from(createOffer(capabilities, 'sendrecv', SESSION)).toString(), 'RTP/AVP 0 8 101\r\n')
  assert.is(answered(offer('m=audio 4000 RTP/AVP 9 8'), capabilities).media.codec, PCMA)
})

test('the far end may go over between the laws by itself, to and from no other codec', () => {
  const own = createOffer(ours(), 'sendrecv', SESSION)
  const agreed = (payloads: string) => {
    const media = applyAnswer(own, offer(`m=audio 4000 RTP/AVP ${payloads}`), ours())
    if ('error' in media) throw new Error(media.error)
    return [media.codec.name, media.otherPayloadTypes]
  }
  assert.equal(agreed('0 8 9'), ['PCMU', [8]])
  assert.equal(agreed('9 0 8'), ['G722', []])
})

test('comfort noise (RFC 3389) is answered where it is offered at the clock of the audio, and never offered', () => {
  const { media, text } = answered(offer('m=audio 4000 RTP/AVP 0 13'))
  assert.is(media.comfortNoisePayloadType, 13)
  assert.match(text, 'm=audio 6000 RTP/AVP 0 13\r\n')
  const wide = answered(offer('m=audio 4000 RTP/AVP 97 13 98', 'a=rtpmap:97 L16/16000', 'a=rtpmap:98 CN/16000'))
  assert.is(wide.media.comfortNoisePayloadType, 98)
  assert.match(wide.text, 'a=rtpmap:98 CN/16000\r\n')
  assert.is(answered(offer('m=audio 4000 RTP/AVP 0')).media.comfortNoisePayloadType, null)
  assert.is(
    answered(offer('m=audio 4000 RTP/AVP 111 13', 'a=rtpmap:111 opus/48000/2')).media.comfortNoisePayloadType,
    null,
  )
  assert.not.match(Buffer.from(createOffer(ours(), 'sendrecv', SESSION)).toString(), 'CN/')
})

test.run()
