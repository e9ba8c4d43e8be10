import * as assert from 'uvu/assert'
import { product } from '../../e2e/shared-suite.ts'
import { audioAt, bodyOf, field, type RawPeer } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { BEGINS, OFFER, rawTrunk } from '../peers/raw-trunk.ts'

/** What far ends that insist on encryption of one kind are offered, and what they offer. */

const test = rawSuite('interop/sessions/encryption')

const FINGERPRINT = Array.from({ length: 32 }, (_, i) => (i + 16).toString(16).toUpperCase()).join(':')
const CRYPTO = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${Buffer.alloc(30, 7).toString('base64')}`
const DTLS = [`a=fingerprint:sha-256 ${FINGERPRINT}`, 'a=setup:actpass']

/** What is offered, and the kinds of keys in it. */
const kindOf = (text: string): string => {
  const body = bodyOf(text)
  const keys = ['crypto', 'fingerprint'].filter(name => body.includes(`\na=${name}:`))
  return [/^m=audio \d+ (\S+)/m.exec(body)![1], ...keys].join(' ')
}

/** What somebody is offered who refuses each offer with 488. */
async function refuses(peer: RawPeer, offers: number): Promise<string[]> {
  const offered: string[] = []
  while (offered.length < offers) {
    const invite = await peer.takes('INVITE', '488 Not Acceptable Here')
    offered.push(kindOf(invite.text))
    await peer.next('ACK')
  }
  return offered
}

const OFFERS = {
  off: ['RTP/AVP'],
  optional: ['RTP/AVP crypto fingerprint', 'RTP/SAVP crypto fingerprint', 'UDP/TLS/RTP/SAVP fingerprint'],
  required: ['RTP/SAVP crypto fingerprint', 'UDP/TLS/RTP/SAVP fingerprint'],
  dtls: ['UDP/TLS/RTP/SAVP fingerprint'],
}

for (const [srtp, offers] of Object.entries(OFFERS)) {
  test(`\`srtp\` ${srtp}: who refuses with 488 is offered ${offers.join(', then ')}`, async () => {
    const peer = await calls.peer()
    const id = await calls.callOver(peer, { srtp })
    assert.equal(await refuses(peer, offers.length), offers)
    assert.is((await calls.endOf(id)).ended_reason, 'codec_mismatch')
    assert.is(peer.received.filter(({ what }) => what === 'INVITE').length, offers.length)
  })
}

/** Audio that is refused. */
const NONE = audioAt(0)
/** An answer with keys in SDP. */
const secureAt = (port: number): string => audioAt(port, '0', [CRYPTO]).replace('RTP/AVP', 'RTP/SAVP')

test('who answers, and takes no plain audio, is offered another kind in the call (RFC 3264 §6)', async () => {
  const { peer, prefix, contact } = await rawTrunk(calls, { srtp: 'optional' })
  const { id } = await product.ok('POST', '/calls', { to: `${prefix}10` })
  const first = await peer.next('INVITE')
  // By re-INVITE, as Jami takes no other audio by UPDATE.
  first.answer('200 OK', [contact, OFFER, 'Allow: INVITE, ACK, BYE, UPDATE'], NONE)
  const second = await peer.next('INVITE')
  assert.is((await product.ok('GET', `/calls/${id}`)).answered_at, null)
  assert.is(field(second.text, 'call-id'), field(first.text, 'call-id'))
  assert.is(kindOf(second.text), 'RTP/SAVP crypto fingerprint')
  assert.match(bodyOf(second.text), /^o=tandem \d+ 2 /m)
  second.answer('200 OK', [contact, OFFER], secureAt(6100))
  await peer.next('ACK')
  await product.until('it is answered', async () => (await product.ok('GET', `/calls/${id}`)).answered_at)
  await product.ok('POST', `/calls/${id}/hangup`)
  await peer.takes('BYE')
})

for (const [how, status, body] of [
  ['by its answers', '200 OK', NONE],
  ['by 488', '488 Not Acceptable Here', ''],
] as const) {
  test(`who answers, and refuses each offer ${how}, is hung up`, async () => {
    const { peer, prefix, contact } = await rawTrunk(calls, { srtp: 'optional' })
    const { id } = await product.ok('POST', '/calls', { to: `${prefix}10` })
    await peer.takes('INVITE', '200 OK', [contact, OFFER], NONE)
    const offered: string[] = []
    for (;;) {
      const next = await peer.next('INVITE|BYE')
      if (next.what === 'INVITE') next.answer(status, [contact, ...(body === '' ? [] : [OFFER])], body)
      else next.answer('200 OK')
      if (next.what === 'BYE') break
      offered.push(kindOf(next.text))
    }
    assert.equal(offered, OFFERS.optional.slice(1))
    const call = await calls.endOf(id)
    assert.equal([call.answered_at, call.ended_reason], [null, 'codec_mismatch'])
  })
}

test('who is called by REFER, and insists on keys by DTLS, is offered them', async () => {
  const talk = await BEGINS['whom we have called'](product, calls, [], { transfers: 'bridge', srtp: 'optional' })
  const { peer, host, prefix, contact, theirs, send } = talk
  send(theirs('REFER', 1, [contact, `Refer-To: <sip:${prefix}12@${host}:${peer.port}>`]))
  assert.equal(await refuses(peer, OFFERS.optional.length), OFFERS.optional)
  send(theirs('BYE', 2))
  await peer.next('200')
})

for (const [what, srtp, lines, answered] of [
  ['keys in SDP', 'optional', [CRYPTO], 'RTP/AVP crypto'],
  ['keys by DTLS', 'optional', DTLS, 'RTP/AVP fingerprint'],
  ['keys by DTLS', 'required', DTLS, 'RTP/AVP fingerprint'],
  ['keys by DTLS', 'off', DTLS, 'RTP/AVP'],
  ['both', 'optional', [CRYPTO, ...DTLS], 'RTP/AVP fingerprint'],
  ['both', 'off', [CRYPTO, ...DTLS], 'RTP/AVP'],
  ['no certificate', 'optional', ['a=setup:actpass'], 'RTP/AVP'],
] as const) {
  test(`opportunistic SRTP: RTP/AVP with ${what} is answered ${answered} where \`srtp\` is ${srtp} (RFC 8643)`, async () => {
    const { ours, theirs, send, peer } = await BEGINS['who has called us'](
      product,
      calls,
      [],
      { srtp },
      audioAt(6100, '0', [...lines]),
    )
    assert.is(kindOf(ours.text), answered)
    // Our own offer in this call keeps it.
    send(theirs('INVITE', 2, ['Contact: <sip:far@127.0.0.1>']))
    const offer = await peer.next('200')
    assert.is(kindOf(offer.text), answered)
    send(theirs('BYE', 3))
    await peer.next('200')
  })
}

test('opportunistic SRTP is refused where `srtp` is dtls, unless its keys come by DTLS', async () => {
  const trunk = await rawTrunk(calls, { srtp: 'dtls' })
  for (const [lines, status] of [
    [[CRYPTO], '488'],
    [DTLS, '200'],
  ] as const) {
    trunk.peer.send(
      calls
        .inviteFrom(trunk.peer, 'UDP', audioAt(6100, '0', [...lines]))
        .replaceAll(`127.0.0.1:${trunk.peer.port}`, `${trunk.host}:${trunk.peer.port}`),
      product.sip.port,
    )
    assert.is((await trunk.peer.next('488|200')).what, status)
  }
})

test('`tls-id` is answered with ours, another one for another association (RFC 8842 §5.3)', async () => {
  const offer = (id: string): string =>
    audioAt(6100, '0', [...DTLS, `a=tls-id:${id}`]).replace('RTP/AVP', 'UDP/TLS/RTP/SAVP')
  const idOf = (text: string): string => /^a=tls-id:([\w+/-]{20,255})\r?$/m.exec(bodyOf(text))?.[1] ?? ''
  const [one, other] = ['abc3de65cddef001be82', 'abc3de65cddef001be83']
  const { ours, theirs, send, peer } = await BEGINS['who has called us'](
    product,
    calls,
    [],
    { srtp: 'optional' },
    offer(one),
  )
  const said = [idOf(ours.text)]
  let cseq = 1
  for (const body of [offer(one), offer(other), '']) {
    const type = body === '' ? [] : ['Content-Type: application/sdp']
    send(theirs('INVITE', ++cseq, ['Contact: <sip:far@127.0.0.1>', ...type], body))
    const answer = await peer.next('200')
    said.push(idOf(answer.text))
    send(theirs('ACK', cseq, body === '' ? ['Content-Type: application/sdp'] : [], body === '' ? offer(other) : ''))
  }
  assert.ok(
    said.every(id => id !== '' && id !== one && id !== other),
    String(said),
  )
  assert.equal([said[0] === said[1], said[1] === said[2], said[2] === said[3]], [true, false, true])
  send(theirs('BYE', ++cseq))
  await peer.next('200')
})

test.run()
