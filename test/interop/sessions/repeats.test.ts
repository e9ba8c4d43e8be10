// Sleeps most: it waits for what is sent again.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { product, sharedSuite } from '../../e2e/shared-suite.ts'
import { hangUp, inside, type RawCalls } from '../peers/raw-calls.ts'
import { audioAt, field, type Raw, type RawPeer } from '../peers/raw-peer.ts'
import { withRawCalls } from '../peers/raw-suite.ts'
import { BEGINS, inviteOf, METHODS, OFFER, rawTrunk, type Talk } from '../peers/raw-trunk.ts'

/**
 * What is said again since it, or its answer, was lost: ours until it is answered, byte by byte (RFC 3261 §17.1); theirs has the same answer and one effect
 * (§17.2). Here is what SIPp cannot lose, since it then takes what comes next for a fault; `lossy.test.ts` has the rest.
 */

const test = sharedSuite('interop/sessions/repeats')

/** Registers a test that has far ends and connections of its own. */
const repeatTest = (sentence: string, run: (calls: RawCalls) => Promise<void>): void =>
  test(sentence, withRawCalls(run), { together: true })

/** The first of ours was lost. @returns the second, which is the same */
async function again(peer: RawPeer, method: string): Promise<Raw> {
  const [lost, second] = [await peer.next(method), await peer.next(method)]
  assert.is(second.text, lost.text)
  return second
}

/** The answer to theirs was lost. @returns that to the second, which is the same */
async function toBoth({ peer, send }: Pick<Talk, 'peer' | 'send'>, request: string, status: string): Promise<Raw> {
  const answers: Raw[] = []
  for (let n = 0; n < 2; n++) {
    send(request)
    answers.push(await peer.next(/[2-6]\d\d/))
  }
  assert.equal([answers[0]!.what, answers[1]!.text], [status, answers[0]!.text])
  return answers[1]!
}

const statusBecomes = (id: string, status: string) =>
  product.until(`it is ${status}`, async () =>
    (await product.ok('GET', `/calls/${id}`)).status === status ? true : null,
  )

/** How the transfer of a call went, once it has failed. */
const failedTransfer = (id: string): Promise<string[]> =>
  product.until('its transfer has failed', async () => {
    const told = (await product.all('/events?type=call.transfer.updated')).map(({ data }) => data.object)
    const statuses = told.filter(({ call_id }) => call_id === id).map(({ status }) => status as string)
    return statuses.at(-1) === 'failed' ? statuses : null
  })

const inDirection = (direction: string, version = 1): string =>
  audioAt(6100, '0', [`a=${direction}`]).replace('o=far 1 1', `o=far 1 ${version}`)

for (const [who, begin] of Object.entries(BEGINS)) {
  repeatTest(
    `${who}: our UPDATE, INVITE, REFER, NOTIFY and BYE are sent again until they are answered`,
    async calls => {
      const talk = await begin(product, calls, [`Allow: ${METHODS}, UPDATE`], { transfers: 'follow' })
      const { peer, id, contact, host, prefix } = talk
      await product.ok('POST', `/calls/${id}/hold`)
      const update = await again(peer, 'UPDATE')
      update.answer('200 OK', [contact, `Allow: ${METHODS}`, OFFER], inDirection('recvonly'))
      await statusBecomes(id, 'held')
      await product.ok('POST', `/calls/${id}/unhold`)
      const invite = await again(peer, 'INVITE')
      invite.answer('200 OK', [contact, OFFER], inDirection('sendrecv'))
      await peer.next('ACK')

      await product.ok('POST', `/calls/${id}/transfer`, { to: `${prefix}11` })
      const refer = await again(peer, 'REFER')
      refer.answer('603 Decline')
      await failedTransfer(id)

      talk.send(talk.theirs('REFER', 20, [contact, `Refer-To: <sip:${prefix}12@${host}>`]))
      await peer.next('202')
      const trying = await again(peer, 'NOTIFY')
      assert.match(trying.text, 'SIP/2.0 100')
      const target = peer.received.findLast(({ what }) => what === 'INVITE')!
      assert.match(target.text, `INVITE sip:${prefix}12@`)
      target.answer('486 Busy Here')
      trying.answer('200 OK')
      const busy = await again(peer, 'NOTIFY')
      assert.match(busy.text, 'SIP/2.0 486')
      busy.answer('200 OK')

      await product.ok('POST', `/calls/${id}/hangup`)
      const bye = await again(peer, 'BYE')
      bye.answer('200 OK')
      assert.is((await calls.endOf(id)).ended_reason, 'api_hangup')
    },
  )

  repeatTest(
    `${who}: an UPDATE, INVITE, NOTIFY, REFER or BYE that comes again has the same answer and one effect`,
    async calls => {
      const talk = await begin(product, calls, [`Allow: ${METHODS}`], { transfers: 'follow' })
      const { peer, id, contact, theirs, host, prefix } = talk
      for (const [method, cseq] of [
        ['UPDATE', 20],
        ['INVITE', 21],
      ] as const) {
        const change = theirs(method, cseq, [contact, OFFER], inDirection('sendonly', cseq))
        assert.match((await toBoth(talk, change, '200')).text, 'a=recvonly')
      }
      talk.send(theirs('ACK', 21))

      await product.ok('POST', `/calls/${id}/transfer`, { to: `${prefix}11` })
      await peer.takes('REFER', '202 Accepted', [contact])
      const event = ['Event: refer', contact, 'Content-Type: message/sipfrag']
      for (const [cseq, state, fragment] of [
        [22, 'active;expires=60', 'SIP/2.0 180 Ringing'],
        [23, 'terminated;reason=noresource', 'SIP/2.0 486 Busy Here'],
      ] as const) {
        await toBoth(talk, theirs('NOTIFY', cseq, [...event, `Subscription-State: ${state}`], fragment), '200')
      }
      assert.equal(await failedTransfer(id), ['trying', 'ringing', 'failed'])

      const begun = peer.received.length
      await toBoth(talk, theirs('REFER', 24, [contact, `Refer-To: <sip:${prefix}12@${host}>`]), '202')
      const target = peer.received.findLast(({ what }) => what === 'INVITE') ?? (await peer.next('INVITE'))
      target.answer('486 Busy Here')
      await peer.next('ACK')
      await peer.takes('NOTIFY')

      await toBoth(talk, theirs('BYE', 25), '200')
      assert.is((await calls.endOf(id)).ended_reason, 'caller_hangup')
      const invites = peer.received.slice(begun).filter(({ what }) => what === 'INVITE')
      assert.is(new Set(invites.map(({ text }) => field(text, 'call-id'))).size, 1, 'it is called once')
    },
  )
}

repeatTest(
  'who rings: our PRACK and CANCEL are sent again until they are answered, and so is the ACK of a 487 that comes again',
  async calls => {
    const { peer, prefix, contact } = await rawTrunk(calls)
    const { id } = await product.ok('POST', '/calls', { to: `${prefix}10` })
    const invite = await peer.next('INVITE')
    const reliable = invite.answer('180 Ringing', [contact, 'Require: 100rel', 'RSeq: 9'])
    const prack = await again(peer, 'PRACK')
    // It comes once more, since no PRACK has reached it: that is no other one (RFC 3262 §4).
    invite.reply(reliable)
    prack.answer('200 OK')
    await statusBecomes(id, 'ringing')
    await product.ok('POST', `/calls/${id}/hangup`)
    const cancel = await again(peer, 'CANCEL')
    cancel.answer('200 OK')
    const acks: string[] = []
    for (let n = 0; n < 2; n++) {
      invite.answer('487 Request Terminated')
      acks.push((await peer.next('ACK')).text)
    }
    assert.is(acks[1], acks[0])
    const pracks = peer.received.filter(({ what }) => what === 'PRACK')
    assert.is(new Set(pracks.map(({ text }) => field(text, 'cseq'))).size, 1)
    assert.is((await calls.endOf(id)).ended_reason, 'api_hangup')
  },
)

repeatTest(
  'who hears us ring: a PRACK and a CANCEL that come again are answered again, and our 180 and 487 are sent again until they are acknowledged',
  async calls => {
    const trunk = await rawTrunk(calls)
    const { peer, prefix, connectionId } = trunk
    await calls.route(`${prefix}13`, await calls.emptyQueue(), { answer: 'when_answered' })
    const invite = inviteOf(calls, trunk, ['Require: 100rel']).replace('sip:1002@', `sip:${prefix}13@`)
    peer.send(invite, product.sip.port)
    const ringing = await again(peer, '180')
    const prack = inside(ringing, 'PRACK', 2, [`RAck: ${field(ringing.text, 'rseq')} 1 INVITE`])
    await toBoth({ peer, send: text => ringing.reply(text) }, prack, '200')
    const { id } = await product.until('the call', async () =>
      (await product.all('/calls?status=ringing')).find(one => one.connection_id === connectionId),
    )
    const hop = (method: string): string =>
      invite
        .replace(/^INVITE/, method)
        .replace('1 INVITE', `1 ${method}`)
        .replace(/Require[\s\S]*$/, 'Content-Length: 0\r\n\r\n')
    for (let n = 0; n < 2; n++) {
      peer.send(hop('CANCEL'), product.sip.port)
      assert.is(field((await peer.next('200')).text, 'cseq'), '1 CANCEL')
    }
    const refused = await again(peer, '487')
    refused.reply(hop('ACK').replace(/^To: .*$/m, `To: ${field(refused.text, 'to')}`))
    assert.is((await calls.endOf(id)).status, 'cancelled')
  },
)

repeatTest(
  'a caller that acknowledges nothing gets audio for a second and a half, where its offer says, and again once its ACK or a packet comes',
  async calls => {
    for (const comes of ['ACK', 'a packet']) {
      const peer = await calls.peer()
      const heard: Buffer[] = []
      const audio = createSocket('udp4', datagram => heard.push(datagram)).bind(0, '127.0.0.1')
      await once(audio, 'listening')
      const offer = audioAt(audio.address().port, '0', ['a=rtcp-mux'])
      calls.invite(peer, { body: offer })
      const answer = await peer.next('200')
      // At 0, 0.5, 1.5 and 3.5 s.
      for (let n = 0; n < 3; n++) await peer.next('200')
      const withheld = heard.length
      assert.ok(withheld > 50 && withheld < 120, `${withheld} packets of 20 ms`)
      if (comes === 'ACK') answer.reply(inside(answer, 'ACK', 1))
      else {
        const port = Number(/^m=audio (\d+)/m.exec(answer.text)![1])
        audio.send(Buffer.concat([Buffer.from([0x80, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]), Buffer.alloc(160, 0xff)]), port)
      }
      await product.until(`audio after ${comes}`, async () => (heard.length > withheld + 20 ? true : null))
      if (comes !== 'ACK') answer.reply(inside(answer, 'ACK', 1))
      await hangUp(peer, answer)
      audio.close()
    }
  },
)

test.run()
