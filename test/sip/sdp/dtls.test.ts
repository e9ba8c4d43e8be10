import * as assert from 'uvu/assert'
import { answerOffer, applyAnswer, type Capabilities, createOffer, PCMA, PCMU } from '../../../sip/sdp/offer-answer.ts'
import { parseSdp } from '../../../sip/sdp/sdp.ts'
import { suite } from '../../harness.ts'

const test = suite('sip/sdp/dtls')

const FINGERPRINT = Array.from({ length: 32 }, (_, i) => (i + 16).toString(16).toUpperCase()).join(':')
const THEIRS = FINGERPRINT.replace('10', 'FF')

const OURS: Capabilities = {
  codecs: [PCMU, PCMA],
  telephoneEvent: true,
  host: '192.0.2.1',
  port: 10_000,
  rtcpMux: true,
  srtp: { policy: 'optional', random: bytes => new Uint8Array(bytes) },
  dtls: {
    fingerprint: { hash: 'sha-256', value: FINGERPRINT },
    role: null,
    tlsId: null,
    ice: { ufrag: 'ours1234', pwd: 'ours-password-of-enough-chars'.replaceAll('-', '+') },
    ssrc: 4711,
    codecs: [],
    isWebRtc: true,
  },
}
const SESSION = { id: '1', previous: null }

/** As Chromium writes it, shortened. */
const OFFER = `v=0
o=- 4611732 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1
a=extmap-allow-mixed
a=msid-semantic: WMS stream
m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
c=IN IP4 0.0.0.0
a=rtcp:9 IN IP4 0.0.0.0
a=candidate:1 1 udp 2113937151 0b1d3d6c.local 50000 typ host generation 0
a=ice-ufrag:theirs
a=ice-pwd:theirpasswordof22chars0
a=ice-options:trickle
a=fingerprint:sha-256 ${THEIRS}
a=setup:actpass
a=mid:0
a=sendrecv
a=msid:stream track
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=rtpmap:9 G722/8000
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:110 telephone-event/48000
a=rtpmap:126 telephone-event/8000
a=ssrc:1001 cname:x
m=video 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=mid:1
a=rtcp-mux
a=rtpmap:96 VP8/90000
`.replaceAll('\n', '\r\n')

const bytes = (text: string): Uint8Array => Buffer.from(text)
const linesOf = (description: Uint8Array): string[] => Buffer.from(description).toString().split('\r\n')

function answered(offer: string, ours: Capabilities = OURS) {
  const result = answerOffer(bytes(offer), ours, 'sendrecv', SESSION)
  if ('error' in result) throw new Error(result.error)
  return { ...result, lines: linesOf(result.answer) }
}

test('RFC 8842 §5.3: a browser is answered as the passive side of DTLS, with one candidate and one port, in its bundle', () => {
  const { lines, media } = answered(OFFER)
  for (const line of [
    'a=ice-lite',
    'a=group:BUNDLE 0',
    'm=audio 10000 UDP/TLS/RTP/SAVPF 0 13 126',
    'a=mid:0',
    'a=ice-ufrag:ours1234',
    `a=fingerprint:sha-256 ${FINGERPRINT}`,
    'a=setup:passive',
    'a=candidate:1 1 udp 2130706431 192.0.2.1 10000 typ host',
    'a=end-of-candidates',
    'a=rtcp-mux',
    'a=ssrc:4711 cname:tandem',
    'a=sendrecv',
    'm=video 0 UDP/TLS/RTP/SAVPF 96',
    'a=mid:1',
  ]) {
    assert.ok(lines.includes(line), line)
  }
  assert.equal(media.dtls?.fingerprint, { hash: 'sha-256', value: THEIRS })
  assert.is(media.dtls?.ufrag, 'theirs')
  assert.equal([media.direction, media.held, media.srtp], ['sendrecv', false, null])
})

test('RFC 8839 §5.4: credentials and fingerprint of the session are those of a medium that has none', () => {
  const lines = OFFER.split('\r\n')
  const isSide = (line: string): boolean => /^a=(ice-ufrag|ice-pwd|fingerprint|setup)/.test(line)
  const at = lines.indexOf('t=0 0') + 1
  const moved = [...lines.slice(0, at), ...lines.filter(isSide), ...lines.slice(at).filter(line => !isSide(line))]
  assert.is(answered(moved.join('\r\n')).media.dtls?.ufrag, 'theirs')
})

test('hold of a browser is its direction alone, as its address means nothing', () => {
  const { media, lines } = answered(OFFER.replace('a=sendrecv', 'a=sendonly'))
  assert.equal([media.direction, media.held], ['recvonly', true])
  assert.ok(lines.includes('a=recvonly'))
})

test('what we could not keep is refused: no fingerprint, a weak one, no rtcp-mux, half of ICE, a far end that does not want to begin yet', () => {
  const broken = [
    OFFER.replace(/a=fingerprint.*\r\n/, ''),
    OFFER.replace('sha-256', 'sha-1'),
    OFFER.replace('a=rtcp-mux\r\na=rtpmap:111', 'a=rtpmap:111'),
    OFFER.replace('a=setup:actpass', 'a=setup:holdconn'),
    OFFER.replace(/a=ice-pwd.*\r\n/, ''),
  ]
  for (const offer of broken) {
    assert.equal(answerOffer(bytes(offer), OURS, 'sendrecv', SESSION), { error: 'no_common_encryption' })
  }
  const { dtls: _none, ...plain } = OURS
  assert.equal(answerOffer(bytes(OFFER), plain, 'sendrecv', SESSION), { error: 'no_common_encryption' })
})

test('RFC 8842 §5.2: our offer leaves open who begins, and is taken up by who does', () => {
  const offer = createOffer(OURS, 'sendrecv', SESSION)
  const lines = linesOf(offer)
  for (const line of [
    'a=setup:actpass',
    'a=group:BUNDLE audio',
    'a=ice-lite',
    'm=audio 10000 UDP/TLS/RTP/SAVPF 0 8 101',
  ]) {
    assert.ok(lines.includes(line), line)
  }
  assert.not.ok(lines.some(line => line.startsWith('a=crypto')))
  const answer = OFFER.slice(0, OFFER.indexOf('m=video'))
    .replace('111 63 9 0 8 13 110 126', '8 126')
    .replace('a=setup:actpass', 'a=setup:active')
  const media = applyAnswer(offer, bytes(answer), OURS)
  assert.not.ok('error' in media)
  if ('error' in media) return
  assert.equal([media.codec.name, media.dtls?.ufrag], ['PCMA', 'theirs'])
  const waiting = applyAnswer(offer, bytes(answer.replace('setup:active', 'setup:passive')), OURS)
  assert.is('error' in waiting ? waiting.error : waiting.dtls?.role, 'active', 'one that waits for us gets its wish')
  assert.equal(applyAnswer(offer, bytes(answer.replace('setup:active', 'setup:actpass')), OURS), {
    error: 'no_common_encryption',
  })
})

test('a later offer of ours is of the same kind, in the same place, with the same credentials', () => {
  const { answer } = answered(OFFER)
  const again = linesOf(
    createOffer({ ...OURS, dtls: { ...OURS.dtls!, isWebRtc: false } }, 'sendonly', { id: '1', previous: answer }),
  )
  for (const line of ['a=mid:0', 'a=group:BUNDLE 0', 'a=ice-ufrag:ours1234', 'a=setup:actpass', 'a=sendonly']) {
    assert.ok(again.includes(line), line)
  }
  assert.ok(again.some(line => line.startsWith('m=video 0')))
  assert.ok(again.includes('o=tandem 1 2 IN IP4 192.0.2.1'))
})

test('what we write reads back as it was', () => {
  const parsed = parseSdp(createOffer(OURS, 'sendrecv', SESSION))
  if ('error' in parsed) throw new Error(parsed.error)
  const [media] = parsed.media
  assert.equal([media?.mid, media?.isBundled, media?.dtls?.setup], ['audio', true, 'actpass'])
  assert.is(media?.dtls?.fingerprint.value, FINGERPRINT)
})

// ------------------------------------------------------------------ without ICE (RFC 5763)

/** As Asterisk and gateways write it. */
const PLAIN_OFFER = `v=0
o=- 7 7 IN IP4 192.0.2.77
s=-
c=IN IP4 192.0.2.77
t=0 0
m=audio 4000 UDP/TLS/RTP/SAVP 8 101
a=fingerprint:sha-256 ${THEIRS}
a=setup:actpass
a=rtpmap:8 PCMA/8000
a=rtpmap:101 telephone-event/8000
`.replaceAll('\n', '\r\n')

const withPolicy = (policy: 'off' | 'optional' | 'required' | 'dtls'): Capabilities => ({
  ...OURS,
  srtp: { ...OURS.srtp!, policy },
  dtls: { ...OURS.dtls!, codecs: [PCMA], isWebRtc: false },
})

test('RFC 5763 §5: DTLS without ICE is answered so, for the address of the description, with two ports where there is no rtcp-mux', () => {
  const { lines, media } = answered(PLAIN_OFFER, withPolicy('optional'))
  assert.ok(lines.includes('m=audio 10000 UDP/TLS/RTP/SAVP 8 101'))
  assert.ok(lines.includes(`a=fingerprint:sha-256 ${FINGERPRINT}`))
  assert.not.ok(
    lines.some(line => /^a=(ice|candidate|ssrc|msid|rtcp-mux|end-of)/.test(line)),
    lines.join('\n'),
  )
  const { remoteHost, remotePort, remoteRtcpPort, rtcpMux, dtls } = media
  assert.equal([remoteHost, remotePort, remoteRtcpPort, rtcpMux], ['192.0.2.77', 4000, 4001, false])
  assert.equal(dtls, { role: 'passive', fingerprint: { hash: 'sha-256', value: THEIRS }, tlsId: null, ufrag: null })
  const muxed = answered(`${PLAIN_OFFER}a=rtcp-mux\r\n`, withPolicy('optional'))
  assert.ok(muxed.media.rtcpMux && muxed.lines.includes('a=rtcp-mux'))
})

test('RFC 4145 §4.1: who begins is as the offer wants it, and, where it leaves that to us, as it was', () => {
  const roles = [
    ['active', null, 'passive'],
    ['passive', null, 'active'],
    ['actpass', null, 'passive'],
    ['actpass', 'active', 'active'],
  ] as const
  for (const [theirs, role, ours] of roles) {
    const capabilities = withPolicy('required')
    const { lines, media } = answered(PLAIN_OFFER.replace('actpass', theirs), {
      ...capabilities,
      dtls: { ...capabilities.dtls!, role },
    })
    assert.ok(lines.includes(`a=setup:${ours}`), `${theirs}, ${role}`)
    assert.is(media.dtls?.role, ours)
  }
})

test('`off` refuses DTLS without ICE, and `dtls` all else', () => {
  const refused = { error: 'no_common_encryption' }
  assert.equal(answerOffer(bytes(PLAIN_OFFER), withPolicy('off'), 'sendrecv', SESSION), refused)
  const plain = PLAIN_OFFER.replace('UDP/TLS/RTP/SAVP', 'RTP/AVP')
  const crypto = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${'A'.repeat(40)}\r\n`
  const sdes = `${PLAIN_OFFER.replace('UDP/TLS/RTP/SAVP', 'RTP/SAVP')}${crypto}`
  assert.not.ok('error' in answerOffer(bytes(sdes), withPolicy('required'), 'sendrecv', SESSION))
  for (const offer of [plain, sdes]) {
    const without = offer.replace(/a=fingerprint.*\r\n/, '')
    assert.equal(answerOffer(bytes(without), withPolicy('dtls'), 'sendrecv', SESSION), refused)
  }
})

/** Protocol and keys of a description. */
const keysIn = (description: Uint8Array): string[] =>
  linesOf(description)
    .flatMap(line => /^m=audio \d+ (\S+)|^a=(crypto|fingerprint|setup:\w+)/.exec(line)?.slice(1) ?? [])
    .filter(found => found !== undefined)

test('RFC 8643 §3.1: plain audio is offered with keys of both kinds where encryption is optional, and stays so until those by DTLS are taken', () => {
  const ours = withPolicy('optional')
  const offer = createOffer(ours, 'sendrecv', SESSION)
  const both = ['RTP/AVP', 'fingerprint', 'setup:actpass', 'crypto', 'crypto', 'crypto']
  assert.equal(keysIn(offer), both)
  const answer = PLAIN_OFFER.replace('UDP/TLS/RTP/SAVP', 'RTP/AVP')
  const tag = linesOf(offer).find(line => line.startsWith('a=crypto:1'))!
  const outcomes = [
    [answer.replace('actpass', 'active'), 'passive', false],
    [answer.replace('actpass', 'passive'), 'active', false],
    // It does not say who begins, as only an offer may.
    [answer, undefined, false],
    [answer.replace(/a=fingerprint.*\r\n/, `${tag}\r\n`), undefined, true],
    [answer.replace(/a=fingerprint.*\r\n/, ''), undefined, false],
  ] as const
  for (const [text, role, hasKeys] of outcomes) {
    const media = applyAnswer(offer, bytes(text), ours)
    if ('error' in media) throw new Error(media.error)
    assert.equal([media.dtls?.role, media.srtp !== null], [role, hasKeys])
    const next = { ...ours, dtls: { ...ours.dtls!, role: role ?? null } }
    const again = createOffer(next, 'sendonly', { id: '1', previous: offer })
    assert.equal(keysIn(again), role === undefined ? both : both.slice(0, 3))
  }
})

test('JSEP §5.1.2: RTP/SAVP with a certificate, and no keys that we take, has them by DTLS; ICE without its protocol is none', () => {
  const ice = 'a=ice-ufrag:theirs\r\na=ice-pwd:theirpasswordof22chars0\r\n'
  const old = `${PLAIN_OFFER}${ice}`.replace('UDP/TLS/RTP/SAVP', 'RTP/SAVPF')
  const { media, lines } = answered(old, withPolicy('optional'))
  assert.equal([media.dtls?.role, media.dtls?.ufrag, media.remotePort], ['passive', null, 4000])
  assert.ok(lines.includes('m=audio 10000 RTP/SAVPF 8 101') && !lines.some(line => line.startsWith('a=ice')))
  const withKeys = `${old}a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${'A'.repeat(40)}\r\n`
  assert.ok(answered(withKeys, withPolicy('optional')).media.srtp !== null)
})

test('`dtls` offers it, whoever is to begin, and takes no answer without it; later offers stay so', () => {
  const ours = withPolicy('dtls')
  const offer = createOffer(ours, 'sendrecv', SESSION)
  const lines = linesOf(offer)
  for (const line of ['m=audio 10000 UDP/TLS/RTP/SAVP 0 8 101', 'a=setup:actpass', 'a=rtcp-mux']) {
    assert.ok(lines.includes(line), line)
  }
  assert.not.ok(lines.some(line => /^a=(ice|candidate|crypto|mid|group)/.test(line)))
  for (const [setup, role] of [
    ['active', 'passive'],
    ['passive', 'active'],
  ] as const) {
    const media = applyAnswer(offer, bytes(PLAIN_OFFER.replace('actpass', setup)), ours)
    assert.is('error' in media ? media.error : media.dtls?.role, role)
  }
  for (const answer of [PLAIN_OFFER, PLAIN_OFFER.replace('UDP/TLS/RTP/SAVP', 'RTP/AVP')]) {
    assert.equal(applyAnswer(offer, bytes(answer), ours), { error: 'no_common_encryption' })
  }
  const again = linesOf(createOffer(withPolicy('off'), 'sendonly', { id: '1', previous: offer }))
  assert.ok(again.includes('m=audio 10000 UDP/TLS/RTP/SAVP 0 8 101') && again.includes('a=setup:actpass'))
})

test('c=0.0.0.0 is hold where there is no ICE', () => {
  const { media } = answered(PLAIN_OFFER.replace('c=IN IP4 192.0.2.77', 'c=IN IP4 0.0.0.0'), withPolicy('optional'))
  assert.equal([media.held, media.direction], [true, 'recvonly'])
})

test.run()
