import * as assert from 'uvu/assert'
import { product } from '../../e2e/shared-suite.ts'
import { bodyOf, type RawPeer } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { BEGINS } from '../peers/raw-trunk.ts'

/** What far ends that insist on encryption of one kind are offered. */

const test = rawSuite('interop/sessions/encryption')

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
  optional: ['RTP/AVP crypto', 'RTP/SAVP crypto', 'UDP/TLS/RTP/SAVP fingerprint'],
  required: ['RTP/SAVP crypto', 'UDP/TLS/RTP/SAVP fingerprint'],
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

test('who is called by REFER, and insists on keys by DTLS, is offered them', async () => {
  const talk = await BEGINS['whom we have called'](product, calls, [], { transfers: 'bridge', srtp: 'optional' })
  const { peer, host, prefix, contact, theirs, send } = talk
  send(theirs('REFER', 1, [contact, `Refer-To: <sip:${prefix}12@${host}:${peer.port}>`]))
  assert.equal(await refuses(peer, OFFERS.optional.length), OFFERS.optional)
  send(theirs('BYE', 2))
  await peer.next('200')
})

test.run()
