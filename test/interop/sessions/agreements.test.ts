// Sleeps most: it waits for audio at the place that was agreed on.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { keep } from '../../e2e/scene.ts'
import { product } from '../../e2e/shared-suite.ts'
import { inside, insideCalled } from '../peers/raw-calls.ts'
import { audioAt, bodyOf, field, type Raw } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { BEGINS, inviteOf, OFFER, rawTrunk } from '../peers/raw-trunk.ts'

/** Where audio goes, by what the two sides have agreed on before the answer, with it and after it. */

const test = rawSuite('interop/sessions/agreements')
const HOST = '127.0.0.1'

/** A place for audio. */
class Ear {
  #packets = 0
  readonly #socket = createSocket('udp4')

  static async open(host = HOST): Promise<Ear> {
    const ear = keep(new Ear())
    ear.#socket.bind(0, host).on('message', () => ear.#packets++)
    await once(ear.#socket, 'listening')
    return ear
  }

  get port(): number {
    return this.#socket.address().port
  }

  /** Resolves when audio comes from now on. */
  hears(): Promise<unknown> {
    const before = this.#packets
    return product.until('audio', async () => (this.#packets > before + 2 ? true : null))
  }

  /** Resolves with whether any comes until another hears some. */
  async isDeafWhile(other: Ear): Promise<boolean> {
    // What was on its way to it.
    await other.hears()
    const before = this.#packets
    await other.hears()
    return this.#packets === before
  }

  close(): void {
    this.#socket.close()
  }
}

const version = (body: string, n: number): string => body.replace('o=far 1 1', `o=far 1 ${n}`)
const linesOf = ({ text }: Raw): string[] => bodyOf(text).match(/^m=.*?(?=\r)/gm) ?? []

for (const [who, begin] of Object.entries(BEGINS)) {
  test(`${who}: audio follows a re-INVITE to another port and address, and stays where it is after one of a family that we do not have (488, Warning 301)`, async () => {
    const [first, second, third] = [await Ear.open(), await Ear.open(), await Ear.open('127.0.0.7')]
    const talk = await begin(product, calls, [], {}, audioAt(first.port))
    const change = async (cseq: number, body: string): Promise<Raw> => {
      talk.send(talk.theirs('INVITE', cseq, [talk.contact, OFFER], version(body, cseq)))
      const answer = await talk.peer.next(/[2-6]\d\d/)
      talk.send(talk.theirs('ACK', cseq))
      return answer
    }
    await first.hears()
    assert.is((await change(20, audioAt(second.port))).what, '200')
    assert.ok(await first.isDeafWhile(second))
    assert.is((await change(21, audioAt(third.port).replace(`c=IN IP4 ${HOST}`, 'c=IN IP4 127.0.0.7'))).what, '200')
    assert.ok(await second.isDeafWhile(third))
    const refused = await change(22, audioAt(6100).replace(`c=IN IP4 ${HOST}`, 'c=IN IP6 ::1'))
    assert.is(refused.what, '488')
    assert.match(field(refused.text, 'warning'), /^301 /)
    await third.hears()
  })

  test(`${who}: a host's name in a description is looked up, at the beginning and in a re-INVITE; one that leads nowhere is refused (488, Warning 399) (RFC 8866 §5.7)`, async () => {
    const [first, second] = [await Ear.open(), await Ear.open()]
    const named = (ear: Ear, name = 'localhost'): string =>
      audioAt(ear.port).replace(`c=IN IP4 ${HOST}`, `c=IN IP4 ${name}`)
    const talk = await begin(product, calls, [], {}, named(first))
    await first.hears()
    const change = async (cseq: number, body: string): Promise<Raw> => {
      talk.send(talk.theirs('INVITE', cseq, [talk.contact, OFFER], version(body, cseq)))
      const answer = await talk.peer.next(/[2-6]\d\d/)
      talk.send(talk.theirs('ACK', cseq))
      return answer
    }
    assert.is((await change(20, named(second))).what, '200')
    assert.ok(await first.isDeafWhile(second))
    const refused = await change(21, named(first, 'nobody.invalid'))
    assert.is(refused.what, '488')
    assert.match(field(refused.text, 'warning'), /^399 .*not known/)
    await second.hears()
  })

  test(`${who}: a re-INVITE without an offer gets one, and audio follows the answer in its ACK (RFC 3264 §4)`, async () => {
    const [first, second] = [await Ear.open(), await Ear.open()]
    const talk = await begin(product, calls, [], {}, audioAt(first.port))
    await first.hears()
    talk.send(talk.theirs('INVITE', 20, [talk.contact]))
    assert.match(bodyOf((await talk.peer.next('200')).text), /^m=audio \d+ RTP\/AVP 0 8 101\r$/m)
    talk.send(talk.theirs('ACK', 20, [OFFER], version(audioAt(second.port), 2)))
    assert.ok(await first.isDeafWhile(second))
  })

  test(`${who}: of video that is offered in the call nothing is taken, and audio goes on; without audio it is refused (RFC 3264 §6)`, async () => {
    const ear = await Ear.open()
    const talk = await begin(product, calls, [], {}, audioAt(ear.port))
    const video = 'm=video 7000 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n'
    for (const [cseq, body, lines] of [
      [20, audioAt(ear.port) + video, [/^m=audio [1-9]/, /^m=video 0 /]],
      [21, audioAt(ear.port).replace('m=audio', `${video}m=audio`), [/^m=video 0 /, /^m=audio [1-9]/]],
      [22, audioAt(0) + video, []],
    ] as const) {
      talk.send(talk.theirs('INVITE', cseq, [talk.contact, OFFER], version(body, cseq)))
      const answer = await talk.peer.next(/[2-6]\d\d/)
      talk.send(talk.theirs('ACK', cseq))
      assert.is(answer.what, lines.length === 0 ? '488' : '200')
      assert.is(linesOf(answer).length, lines.length)
      for (const [i, line] of lines.entries()) assert.match(linesOf(answer)[i]!, line)
      await ear.hears()
    }
  })
}

test('UPDATEs before the answer move early media, and stop it, once its 183 is acknowledged (RFC 3311 §5.1); before, they are refused for a while', async () => {
  const [first, second] = [await Ear.open(), await Ear.open()]
  const trunk = await rawTrunk(calls)
  const { peer, prefix, contact } = trunk
  await calls.route(`${prefix}13`, await calls.emptyQueue(), { answer: 'early_media' })
  const invite = inviteOf(calls, trunk, ['Require: 100rel'], audioAt(first.port))
  peer.send(invite.replace('sip:1002@', `sip:${prefix}13@`), product.sip.port)
  const early = await peer.next('183')
  await first.hears()
  const update = async (cseq: number, body: string): Promise<Raw> => {
    early.reply(inside(early, 'UPDATE', cseq, [contact, OFFER], version(body, cseq)))
    return peer.next(/[2-6]\d\d/)
  }
  const soon = await update(2, audioAt(second.port))
  assert.is(soon.what, '500')
  assert.match(field(soon.text, 'retry-after'), /^\d+$/)
  early.reply(inside(early, 'PRACK', 3, [`RAck: ${field(early.text, 'rseq')} 1 INVITE`]))
  await peer.next('200')
  assert.is((await update(4, audioAt(second.port))).what, '200')
  assert.ok(await first.isDeafWhile(second))
  assert.match(bodyOf((await update(5, audioAt(second.port, '0', ['a=sendonly']))).text), 'a=recvonly')
  early.reply(inside(early, 'BYE', 6))
  await peer.next('487')
})

test('of two far ends that ring reliably each has its own PRACK; audio goes to the one that answers, and the other is hung up (RFC 3262, RFC 3261 §13.2.2.4)', async () => {
  const [first, second] = [await Ear.open(), await Ear.open()]
  const { peer, prefix, contact } = await rawTrunk(calls)
  const { id } = await product.ok('POST', '/calls', { to: `${prefix}10` })
  const invite = await peer.next('INVITE')
  for (const [tag, ear] of [
    ['one', first],
    ['two', second],
  ] as const) {
    const reliable = [contact, 'Require: 100rel', 'RSeq: 5', OFFER]
    invite.answer('183 Session Progress', reliable, audioAt(ear.port), tag)
    const prack = await peer.next('PRACK')
    assert.equal([field(prack.text, 'rack'), field(prack.text, 'to').split('tag=')[1]], ['5 1 INVITE', tag])
    prack.answer('200 OK')
  }
  const ok = invite.answer('200 OK', [contact], '', 'two')
  await peer.next('ACK')
  assert.ok(await first.isDeafWhile(second))
  invite.answer('200 OK', [contact], '', 'one')
  await peer.next('ACK')
  const bye = await peer.next('BYE')
  assert.match(field(bye.text, 'to'), /tag=one$/)
  bye.answer('200 OK')
  invite.reply(insideCalled(invite, ok, 'BYE', 9))
  assert.is((await calls.endOf(id)).ended_reason, 'caller_hangup')
})

test('where the 200 describes another place than the 183, audio goes to that of the 200', async () => {
  const [early, late] = [await Ear.open(), await Ear.open()]
  const { peer, prefix, contact } = await rawTrunk(calls)
  await product.ok('POST', '/calls', { to: `${prefix}10` })
  const invite = await peer.takes('INVITE', '183 Session Progress', [contact, OFFER], audioAt(early.port))
  const ok = invite.answer('200 OK', [contact, OFFER], version(audioAt(late.port), 2))
  await peer.next('ACK')
  assert.ok(await early.isDeafWhile(late))
  invite.reply(insideCalled(invite, ok, 'BYE', 9))
  await peer.next('200')
})

test('an offer that names a host that leads nowhere is refused with 488 and Warning 399; a call whose answer names one ends', async () => {
  const named = audioAt(6100).replace(`c=IN IP4 ${HOST}`, 'c=IN IP4 media.carrier.test')
  const peer = await calls.peer()
  peer.send(calls.inviteFrom(peer, 'UDP', named), product.sip.port)
  assert.match(field((await peer.next('488')).text, 'warning'), /^399 .*not known/)
  const carrier = await rawTrunk(calls)
  const { id } = await product.ok('POST', '/calls', { to: `${carrier.prefix}10` })
  await carrier.peer.takes('INVITE', '200 OK', [carrier.contact, OFFER], named)
  await carrier.peer.takes('BYE')
  assert.is((await calls.endOf(id)).ended_reason, 'codec_mismatch')
})

test('hold of both sides by `inactive` ends once both have ended it, whoever does first (RFC 3264 §8.4)', async () => {
  const ear = await Ear.open()
  const talk = await BEGINS['who has called us'](product, calls, [], {}, audioAt(ear.port))
  const { peer, id, contact } = talk
  const inDirection = (direction: string, n: number): string => version(audioAt(ear.port, '0', [`a=${direction}`]), n)
  const theirs = async (cseq: number, direction: string): Promise<string> => {
    talk.send(talk.theirs('INVITE', cseq, [contact, OFFER], inDirection(direction, cseq)))
    const answer = await peer.next('200')
    talk.send(talk.theirs('ACK', cseq))
    return /^a=(\w+)\r$/m.exec(bodyOf(answer.text))![1]!
  }
  const ours = async (action: string, answer: string, n: number): Promise<string> => {
    await product.ok('POST', `/calls/${id}/${action}`)
    const change = await peer.takes('INVITE', '200 OK', [contact, OFFER], inDirection(answer, n))
    await peer.next('ACK')
    return /^a=(\w+)\r$/m.exec(bodyOf(change.text))![1]!
  }
  const statusIs = async (status: string) => assert.is((await product.ok('GET', `/calls/${id}`)).status, status)
  assert.is(await theirs(20, 'inactive'), 'inactive')
  assert.is(await ours('hold', 'inactive', 21), 'sendonly')
  assert.is(await theirs(22, 'sendrecv'), 'sendonly')
  await statusIs('held')
  assert.is(await ours('unhold', 'sendrecv', 23), 'sendrecv')
  await statusIs('in_progress')
  await ear.hears()
  const changes = async () => {
    const told = (await product.all(`/calls/${id}/events`)).map(({ type }) => type)
    return told.filter(type => type === 'call.held' || type === 'call.resumed')
  }
  const before = (await changes()).length
  assert.is(await ours('hold', 'inactive', 24), 'sendonly')
  assert.is(await ours('unhold', 'sendrecv', 25), 'sendrecv')
  assert.is((await changes()).length, before + 2, 'an answer of `inactive` to our hold is no hold of its own')
})

test.run()
