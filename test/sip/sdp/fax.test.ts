import * as assert from 'uvu/assert'
import { answerFax, createFaxOffer, faxOf } from '../../../sip/sdp/fax.ts'
import { answerOffer, createOffer, PCMU } from '../../../sip/sdp/offer-answer.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/sdp/fax')

const description = (...media: string[]): Buffer =>
  Buffer.from(
    ['v=0', 'o=gw 1 1 IN IP4 192.0.2.7', 's=-', 'c=IN IP4 192.0.2.7', 't=0 0', ...media, ''].join('\r\n'),
    'latin1',
  )
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const OWN = { host: '198.51.100.1', port: 40_000, attributes: ['T38FaxVersion:3', 'T38FaxFillBitRemoval'] }
const capabilities = { codecs: [PCMU], telephoneEvent: false, host: OWN.host, port: OWN.port }

test('a fax is an image by T.38 over UDPTL in the place of audio; beside audio it is left, and so is T.38 over TCP', () => {
  const fax = ['m=image 4000 udptl t38', 'a=T38FaxVersion:0']
  assert.equal(faxOf(description('m=audio 0 RTP/AVP 0', ...fax)), {
    host: '192.0.2.7',
    port: 4000,
    attributes: ['T38FaxVersion:0'],
  })
  assert.equal(faxOf(description('m=image 4000 UDPTL T38'))?.port, 4000, 'in capitals, as some write it')
  assert.is(faxOf(description('m=audio 4002 RTP/AVP 0', ...fax)), null)
  assert.is(faxOf(description('m=image 4000 TCP t38')), null)
  assert.is(faxOf(description('m=image 0 udptl t38')), null)
  assert.is(faxOf(Buffer.from('no description')), null)
})

test('what is passed on is what T.38 writes, and so much of it', () => {
  const odd = ['a=T38FaxVersion:0', 'a=T38Evil:x y', 'a=T38Evil:\u0000', 'a=sendonly', 'a=fmtp:1 x']
  const many = Array.from({ length: 100 }, (_, n) => `a=T38Many:${n}`)
  assert.equal(faxOf(description('m=image 4000 udptl t38', ...odd))?.attributes, ['T38FaxVersion:0'])
  assert.is(faxOf(description('m=image 4000 udptl t38', ...many))?.attributes.length, 24)
})

test('an offer of fax refuses the audio that was and keeps its line; back to audio it is the other way round (RFC 3264 §8)', () => {
  const session = { id: '7', previous: null as Uint8Array | null }
  session.previous = createOffer(capabilities, 'sendrecv', session)
  const fax = createFaxOffer(OWN, session)
  assert.match(text(fax), /o=tandem 7 2 .*\r\n/)
  assert.match(
    text(fax),
    /m=audio 0 RTP\/AVP 0\r\nm=image 40000 udptl t38\r\na=T38FaxVersion:3\r\na=T38FaxFillBitRemoval\r\n$/,
  )
  const back = createOffer(capabilities, 'sendrecv', { id: '7', previous: fax })
  assert.match(text(back), /o=tandem 7 3 .*\r\n/)
  assert.match(text(back), /m=audio 40000 RTP\/AVP 0\r\n/)
  assert.match(text(back), /m=image 0 udptl t38\r\n$/)
  assert.equal(text(createFaxOffer(OWN, { id: '7', previous: back })).match(/^m=.*$/gm)?.length, 2, 'no third line')
})

test('an offer of fax is answered in the order of its lines, and audio after it is answered as ever', () => {
  const offer = description('m=audio 0 RTP/AVP 8', 'm=video 0 RTP/AVP 31', 'm=image 4000 UDPTL T38')
  const answer = answerFax(offer, OWN, { id: '7', previous: null })
  assert.equal(
    text(answer)
      .match(/^m=.*$/gm)
      ?.map(line => line.trim()),
    ['m=audio 0 RTP/AVP 8', 'm=video 0 RTP/AVP 31', 'm=image 40000 UDPTL T38'],
  )
  const audio = description('m=audio 5000 RTP/AVP 0', 'm=video 0 RTP/AVP 31', 'm=image 0 udptl t38')
  const answered = answerOffer(audio, capabilities, 'sendrecv', { id: '7', previous: answer })
  assert.ok('answer' in answered && /m=audio 40000 /.test(text(answered.answer)))
})

test.run()
