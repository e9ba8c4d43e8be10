import * as assert from 'uvu/assert'
import type { InviteRequest } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, message, Party, Pipe, type Sent, textOf } from './pipe.ts'

const test = suite('sip/reliable-provisional')
const FAR = { transport: 'udp', host: '192.0.2.1', port: 5060 } as const
const OFFER = body('offer')

const field = (text: string, name: string): string | null =>
  new RegExp(`^${name}: ?(.*?)\r?$`, 'm').exec(text)?.[1] ?? null
const bodyIn = ({ text }: Pick<Sent, 'text'>): string => text.slice(text.indexOf('\r\n\r\n') + 4)

/** Alice calls Bob, who answers only when the test says so. */
function call(request: Partial<InviteRequest> = {}, delayMs = 1) {
  const pipe = new Pipe()
  pipe.delayMs = delayMs
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2')
  const to = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1' }
  const { sessionId, actions } = alice.agent.invite({ ...to, body: OFFER, ...request }, 0)
  alice.do(actions)
  pipe.run(10 * delayMs)
  return { pipe, alice, bob, a: sessionId, b: bob.event('incoming').sessionId }
}

/** An INVITE of a caller whose messages the test writes. */
function caller(extra: string[], content = 'offer') {
  const pipe = new Pipe()
  const bob = new Party(pipe, '192.0.2.2')
  const request = (method: string, cseq: string, to: string, more: string[] = [], sdp = ''): void => {
    const head = message(
      `${method} sip:bob@192.0.2.2 SIP/2.0`,
      `Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK${method}${cseq}`,
      'Max-Forwards: 70',
      'From: <sip:alice@192.0.2.1>;tag=a',
      `To: <sip:bob@192.0.2.2>${to}`,
      'Call-ID: by-hand',
      `CSeq: ${cseq} ${method}`,
      'Contact: <sip:alice@192.0.2.1>',
      ...more,
      ...(sdp === '' ? [] : ['Content-Type: application/sdp']),
      `Content-Length: ${sdp.length}`,
    )
    bob.do(bob.agent.receive(Buffer.concat([head, Buffer.from(sdp)]), FAR, pipe.now))
  }
  request('INVITE', '1', '', extra, content)
  const b = bob.event('incoming').sessionId
  const prack = (rack: string | null, cseq: number, sdp = ''): string => {
    const tag = /;tag=\w+/.exec(field(bob.sentLike('SIP/2.0 18').at(-1)!.text, 'To')!)![0]
    request('PRACK', String(cseq), tag, rack === null ? [] : [`RAck: ${rack}`], sdp)
    return bob.sent.at(-1)!.text.split('\r\n')[0]!
  }
  return { pipe, bob, b, prack, request }
}

const ring = ({ bob, b, pipe }: { bob: Party; b: string; pipe: Pipe }, status = 180, sdp: string | null = null) =>
  bob.do(bob.agent.provisional(b, status, sdp === null ? null : body(sdp), pipe.now))

test('a caller that requires 100rel gets each provisional response with Require and RSeq, one that does not gets none', () => {
  const required = caller(['Require: 100rel'])
  ring(required)
  const { text } = required.bob.sentLike('SIP/2.0 180')[0]!
  assert.is(field(text, 'Require'), '100rel')
  assert.ok(Number(field(text, 'RSeq')) >= 1 && Number(field(text, 'RSeq')) < 2 ** 31)
  for (const extra of [[], ['Supported: 100rel']]) {
    const plain = caller(extra)
    ring(plain)
    assert.is(field(plain.bob.sentLike('SIP/2.0 180')[0]!.text, 'RSeq'), null, String(extra))
  }
  const asked = caller(['Supported: 100rel, timer'])
  asked.bob.do(asked.bob.agent.provisional(asked.b, 180, null, 0, 'when_supported'))
  assert.ok(field(asked.bob.sentLike('SIP/2.0 180')[0]!.text, 'RSeq') !== null)
})

test('without a PRACK it is sent again at T1, doubling, and after 64*T1 the call is refused with 504', () => {
  const world = caller(['Require: 100rel'])
  ring(world)
  world.pipe.run(40_000)
  const times = world.bob.sentLike('SIP/2.0 180').map(({ at }) => at)
  assert.equal(times, [0, 500, 1500, 3500, 7500, 15_500, 31_500])
  const [refused] = world.bob.sentLike('SIP/2.0 504')
  assert.is(refused!.at, 32_000)
  assert.match(refused!.text, /^Reason: Q\.850;cause=102;/m)
  const { cause, by } = world.bob.event('ended')
  assert.equal([cause, by], ['prack_timeout', 'local'])
  assert.is(world.bob.agent.sessionCount, 0)
})

test('a PRACK that names it ends the retransmissions; a wrong RAck is 481, an unreadable one 400', () => {
  const world = caller(['Require: 100rel'])
  ring(world)
  const rseq = Number(field(world.bob.sentLike('SIP/2.0 180')[0]!.text, 'RSeq'))
  assert.match(world.prack(`${rseq + 1} 1 INVITE`, 2), / 481 /)
  assert.match(world.prack(`${rseq} 9 INVITE`, 3), / 481 /)
  assert.match(world.prack(`${rseq} 1 UPDATE`, 4), / 481 /)
  assert.match(world.prack('seven', 5), / 400 /)
  assert.match(world.prack(null, 6), / 400 /)
  assert.match(world.prack(`${rseq} 1 INVITE`, 7), / 200 /)
  assert.match(world.prack(`${rseq} 1 INVITE`, 8), / 481 /, 'nothing waits for it any more')
  world.pipe.run(40_000)
  assert.is(world.bob.sentLike('SIP/2.0 180').length, 1)
  assert.equal(world.bob.kinds(), ['incoming'])
})

test('a second one waits until the first is acknowledged, and its number is one higher', () => {
  const world = caller(['Require: 100rel'])
  ring(world)
  ring(world, 183, 'early')
  ring(world, 180)
  assert.is(world.bob.sentLike('SIP/2.0 183').length, 0)
  const rseq = Number(field(world.bob.sentLike('SIP/2.0 180')[0]!.text, 'RSeq'))
  world.prack(`${rseq} 1 INVITE`, 2)
  const next = world.bob.sentLike('SIP/2.0 180')[1]!
  assert.is(Number(field(next.text, 'RSeq')), rseq + 1)
  assert.is(bodyIn(next), 'early', 'of several that waited the last goes out, and no description is lost')
})

test('a 200 waits until a description that was sent reliably is acknowledged, but not for a plain 180', () => {
  const world = caller(['Require: 100rel'])
  ring(world, 183, 'early')
  world.bob.do(world.bob.agent.accept(world.b, body('early'), 0))
  assert.is(world.bob.sentLike('SIP/2.0 200').length, 0)
  const rseq = field(world.bob.sentLike('SIP/2.0 183')[0]!.text, 'RSeq')
  world.prack(`${rseq} 1 INVITE`, 2)
  const kinds = world.bob.sentLike('SIP/2.0 200').map(({ text }) => field(text, 'CSeq'))
  assert.equal(kinds, ['2 PRACK', '1 INVITE'])
  const plain = caller(['Require: 100rel'])
  ring(plain)
  plain.bob.do(plain.bob.agent.accept(plain.b, body('answer'), 0))
  assert.is(plain.bob.sentLike('SIP/2.0 200').length, 1)
  const late = field(plain.bob.sentLike('SIP/2.0 180')[0]!.text, 'RSeq')
  assert.match(plain.prack(`${late} 1 INVITE`, 2), / 200 /, 'a PRACK on its way is answered all the same')
  plain.pipe.run(40_000)
  assert.is(plain.bob.sentLike('SIP/2.0 180').length, 1)
})

test('our offer goes in a reliable response, its answer comes in the PRACK, and the 200 has none', () => {
  const world = caller(['Supported: 100rel'], '')
  ring(world, 183, 'our offer')
  const early = world.bob.sentLike('SIP/2.0 183')[0]!
  assert.is(bodyIn(early), 'our offer')
  world.prack(`${field(early.text, 'RSeq')} 1 INVITE`, 2, 'their answer')
  const told = world.bob.event('prack')
  assert.equal([told.isOffer, textOf(told.body)], [false, 'their answer'])
  world.bob.do(world.bob.agent.accept(world.b, null, 0))
  assert.is(bodyIn(world.bob.sentLike('SIP/2.0 200')[1]!), '')
})

test('to a caller that knows no reliable responses no offer goes in one', () => {
  const world = caller([], '')
  ring(world, 183, 'our offer')
  assert.is(bodyIn(world.bob.sentLike('SIP/2.0 183')[0]!), '')
})

test('an offer in a PRACK is answered in its 200, and the 200 of the call waits for that', () => {
  const world = caller(['Require: 100rel'])
  ring(world, 183, 'answer')
  const rseq = field(world.bob.sentLike('SIP/2.0 183')[0]!.text, 'RSeq')
  world.prack(`${rseq} 1 INVITE`, 2, 'another offer')
  const told = world.bob.event('prack')
  assert.equal([told.isOffer, textOf(told.body)], [true, 'another offer'])
  world.bob.do(world.bob.agent.accept(world.b, body('answer'), 0))
  assert.is(world.bob.sentLike('SIP/2.0 200').length, 0)
  world.bob.do(world.bob.agent.answerPrack(world.b, body('another answer'), 0))
  const sent = world.bob.sentLike('SIP/2.0 200')
  assert.equal(
    sent.map(one => [field(one.text, 'CSeq'), bodyIn(one)]),
    [
      ['2 PRACK', 'another answer'],
      ['1 INVITE', 'answer'],
    ],
  )
})

test('what is acknowledged is told again each minute by another one, with the next number and no description', () => {
  const world = caller(['Require: 100rel'])
  ring(world, 183, 'early')
  const first = world.bob.sentLike('SIP/2.0 183')[0]!
  world.prack(`${field(first.text, 'RSeq')} 1 INVITE`, 2)
  world.pipe.run(60_000)
  const second = world.bob.sentLike('SIP/2.0 183')[1]!
  assert.is(second.at, 60_000)
  assert.is(Number(field(second.text, 'RSeq')), Number(field(first.text, 'RSeq')) + 1)
  assert.is(bodyIn(second), '')
})

test('a CANCEL while a PRACK is awaited is answered, the INVITE gets 487, and nothing is sent again', () => {
  const world = caller(['Require: 100rel'])
  ring(world)
  const before = world.bob.sentLike('SIP/2.0 180').length
  const cancel = message(
    'CANCEL sip:bob@192.0.2.2 SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKINVITE1',
    'From: <sip:alice@192.0.2.1>;tag=a',
    'To: <sip:bob@192.0.2.2>',
    'Call-ID: by-hand',
    'CSeq: 1 CANCEL',
    'Content-Length: 0',
  )
  world.bob.do(world.bob.agent.receive(cancel, FAR, 10))
  world.pipe.run(40_000)
  assert.is(world.bob.sentLike('SIP/2.0 180').length, before)
  assert.ok(world.bob.sentLike('SIP/2.0 487').length > 0)
  assert.is(world.bob.event('ended').cause, 'cancel')
})

// ---------------------------------------------------------------------------------------------------- our own calls

/** Answers Alice's INVITE with a response that the test writes. */
function answer(alice: Party, status: number, tag: string, extra: string[] = [], content = ''): void {
  const last = alice.sentLike('INVITE').at(-1)!.text
  const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(name => `${name}: ${field(last, name)}`)
  const head = message(
    `SIP/2.0 ${status} X`,
    ...copied,
    `To: <sip:bob@192.0.2.2>;tag=${tag}`,
    `Contact: <sip:${tag}@192.0.2.9>`,
    ...extra,
    ...(content === '' ? [] : ['Content-Type: application/sdp']),
    `l: ${content.length}`,
  )
  alice.do(alice.agent.receive(Buffer.concat([head, Buffer.from(content)]), FAR, alice.pipe.now))
}

function dial(request: Partial<InviteRequest> = {}): { alice: Party; sessionId: string } {
  const alice = new Party(new Pipe(), '192.0.2.1')
  const to = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: OFFER }
  const { sessionId, actions } = alice.agent.invite({ ...to, ...request }, 0)
  alice.do(actions)
  return { alice, sessionId }
}

const reliable = (rseq: number): string[] => ['Require: 100rel', `RSeq: ${rseq}`]

test('each reliable response of a far end is acknowledged in its early dialog, once, and in order', () => {
  const { alice } = dial()
  answer(alice, 180, 'b', reliable(776_656))
  answer(alice, 180, 'b', reliable(776_656))
  answer(alice, 183, 'b', reliable(776_658), 'too early')
  answer(alice, 183, 'b', reliable(776_657), 'early')
  const pracks = alice
    .sentLike('PRACK')
    .map(({ text }) => [text.split(' ')[1], field(text, 'RAck'), field(text, 'CSeq')])
  assert.equal(pracks, [
    ['sip:b@192.0.2.9', '776656 1 INVITE', '2 PRACK'],
    ['sip:b@192.0.2.9', '776657 1 INVITE', '3 PRACK'],
  ])
  const told = alice.events.flatMap(event => (event.kind === 'provisional' ? [[event.status, textOf(event.body)]] : []))
  assert.equal(told, [
    [180, null],
    [183, 'early'],
  ])
})

test('each fork has numbers of its own', () => {
  const { alice } = dial()
  answer(alice, 183, 'one', reliable(5), 'first')
  answer(alice, 183, 'two', reliable(900), 'second')
  answer(alice, 180, 'one', reliable(6))
  const racks = alice.sentLike('PRACK').map(({ text }) => field(text, 'RAck'))
  assert.equal(racks, ['5 1 INVITE', '900 1 INVITE', '6 1 INVITE'])
})

test('after the 200 the dialog goes on counting, and a description that was agreed on holds', () => {
  const { alice, sessionId } = dial()
  answer(alice, 183, 'b', reliable(1), 'agreed')
  answer(alice, 200, 'b', [], 'something else')
  assert.is(textOf(alice.event('answered').body), 'agreed')
  assert.is(field(alice.sentLike('ACK')[0]!.text, 'CSeq'), '1 ACK')
  alice.do(alice.agent.bye(sessionId, 0))
  assert.is(field(alice.sentLike('BYE')[0]!.text, 'CSeq'), '3 BYE')
})

test('an offer in a provisional response is answered in the PRACK, and the ACK has no description then', () => {
  const { alice, sessionId } = dial({ body: undefined as never })
  answer(alice, 183, 'b', reliable(1), 'their offer')
  assert.is(alice.sentLike('PRACK').length, 0)
  assert.is(alice.event('provisional').isOffer, true)
  alice.do(alice.agent.acknowledgeEarly(sessionId, body('our answer'), 0))
  assert.is(bodyIn(alice.sentLike('PRACK')[0]!), 'our answer')
  answer(alice, 200, 'b')
  assert.is(bodyIn(alice.sentLike('ACK')[0]!), '')
})

test('who was told that we do not acknowledge gets no PRACK', () => {
  const { alice } = dial({ withoutReliable: true })
  assert.not.match(alice.sentLike('INVITE')[0]!.text, '100rel')
  answer(alice, 183, 'b', reliable(1), 'early')
  assert.is(alice.sentLike('PRACK').length, 0)
  assert.is(alice.event('provisional').status, 183)
})

test('two of us agree on early audio and the call, with every message lost once', () => {
  const { pipe, alice, bob, b } = call()
  const lost = new Set<string>()
  pipe.lose = text => {
    const key = `${text.split('\r\n')[0]} ${field(text, 'CSeq')}`
    return !lost.has(key) && lost.add(key) !== undefined
  }
  bob.do(bob.agent.provisional(b, 183, body('answer'), pipe.now, 'when_supported'))
  bob.do(bob.agent.accept(b, body('answer'), pipe.now))
  pipe.run(pipe.now + 20_000)
  assert.is(textOf(alice.event('provisional').body), 'answer')
  assert.is(textOf(alice.event('answered').body), 'answer')
  bob.event('confirmed')
  assert.ok(lost.size >= 5, [...lost].join('; '))
  assert.is(alice.sentLike('PRACK').length, 3, 'itself, and the answer to it, were lost once')
})

test('a caller that acknowledges nothing of what is sent for the third time is told of once, and once it does: by PRACK or ACK', () => {
  const told = ({ bob }: { bob: Party }): boolean[] =>
    bob.events.flatMap(event => (event.kind === 'unacknowledged' ? [event.isOver] : []))
  const ringing = caller(['Require: 100rel'])
  ring(ringing, 183, 'answer')
  ringing.pipe.run(1400)
  assert.equal(told(ringing), [])
  ringing.pipe.run(1600)
  assert.equal(told(ringing), [false])
  ringing.pipe.run(5000)
  const rseq = field(ringing.bob.sentLike('SIP/2.0 183')[0]!.text, 'RSeq')
  ringing.prack(`${rseq} 1 INVITE`, 2)
  assert.equal(told(ringing), [false, true])
  ringing.bob.do(ringing.bob.agent.accept(ringing.b, null, ringing.pipe.now))
  ringing.pipe.run(10_000)
  assert.equal(told(ringing), [false, true], 'its PRACK has shown that it is there')

  const answered = caller([])
  answered.bob.do(answered.bob.agent.accept(answered.b, body('answer'), answered.pipe.now))
  answered.pipe.run(1600)
  assert.equal(told(answered), [false])
  const tag = /;tag=\w+/.exec(field(answered.bob.sentLike('SIP/2.0 200')[0]!.text, 'To')!)![0]
  answered.request('ACK', '1', tag)
  assert.equal(told(answered), [false, true])
})

test.run()
