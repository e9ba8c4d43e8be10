// Sleeps most: it waits for audio, and for requests that must not come.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { keep } from '../../e2e/scene.ts'
import { product } from '../../e2e/shared-suite.ts'
import { insideCalled } from '../peers/raw-calls.ts'
import { audioAt, bodyOf, type Raw } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { BEGINS, OFFER, type Talk } from '../peers/raw-trunk.ts'

/** Far ends that answer a change of ours without audio, or by what was not offered: the call goes on (RFC 3261 §14.1, RFC 3264 §6). */

const test = rawSuite('interop/sessions/unusable-answers')
const SEVERAL_FRAMES_MS = 200
const CRYPTO = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${Buffer.alloc(30, 7).toString('base64')}`

/** Where audio is received; `hears` resolves when some comes from now on. */
async function openEar() {
  const socket = keep(createSocket('udp4').bind(0, '127.0.0.1'))
  let packets = 0
  socket.on('message', () => packets++)
  await once(socket, 'listening')
  const hears = (): Promise<unknown> => {
    const before = packets
    return product.until('audio', async () => (packets > before + 2 ? true : null))
  }
  return { port: socket.address().port, packets: () => packets, hears }
}

const version = (body: string, n: number): string => body.replace('o=far 1 1', `o=far 1 ${n}`)
const formatsOf = ({ text }: Raw): string => /^m=audio \d+ \S+ (.*?)\r$/m.exec(bodyOf(text))![1]!
const directionOf = ({ text }: Raw): string => /^a=(sendrecv|sendonly|recvonly|inactive)\r$/m.exec(bodyOf(text))![1]!
const statusOf = async ({ id }: Talk): Promise<string> => (await product.ok('GET', `/calls/${id}`)).status
const eventsOf = async ({ id }: Talk): Promise<string[]> =>
  (await product.all(`/calls/${id}/events`)).map(({ type }: { type: string }) => type)

async function hangUp({ id, peer }: Talk): Promise<void> {
  await product.ok('POST', `/calls/${id}/hangup`)
  await peer.takes('BYE')
  assert.is((await calls.endOf(id)).ended_reason, 'api_hangup')
}

for (const [who, begin] of Object.entries(BEGINS)) {
  test(`${who}: our hold that is answered \`m=audio 0\` is a hold without audio, and our resume offers audio again`, async () => {
    const ear = await openEar()
    const talk = await begin(product, calls, [], {}, audioAt(ear.port))
    const { id, peer, contact } = talk
    await ear.hears()
    await product.ok('POST', `/calls/${id}/hold`)
    assert.is(directionOf(await peer.takes('INVITE', '200 OK', [contact, OFFER], version(audioAt(0), 2))), 'sendonly')
    await peer.next('ACK')
    assert.is(await statusOf(talk), 'held')
    const before = ear.packets()
    await sleep(SEVERAL_FRAMES_MS)
    assert.ok(ear.packets() - before <= 1, 'nothing is sent but what was on its way')
    await product.ok('POST', `/calls/${id}/unhold`)
    const resume = await peer.next('INVITE')
    assert.is(directionOf(resume), 'sendrecv')
    resume.answer('200 OK', [contact, OFFER], version(audioAt(ear.port), 3))
    await peer.next('ACK')
    await ear.hears()
    assert.is(await statusOf(talk), 'in_progress')
    await hangUp(talk)
  })

  test(`${who}: our resume that is answered \`m=audio 0\` leaves the call held by the far end, until it offers audio`, async () => {
    const ear = await openEar()
    const talk = await begin(product, calls, [], {}, audioAt(ear.port))
    const { id, peer, contact } = talk
    await product.ok('POST', `/calls/${id}/hold`)
    await peer.takes('INVITE', '200 OK', [contact, OFFER], version(audioAt(ear.port, '0', ['a=recvonly']), 2))
    await peer.next('ACK')
    await product.ok('POST', `/calls/${id}/unhold`)
    await peer.takes('INVITE', '200 OK', [contact, OFFER], version(audioAt(0), 3))
    await peer.next('ACK')
    await product.until('it is held', async () => ((await statusOf(talk)) === 'held' ? true : null))
    talk.send(talk.theirs('INVITE', 20, [contact, OFFER], version(audioAt(ear.port), 4)))
    assert.match(bodyOf((await peer.next('200')).text), /^m=audio [1-9]/m)
    talk.send(talk.theirs('ACK', 20))
    await ear.hears()
    assert.is(await statusOf(talk), 'in_progress')
    await hangUp(talk)
  })

  test(`${who}: a hold answered by a codec that was not offered is offered once more, for the codec in use, and then the call goes on`, async () => {
    const ear = await openEar()
    const talk = await begin(product, calls, [], {}, audioAt(ear.port))
    const { id, peer, contact } = talk
    const wrong = audioAt(ear.port, '18', ['a=recvonly'])
    await product.ok('POST', `/calls/${id}/hold`)
    assert.is(formatsOf(await peer.takes('INVITE', '200 OK', [contact, OFFER], version(wrong, 2))), '0 8 101')
    await peer.next('ACK')
    const repeated = await peer.takes('INVITE', '200 OK', [contact, OFFER], version(wrong, 2))
    assert.equal([formatsOf(repeated), directionOf(repeated)], ['0 101', 'sendonly'])
    await peer.next('ACK')
    await ear.hears()
    assert.is(await statusOf(talk), 'held')
    await product.ok('POST', `/calls/${id}/unhold`)
    const resume = await peer.takes('INVITE', '200 OK', [contact, OFFER], version(audioAt(ear.port), 3))
    assert.is(directionOf(resume), 'sendrecv')
    await peer.next('ACK')
    await ear.hears()
    assert.equal((await eventsOf(talk)).filter(type => type === 'call.held' || type === 'call.resumed').length, 2)
    await hangUp(talk)
  })

  test(`${who}: our offer in the call that an ACK answers by \`m=audio 0\` leaves it held by the far end`, async () => {
    const talk = await begin(product, calls, [])
    const { peer, contact } = talk
    talk.send(talk.theirs('INVITE', 20, [contact]))
    await peer.next('200')
    talk.send(talk.theirs('ACK', 20, [OFFER], version(audioAt(0), 2)))
    await product.until('it is held', async () => ((await statusOf(talk)) === 'held' ? true : null))
    await hangUp(talk)
  })
}

for (const [how, status, body] of [
  ['refuses plain audio in its answer', '', ''],
  ['refuses it all by its answers', '200 OK', audioAt(0)],
  ['refuses it all by 488', '488 Not Acceptable Here', ''],
] as const) {
  test(`who is called by REFER, and ${how}, is offered another kind in its call${status === '' ? '' : ', and hung up in the end'}`, async () => {
    const fields = { transfers: 'bridge', srtp: 'optional' }
    const talk = await BEGINS['whom we have called'](product, calls, [], fields)
    const { peer, host, prefix, contact, theirs, send } = talk
    send(theirs('REFER', 1, [contact, `Refer-To: <sip:${prefix}12@${host}:${peer.port}>`]))
    const first = await peer.takes('INVITE', '200 OK', [contact, OFFER], audioAt(0))
    const second = await peer.next('INVITE')
    assert.match(bodyOf(second.text), /^m=audio [1-9]\d* RTP\/SAVP /m)
    if (status === '') {
      const secure = audioAt(6100, '0', [CRYPTO]).replace('RTP/AVP', 'RTP/SAVP')
      const ok = second.answer('200 OK', [contact, OFFER], version(secure, 2))
      await peer.takes('BYE')
      send(insideCalled(second, ok, 'BYE', 9))
      await calls.endOf(talk.id)
      return
    }
    const refuses = (offer: Raw) => offer.answer(status, [contact, ...(body === '' ? [] : [OFFER])], body)
    refuses(second)
    refuses(await peer.next('INVITE'))
    const bye = await peer.takes('BYE')
    assert.is(/^Call-ID: (.*)$/im.exec(bye.text)![1], /^Call-ID: (.*)$/im.exec(first.text)![1])
    assert.is(await statusOf(talk), 'in_progress')
    await hangUp(talk)
  })
}

test.run()
