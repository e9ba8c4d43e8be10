import * as assert from 'uvu/assert'
import { answerOffer, applyAnswer, type Capabilities, createOffer, PCMA, PCMU } from '../../../sip/sdp/offer-answer.ts'
import { CRYPTO_SUITES, type CryptoSuite, masterBytes, parseCrypto, type SrtpPolicy } from '../../../sip/sdp/sdes.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/sdp/sdes')
let drawn = 0
const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(++drawn)
const end = (policy: SrtpPolicy, port = 6000): Capabilities => ({
  codecs: [PCMU, PCMA],
  telephoneEvent: true,
  host: '192.0.2.2',
  port,
  srtp: { policy, random },
})
const session = (previous: Uint8Array | null = null) => ({ id: '77', previous })
const keyOf = (name: CryptoSuite, fill: number): string => Buffer.alloc(masterBytes(name), fill).toString('base64')
const KEY = keyOf('AES_CM_128_HMAC_SHA1_80', 1)
const CRYPTO = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}`
const offer = (...lines: string[]): Uint8Array =>
  Buffer.from(['v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', ...lines, ''].join('\r\n'))
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

function answered(bytes: Uint8Array, policy: SrtpPolicy, previous: Uint8Array | null = null) {
  const result = answerOffer(bytes, end(policy), 'sendrecv', session(previous))
  if ('error' in result) return result.error
  const [line] = textOf(result.answer)
    .split('\r\n')
    .filter(one => one.startsWith('m=audio 6000'))
  return { ...result, protocol: line!.split(' ')[2], text: textOf(result.answer) }
}

function agreed(bytes: Uint8Array, policy: SrtpPolicy, previous: Uint8Array | null = null) {
  const result = answered(bytes, policy, previous)
  if (typeof result === 'string') throw new Error(result)
  return result
}

test('RFC 4568 §9.1: a crypto line is its tag, suite and key; what we could not do is passed over', () => {
  const read = (rest: string) => parseCrypto(`1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}${rest}`)
  for (const rest of ['', '|2^20', '|1048576', ' WSH=64', '|2^31 -EXTRA=1']) {
    assert.equal(read(rest), { tag: 1, suite: 'AES_CM_128_HMAC_SHA1_80', key: KEY }, rest)
  }
  for (const rest of ['|2^20|1:4', '|1:4', ` ;inline:${KEY}`, ' UNENCRYPTED_SRTP', ' KDR=1', ' FEC_ORDER=FEC_SRTP']) {
    assert.is(read(rest), null, rest)
  }
  assert.is(parseCrypto(`1 F8_128_HMAC_SHA1_80 inline:${KEY}`), null)
  assert.is(parseCrypto(`1 toString inline:${KEY}`), null)
  assert.is(parseCrypto('1 AES_CM_128_HMAC_SHA1_80 inline:c2hvcnQ='), null)
  assert.is(parseCrypto(''), null)
  for (const name of Object.keys(CRYPTO_SUITES) as CryptoSuite[]) {
    assert.is(parseCrypto(`7 ${name} inline:${keyOf(name, 5)}`)?.suite, name)
  }
})

const SECURE = offer('m=audio 4000 RTP/SAVP 0', CRYPTO)
const PLAIN = offer('m=audio 4000 RTP/AVP 0')
const EITHER = offer('m=audio 4000 RTP/AVP 0', CRYPTO)
const UNUSABLE = offer('m=audio 4000 RTP/SAVP 0', 'a=crypto:1 F8_128_HMAC_SHA1_80 inline:AAAA')
const OFFERS: [name: string, bytes: Uint8Array, off: string, optional: string, required: string][] = [
  ['RTP/SAVP', SECURE, 'no_common_encryption', 'RTP/SAVP srtp', 'RTP/SAVP srtp'],
  ['RTP/AVP', PLAIN, 'RTP/AVP plain', 'RTP/AVP plain', 'no_common_encryption'],
  ['RTP/AVP with crypto', EITHER, 'RTP/AVP plain', 'RTP/AVP srtp', 'RTP/AVP srtp'],
  ['RTP/SAVP with nothing of ours', UNUSABLE, 'no_common_encryption', 'no_common_encryption', 'no_common_encryption'],
]

test('an offer is taken as the policy says, and refused where it cannot be', () => {
  for (const [name, bytes, off, optional, required] of OFFERS) {
    for (const [policy, expected] of Object.entries({ off, optional, required })) {
      const result = answered(bytes, policy as SrtpPolicy)
      const found = typeof result === 'string' ? result : `${result.protocol} ${result.media.srtp ? 'srtp' : 'plain'}`
      assert.is(found, expected, `${name}, ${policy}`)
    }
  }
})

test('of two lines the encrypted one is taken, in whichever order, unless encryption is off', () => {
  const secure = ['m=audio 4002 RTP/SAVP 0', CRYPTO]
  for (const lines of [
    [...secure, 'm=audio 4000 RTP/AVP 0'],
    ['m=audio 4000 RTP/AVP 0', ...secure],
  ]) {
    assert.is(agreed(offer(...lines), 'optional').media.remotePort, 4002)
    assert.is(agreed(offer(...lines), 'off').media.remotePort, 4000)
  }
})

test('RFC 4568 §5.1.2: the answer has the tag and suite of the line taken, and a key of its own', () => {
  const gcm = keyOf('AEAD_AES_128_GCM', 2)
  const { text, media } = agreed(
    offer(
      'm=audio 4000 RTP/SAVP 0',
      'a=crypto:1 F8_128_HMAC_SHA1_80 inline:AA',
      `a=crypto:9 AEAD_AES_128_GCM inline:${gcm}`,
      CRYPTO,
    ),
    'optional',
  )
  assert.is(media.srtp?.suite, 'AEAD_AES_128_GCM')
  assert.is(media.srtp?.receiveKey, gcm)
  assert.is.not(media.srtp?.sendKey, gcm)
  const lines = text.split('\r\n').filter(line => line.startsWith('a=crypto'))
  assert.equal(lines, [`a=crypto:9 AEAD_AES_128_GCM inline:${media.srtp?.sendKey}`])
})

test('our offer and its answer give both sides the same keys, crosswise', () => {
  for (const [ours, theirs, expected] of [
    ['required', 'optional', true],
    ['required', 'required', true],
    ['optional', 'required', true],
    ['optional', 'optional', true],
    ['optional', 'off', false],
    ['off', 'optional', false],
  ] as const) {
    const bytes = createOffer(end(ours), 'sendrecv', session())
    const answer = answerOffer(bytes, end(theirs, 7000), 'sendrecv', { id: '5', previous: null })
    if ('error' in answer) throw new Error(answer.error)
    const media = applyAnswer(bytes, answer.answer, end(ours))
    if ('error' in media) throw new Error(media.error)
    assert.is(media.srtp !== null, expected, `${ours}, ${theirs}`)
    if (media.srtp === null) continue
    const { suite, sendKey, receiveKey } = media.srtp
    assert.equal(answer.media.srtp, { suite, sendKey: receiveKey, receiveKey: sendKey })
  }
})

test('what is required is offered as RTP/SAVP alone, with a key for each suite', () => {
  const text = textOf(createOffer(end('required'), 'sendrecv', session()))
  assert.match(text, 'm=audio 6000 RTP/SAVP ')
  const keys = [...text.matchAll(/^a=crypto:\d (\w+) inline:(\S+)\r$/gm)]
  assert.equal(
    keys.map(match => match[1]),
    Object.keys(CRYPTO_SUITES),
  )
  assert.is(new Set(keys.map(match => match[2])).size, keys.length)
  assert.not.match(textOf(createOffer(end('off'), 'sendrecv', session())), 'crypto')
  assert.match(textOf(createOffer(end('optional'), 'sendrecv', session())), 'm=audio 6000 RTP/AVP ')
})

test('an answer that leaves out the encryption of our offer, or takes what was not offered, is an error', () => {
  const ours = createOffer(end('required'), 'sendrecv', session())
  const error = (bytes: Uint8Array) => (applyAnswer(ours, bytes, end('required')) as { error?: string }).error
  assert.is(error(PLAIN), 'no_common_encryption')
  assert.is(error(UNUSABLE), 'no_common_encryption')
  assert.is(error(offer('m=audio 4000 RTP/SAVP 0', CRYPTO.replace(':1 ', ':2 '))), 'no_common_encryption')
  assert.is(error(SECURE), undefined)
})

test('in the same call a key of ours stays: hold, and an offer of the far end with another key of its own', () => {
  const first = agreed(SECURE, 'required')
  const hold = textOf(createOffer(end('required'), 'sendonly', session(first.answer)))
  assert.match(hold, 'm=audio 6000 RTP/SAVP ')
  assert.match(hold, `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${first.media.srtp?.sendKey}\r\n`)
  assert.is(hold.split('a=crypto').length, 2)
  const other = keyOf('AES_CM_128_HMAC_SHA1_80', 9)
  const again = agreed(offer('m=audio 4000 RTP/SAVP 0', CRYPTO.replace(KEY, other)), 'required', first.answer)
  assert.equal(again.media.srtp, { ...first.media.srtp, receiveKey: other })
  assert.is(answered(PLAIN, 'required', first.answer), 'no_common_encryption')
})

test('what is required stays so when the far end has offered its keys under RTP/AVP', () => {
  const first = agreed(EITHER, 'required')
  const hold = createOffer(end('required'), 'sendonly', session(first.answer))
  assert.match(textOf(hold), 'm=audio 6000 RTP/AVP ')
  assert.equal(applyAnswer(hold, PLAIN, end('required')), { error: 'no_common_encryption' })
  assert.is((applyAnswer(hold, EITHER, end('required')) as { error?: string }).error, undefined)
})

test.run()
