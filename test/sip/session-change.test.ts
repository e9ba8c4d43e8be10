import * as assert from 'uvu/assert'
import type { UserAgentOptions } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, Party, Pipe, textOf, withoutUpdate } from './pipe.ts'

const test = suite('sip/session-change')

interface Call {
  pipe: Pipe
  alice: Party
  bob: Party
  /** Session IDs. */
  a: string
  b: string
}

/** Makes a party answer every offer with `<its own host>`. */
function accepting(party: Party): void {
  party.onEvent = ({ kind, sessionId }) => {
    if (kind === 'incoming') party.do(party.agent.accept(sessionId, body('answer'), party.pipe.now))
    if (kind === 'reinvite') party.do(party.agent.acceptReinvite(sessionId, body('again'), party.pipe.now))
  }
}

/** An answered call, 100 ms after its INVITE. */
function call(options: {
  alter?: Pipe['alter']
  alice?: Partial<UserAgentOptions>
  bob?: Partial<UserAgentOptions>
}): Call {
  const pipe = new Pipe()
  pipe.alter = options.alter ?? (text => text)
  const alice = new Party(pipe, '192.0.2.1', options.alice)
  const bob = new Party(pipe, '192.0.2.2', options.bob)
  accepting(alice)
  accepting(bob)
  const request = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }
  const { sessionId, actions } = alice.agent.invite(request, 0)
  alice.do(actions)
  pipe.run(100)
  return { pipe, alice, bob, a: sessionId, b: bob.event('incoming').sessionId }
}

/** A request that a party would have sent next, as text, with this method, body and CSeq. */
function crafted({ alice, bob, pipe }: Call, method: string, cseq: number, offer: string | null): void {
  const like = alice.sentLike('ACK')[0]!.text.split('\r\n\r\n')[0]!
  const head = like
    .replace(/^ACK/, method)
    .replace(/CSeq: .*/, `CSeq: ${cseq} ${method}`)
    .replace(/branch=\w+/, `branch=z9hG4bK${method}${cseq}`)
    .replace(/Content-Length: .*/, `Content-Length: ${offer?.length ?? 0}`)
  const extra = `Contact: <sip:alice@192.0.2.1:5060>${offer === null ? '' : '\r\nContent-Type: application/sdp'}`
  const bytes = Buffer.from(`${head}\r\n${extra}\r\n\r\n${offer ?? ''}`, 'latin1')
  bob.do(bob.agent.receive(bytes, alice.peer, pipe.now))
}

test('where the far end allows UPDATE a change goes by UPDATE and is answered at once, without ACK', () => {
  const { pipe, alice, bob, a, b } = call({})
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  pipe.run(200)
  assert.match(alice.sentLike('UPDATE')[0]!.text, /\r\n\r\nhold$/)
  assert.is(textOf(bob.event('reinvite').offer), 'hold')
  assert.is(textOf(alice.event('reinviteAnswered').body), 'again')
  assert.equal([alice.sentLike('INVITE').length, alice.sentLike('ACK').length], [1, 1])
  bob.do(bob.agent.reinvite(b, body('back'), 200))
  pipe.run(300)
  assert.is(bob.sentLike('UPDATE').length, 1, 'the answering side has read Allow in the INVITE')
  bob.event('reinviteAnswered')
})

test('a change for which the far end is to offer goes by re-INVITE all the same', () => {
  const { pipe, alice, bob, a } = call({})
  alice.do(alice.agent.reinvite(a, null, 100))
  pipe.run(200)
  assert.equal([alice.sentLike('UPDATE').length, alice.sentLike('INVITE').length], [0, 2])
  assert.is(bob.event('reinvite').offer, null)
})

for (const status of [405, 501, 504]) {
  test(`an UPDATE that is answered ${status} is followed by a re-INVITE with the same offer`, () => {
    const alter = (text: string, from: Party): string =>
      from.peer.host === '192.0.2.2' && /CSeq: \d+ UPDATE/.test(text)
        ? text.replace(/^SIP\/2.0 \d+/, `SIP/2.0 ${status}`)
        : text
    const { pipe, alice, a } = call({ alter })
    alice.do(alice.agent.reinvite(a, body('hold'), 100))
    pipe.run(200)
    const [, again] = alice.sentLike('INVITE')
    assert.match(again!.text, /\r\n\r\nhold$/)
    assert.is(textOf(alice.event('reinviteAnswered').body), 'again')
    alice.do(alice.agent.reinvite(a, body('back'), 200))
    pipe.run(300)
    assert.is(alice.sentLike('UPDATE').length, status === 504 ? 2 : 1, '504 is of that one change alone')
  })
}

test('UPDATEs with offers that cross are answered 491; the owner of the Call-ID waits 2.1 to 4 s, the other 2 s at most', () => {
  const { pipe, alice, bob, a, b } = call({})
  alice.do(alice.agent.reinvite(a, body('from alice'), 100))
  bob.do(bob.agent.reinvite(b, body('from bob'), 100))
  pipe.run(10_000)
  for (const [party, least, most] of [
    [alice, 2100, 4010],
    [bob, 0, 2010],
  ] as const) {
    assert.is(party.sentLike('SIP/2.0 491').length, 1)
    const [first, again] = party.sentLike('UPDATE')
    assert.ok(again!.at - first!.at >= least && again!.at - first!.at <= most, `${again!.at - first!.at}`)
    party.event('reinviteAnswered')
  }
})

test('an UPDATE and a re-INVITE that cross are glare as well', () => {
  const { pipe, alice, bob, a, b } = call({})
  alice.do(alice.agent.reinvite(a, body('from alice'), 100))
  bob.do(bob.agent.reinvite(b, null, 100))
  pipe.run(150)
  assert.equal([alice.sentLike('SIP/2.0 491').length, bob.sentLike('SIP/2.0 491').length], [1, 1])
  assert.not(alice.kinds().includes('ended'))
})

test('an offer while theirs of before waits for its answer is refused with 500 and Retry-After', () => {
  for (const second of ['INVITE', 'UPDATE']) {
    const one = call({})
    one.bob.onEvent = () => {}
    crafted(one, 'UPDATE', 2, 'one')
    crafted(one, second, 3, 'two')
    const { text } = one.bob.sent.at(-1)!
    assert.match(text, /^SIP\/2\.0 500 /)
    const after = Number(/Retry-After: (\d+)/.exec(text)![1])
    assert.ok(after >= 0 && after <= 10)
  }
})

test('a second INVITE, and an UPDATE with an offer, before our answer to the first are refused with 500 and Retry-After', () => {
  for (const method of ['INVITE', 'UPDATE']) {
    const pipe = new Pipe()
    const alice = new Party(pipe, '192.0.2.1')
    const bob = new Party(pipe, '192.0.2.2')
    const request = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }
    alice.do(alice.agent.invite(request, 0).actions)
    pipe.run(10)
    const { sessionId } = bob.event('incoming')
    bob.do(bob.agent.provisional(sessionId, 180, null, 10))
    pipe.run(20)
    const to = /^To: .*$/m.exec(bob.sentLike('SIP/2.0 180')[0]!.text)![0]
    const again = alice
      .sentLike('INVITE')[0]!
      .text.replace(/^INVITE/, method)
      .replace(/^To: .*$/m, to)
      .replace(/CSeq: .*/, `CSeq: 2 ${method}`)
      .replace(/branch=\w+/, 'branch=z9hG4bKagain')
    bob.do(bob.agent.receive(Buffer.from(again, 'latin1'), alice.peer, 20))
    assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 500 [\s\S]*Retry-After: \d+/)
    bob.do(bob.agent.accept(sessionId, body('answer'), 30))
    pipe.run(100)
    assert.is(textOf(alice.event('answered').body), 'answer', 'the first is answered as if nothing had been')
  }
})

test('an UPDATE without an offer moves the far end at any time: while it rings, and while a change is open', () => {
  const one = call({})
  one.bob.onEvent = () => {}
  crafted(one, 'INVITE', 2, 'one')
  crafted(one, 'UPDATE', 3, null)
  assert.match(one.bob.sent.at(-1)!.text, /^SIP\/2\.0 200 [\s\S]*CSeq: 3 UPDATE/)
  one.bob.do(one.bob.agent.acceptReinvite(one.b, body('answer'), 110))
  assert.match(one.bob.sent.at(-1)!.text, /^SIP\/2\.0 200 [\s\S]*CSeq: 2 INVITE/)
})

test('a 500 with Retry-After to our change is tried again then, with the same offer', () => {
  let refusals = 1
  const alter = (text: string, from: Party): string => {
    if (from.peer.host !== '192.0.2.2' || !/^SIP\/2\.0 200[\s\S]*CSeq: \d+ UPDATE/.test(text) || refusals-- <= 0)
      return text
    return text
      .replace(/^SIP\/2\.0 200 OK/, 'SIP/2.0 500 Busy')
      .replace('\r\n\r\nagain', '\r\n\r\n')
      .replace('Content-Length: 5', 'Retry-After: 3\r\nContent-Length: 0')
  }
  const { pipe, alice, a } = call({ alter })
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  pipe.run(10_000)
  const [first, again] = alice.sentLike('UPDATE')
  assert.ok(again!.at - first!.at >= 3000 && again!.at - first!.at < 3100)
  assert.is(textOf(alice.event('reinviteAnswered').body), 'again')
})

test('a change that waits after glare can be taken back: theirs came first', () => {
  const { pipe, alice, bob, a, b } = call({})
  alice.do(alice.agent.reinvite(a, body('from alice'), 100))
  bob.do(bob.agent.reinvite(b, body('from bob'), 100))
  pipe.run(105)
  alice.do(alice.agent.withdrawReinvite(a))
  pipe.run(10_000)
  assert.is(alice.sentLike('UPDATE').length, 1)
  assert.is(textOf(bob.event('reinviteAnswered').body), 'again')
  alice.do(alice.agent.reinvite(a, body('anew'), 10_000))
  pipe.run(10_100)
  assert.match(alice.sentLike('UPDATE').at(-1)!.text, /anew$/)
})

test('after a change was refused the session is refreshed with the description that was agreed on', () => {
  const { pipe, alice, bob, a } = call({ alter: withoutUpdate, alice: { sessionExpiresS: 100 } })
  bob.onEvent = ({ kind, sessionId }) => {
    if (kind === 'reinvite') bob.do(bob.agent.rejectReinvite(sessionId, 488, pipe.now))
  }
  alice.do(alice.agent.reinvite(a, body('refused'), 100))
  pipe.run(200)
  assert.is(alice.event('reinviteRejected').status, 488)
  pipe.run(51_000)
  assert.match(alice.sentLike('INVITE').at(-1)!.text, /\r\n\r\noffer$/)
})

test('RFC 3261 §14.1: while a change of either side is open no other one is sent, also if the open one was to be taken back', () => {
  const { pipe, alice, bob, a, b } = call({ alter: withoutUpdate })
  bob.onEvent = () => {}
  alice.do(alice.agent.reinvite(a, body('first'), 100))
  alice.do(alice.agent.withdrawReinvite(a))
  assert.equal(alice.agent.reinvite(a, body('second'), 100), [])
  pipe.run(200)
  assert.equal(bob.agent.reinvite(b, body('third'), 200), [])
  bob.do(bob.agent.acceptReinvite(b, body('late'), 200))
  assert.equal(bob.agent.reinvite(b, body('third'), 200), [], 'nor before the ACK')
  pipe.run(300)
  assert.is(textOf(alice.event('reinviteAnswered').body), 'late')
  bob.do(bob.agent.reinvite(b, body('third'), 300))
  pipe.run(400)
  assert.is(textOf(bob.event('reinviteAnswered').body), 'again')
})

test('RFC 4028 §7.4: a change that is answered 422 is sent again with the longer interval, and counts as one', () => {
  let refusals = 1
  const tooSmall = (text: string): string =>
    text.startsWith('SIP/2.0 200') && /CSeq: 2 /.test(text) && refusals-- > 0
      ? text.replace('200 OK', '422 Session Interval Too Small').replace(/\r\nContact/, '\r\nMin-SE: 500\r\nContact')
      : text
  const { pipe, alice, a } = call({ alter: text => withoutUpdate(tooSmall(text)), alice: { sessionExpiresS: 100 } })
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  pipe.run(1000)
  assert.match(alice.sentLike('INVITE').at(-1)!.text, /\r\nSession-Expires: 500;[\s\S]*\r\n\r\nhold$/)
  assert.is(textOf(alice.event('reinviteAnswered').body), 'again')
  assert.not(alice.events.some(({ kind }) => kind === 'reinviteRejected'))
})

test('after a change of theirs was refused both sides may ask for another one (RFC 3261 §14.2)', () => {
  const scene = call({ alter: withoutUpdate })
  const { pipe, alice, bob, a, b } = scene
  bob.onEvent = ({ kind, sessionId }) => {
    if (kind === 'reinvite') bob.do(bob.agent.rejectReinvite(sessionId, 488, pipe.now))
  }
  alice.do(alice.agent.reinvite(a, body('refused'), 100))
  pipe.run(200)
  bob.do(bob.agent.reinvite(b, body('from bob'), 200))
  pipe.run(300)
  assert.is(textOf(bob.event('reinviteAnswered').body), 'again')
  accepting(bob)
  alice.do(alice.agent.reinvite(a, body('another'), 300))
  pipe.run(400)
  assert.is(textOf(alice.event('reinviteAnswered').body), 'again')
})

test('RFC 4028 §9: a re-INVITE whose interval is below our minimum is answered 422 with Min-SE, and changes nothing', () => {
  const scene = call({ bob: { minSessionExpiresS: 120 } })
  const { alice, bob, pipe } = scene
  const like = alice.sentLike('ACK')[0]!.text.split('\r\n\r\n')[0]!
  const head = like
    .replace(/^ACK/, 'INVITE')
    .replace(/CSeq: .*/, 'CSeq: 9 INVITE')
    .replace(/branch=\w+/, 'branch=z9hG4bKshort')
  const extra = 'Contact: <sip:alice@192.0.2.1:5060>\r\nSession-Expires: 100\r\nSupported: timer'
  bob.do(bob.agent.receive(Buffer.from(`${head}\r\n${extra}\r\n\r\n`, 'latin1'), alice.peer, pipe.now))
  assert.match(bob.sentLike('SIP/2.0 422')[0]!.text, /\r\nMin-SE: 120\r\n/)
  assert.not(bob.events.some(({ kind }) => kind === 'reinvite'))
})

test('a change that is answered 100 and nothing more for three minutes counts as not answered (RFC 3261 §12.2.1.2): the call ends', () => {
  const { pipe, alice, bob, a } = call({ alter: withoutUpdate })
  bob.onEvent = () => {}
  alice.do(alice.agent.reinvite(a, body('never answered'), 100))
  pipe.run(179_000)
  pipe.lose = () => true
  assert.not(alice.events.some(({ kind }) => kind === 'ended'))
  pipe.run(182_000)
  assert.is(alice.event('ended').sessionId, a)
  pipe.run(400_000)
  assert.is(alice.agent.transactionCount, 0)
})

test('BYE that crosses a re-INVITE ends the call on both sides', () => {
  const { pipe, alice, bob, a, b } = call({ alter: withoutUpdate })
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  bob.do(bob.agent.bye(b, 100))
  pipe.run(100_000)
  assert.equal([alice.event('ended').by, bob.event('ended').by], ['remote', 'local'])
  assert.equal([alice.agent.sessionCount, bob.agent.sessionCount], [0, 0])
  assert.equal([alice.agent.transactionCount, bob.agent.transactionCount], [0, 0])
})

test('a CANCEL that crosses our 200 is answered 200 and the call stands', () => {
  const { pipe, alice, bob, b } = call({})
  const cancel = alice
    .sentLike('INVITE')[0]!
    .text.replace(/^INVITE/, 'CANCEL')
    .replace(/CSeq: 1 INVITE/, 'CSeq: 1 CANCEL')
    .replace(/Content-Length: .*[\s\S]*$/, 'Content-Length: 0\r\n\r\n')
  bob.do(bob.agent.receive(Buffer.from(cancel, 'latin1'), alice.peer, 100))
  assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 200 [\s\S]*CSeq: 1 CANCEL/)
  bob.do(bob.agent.bye(b, 200))
  pipe.run(300)
  assert.is(alice.event('ended').cause, 'bye')
})

test.run()
