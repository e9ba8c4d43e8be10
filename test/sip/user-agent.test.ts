import * as assert from 'uvu/assert'
import type { InviteRequest } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, Party, Pipe, textOf, withoutUpdate } from './pipe.ts'

const test = suite('sip/user-agent')
const CALL: InviteRequest = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }

/** Two user agents without UPDATE; `session-change.test.ts` has those that support it. */
function pair(): { pipe: Pipe; alice: Party; bob: Party } {
  const pipe = new Pipe()
  pipe.alter = withoutUpdate
  return { pipe, alice: new Party(pipe, '192.0.2.1'), bob: new Party(pipe, '192.0.2.2') }
}

/** Bob rings and answers every call. */
function answering(bob: Party, answer = 'answer'): void {
  bob.onEvent = event => {
    const { now } = bob.pipe
    if (event.kind === 'incoming') bob.do(bob.agent.accept(event.sessionId, body(answer), now))
    if (event.kind === 'reinvite') bob.do(bob.agent.acceptReinvite(event.sessionId, body('again'), now))
  }
}

function established(request: InviteRequest = CALL): { pipe: Pipe; alice: Party; bob: Party; a: string; b: string } {
  const parties = pair()
  answering(parties.bob)
  const { sessionId, actions } = parties.alice.agent.invite(request, 0)
  parties.alice.do(actions)
  parties.pipe.run(100)
  return { ...parties, a: sessionId, b: parties.bob.event('incoming').sessionId }
}

test('a call with an early offer is offered, rings, is answered, confirmed and hung up', () => {
  const { pipe, alice, bob } = pair()
  const { sessionId, actions } = alice.agent.invite({ ...CALL, displayName: 'Alice "A" Ö' }, 0)
  alice.do(actions)
  pipe.run(10)
  const incoming = bob.event('incoming')
  assert.is(incoming.from.displayName, 'Alice "A" Ö')
  assert.is(incoming.from.uri, 'sip:alice@192.0.2.1')
  assert.is(textOf(incoming.offer), 'offer')
  assert.is(incoming.header('user-agent'), 'Test')
  bob.do(bob.agent.provisional(incoming.sessionId, 180, null, 10))
  pipe.run(20)
  assert.is(alice.event('provisional').status, 180)
  bob.do(bob.agent.accept(incoming.sessionId, body('answer'), 20))
  pipe.run(30)
  assert.is(textOf(alice.event('answered').body), 'answer')
  assert.is(bob.event('confirmed').body, null)
  alice.do(alice.agent.bye(sessionId, 30, [['Reason', 'Q.850;cause=16']]))
  pipe.run(40)
  const end = bob.event('ended')
  assert.equal([end.by, end.cause, end.reasonHeader], ['remote', 'bye', 'Q.850;cause=16'])
  assert.equal([alice.event('ended').by, alice.event('ended').cause], ['local', 'bye'])
  pipe.run(200_000)
  assert.equal([alice.agent.sessionCount, bob.agent.sessionCount], [0, 0])
  assert.equal([alice.agent.transactionCount, bob.agent.transactionCount], [0, 0])
  assert.is(alice.agent.nextDeadline(), null)
  assert.is(bob.agent.nextDeadline(), null)
})

test('with a late offer the 200 carries the offer and the ACK the answer', () => {
  const { pipe, alice, bob } = pair()
  answering(bob, 'late offer')
  const { sessionId, actions } = alice.agent.invite({ to: CALL.to, from: CALL.from }, 0)
  alice.do(actions)
  pipe.run(10)
  assert.is(bob.event('incoming').offer, null)
  assert.is(textOf(alice.event('answered').body), 'late offer')
  assert.is(alice.sentLike('ACK').length, 0)
  alice.do(alice.agent.acknowledge(sessionId, body('late answer'), 10))
  pipe.run(20)
  assert.is(textOf(bob.event('confirmed').body), 'late answer')
  assert.equal(alice.agent.acknowledge(sessionId, body('twice'), 20), [])
})

test('CANCEL is answered 200 and its INVITE 487', () => {
  const { pipe, alice, bob } = pair()
  const { sessionId, actions } = alice.agent.invite(CALL, 0)
  alice.do(actions)
  pipe.run(10)
  alice.do(alice.agent.cancel(sessionId, 10, [['Reason', 'SIP;cause=200']]))
  pipe.run(20)
  assert.equal([alice.event('ended').cause, alice.event('ended').by], ['cancel', 'local'])
  assert.equal([bob.event('ended').cause, bob.event('ended').by], ['cancel', 'remote'])
  assert.is(bob.event('ended').reasonHeader, 'SIP;cause=200')
  assert.is(bob.sentLike('SIP/2.0 487').length, 1)
  assert.ok(bob.sent.some(({ text }) => text.startsWith('SIP/2.0 200') && text.includes('CSeq: 1 CANCEL')))
  assert.is(alice.sentLike('ACK').length, 1)
  assert.is(alice.agent.sessionCount, 0)
  assert.equal(bob.agent.accept(bob.event('incoming').sessionId, body('late'), 20), [])
})

test('no CANCEL is sent before a provisional response came', () => {
  const { pipe, alice } = pair()
  pipe.lose = () => true
  const { sessionId, actions } = alice.agent.invite(CALL, 0)
  alice.do(actions)
  alice.do(alice.agent.cancel(sessionId, 0))
  pipe.run(2000)
  assert.is(alice.sentLike('CANCEL').length, 0)
  pipe.lose = () => false
  pipe.run(5000)
  assert.is(alice.sentLike('CANCEL').length, 1)
  assert.is(alice.agent.sessionCount, 0)
  assert.equal(alice.kinds(), ['ended'])
})

test('a 2xx that crosses the CANCEL is acknowledged and hung up', () => {
  const { pipe, alice, bob } = pair()
  const { sessionId, actions } = alice.agent.invite(CALL, 0)
  alice.do(actions)
  pipe.run(10)
  alice.do(alice.agent.cancel(sessionId, 10))
  bob.do(bob.agent.accept(bob.event('incoming').sessionId, body('answer'), 10))
  pipe.run(50)
  assert.equal(alice.kinds(), ['ended'])
  assert.is(alice.sentLike('ACK').length, 1)
  assert.is(alice.sentLike('BYE').length, 1)
  assert.equal([bob.event('ended').by, bob.event('ended').cause], ['remote', 'bye'])
  pipe.run(200_000)
  assert.is(alice.agent.sessionCount + bob.agent.sessionCount, 0)
})

test('a refused call is reported once, with status, reason and Retry-After', () => {
  const { pipe, alice, bob } = pair()
  bob.onEvent = event => {
    if (event.kind !== 'incoming') return
    const options = { reason: 'Full', headers: [['Retry-After', '7 (soon)']] as const }
    bob.do(bob.agent.reject(event.sessionId, 503, pipe.now, options))
  }
  alice.do(alice.agent.invite(CALL, 0).actions)
  pipe.run(200_000)
  const { status, reason, retryAfterS, origin } = alice.event('rejected')
  assert.equal([status, reason, retryAfterS, origin], [503, 'Full', 7, 'remote'])
  assert.is(bob.event('ended').cause, 'rejected')
  assert.is(alice.agent.sessionCount + bob.agent.sessionCount, 0)
})

test('an unanswered INVITE is sent at 0, 500, 1500, 3500 … and given up as 408 after 64*T1', () => {
  const { pipe, alice } = pair()
  pipe.lose = () => true
  alice.do(alice.agent.invite(CALL, 0).actions)
  pipe.run(60_000)
  assert.equal(
    alice.sent.map(sent => sent.at),
    [0, 500, 1500, 3500, 7500, 15_500, 31_500],
  )
  const { status, origin } = alice.event('rejected')
  assert.equal([status, origin], [408, 'local'])
})

test('a transport failure ends the INVITE as 503', () => {
  const { alice } = pair()
  alice.do(alice.agent.invite(CALL, 0).actions)
  alice.do(alice.agent.transportFailed(alice.sent[0]!.to, 5))
  const { status, origin } = alice.event('rejected')
  assert.equal([status, origin], [503, 'local'])
  assert.is(alice.agent.sessionCount, 0)
})

test('a 2xx is sent again from T1 doubling to T2 and the call hung up after 64*T1 without an ACK', () => {
  const { pipe, alice, bob } = pair()
  answering(bob)
  pipe.lose = text => text.startsWith('ACK')
  alice.do(alice.agent.invite(CALL, 0).actions)
  pipe.run(60_000)
  const ok = bob.sent.filter(({ text }) => text.startsWith('SIP/2.0 200') && text.includes('CSeq: 1 INVITE'))
  const expected = [0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]
  assert.equal(
    ok.map(sent => sent.at - ok[0]!.at),
    expected,
  )
  assert.is(alice.sentLike('ACK').length, expected.length)
  assert.is(bob.event('ended').cause, 'ack_timeout')
  assert.is(bob.sentLike('BYE').length, 1)
  assert.is(alice.event('ended').cause, 'bye')
})

test('a BYE of the answering side waits for the ACK', () => {
  const { pipe, alice, bob } = pair()
  answering(bob)
  pipe.lose = text => text.startsWith('ACK') && pipe.now < 1000
  alice.do(alice.agent.invite(CALL, 0).actions)
  pipe.run(100)
  bob.do(bob.agent.bye(bob.event('incoming').sessionId, 100))
  assert.is(bob.event('ended').cause, 'bye')
  pipe.run(1000)
  assert.is(bob.sentLike('BYE').length, 0)
  pipe.run(3000)
  assert.is(bob.sentLike('BYE').length, 1)
  assert.is(alice.event('ended').by, 'remote')
  assert.not(bob.kinds().includes('confirmed'))
})

test('a re-INVITE is offered, answered and confirmed in both directions', () => {
  const { pipe, alice, bob, a, b } = established()
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  pipe.run(200)
  assert.is(textOf(bob.event('reinvite').offer), 'hold')
  assert.is(textOf(alice.event('reinviteAnswered').body), 'again')
  assert.is(bob.event('reinviteConfirmed').body, null)
  alice.onEvent = event => {
    if (event.kind === 'reinvite') alice.do(alice.agent.acceptReinvite(a, body('offer back'), pipe.now))
  }
  bob.do(bob.agent.reinvite(b, null, 200))
  pipe.run(300)
  assert.is(alice.event('reinvite').offer, null)
  assert.is(textOf(bob.event('reinviteAnswered').body), 'offer back')
  bob.do(bob.agent.acknowledge(b, body('late'), 300))
  pipe.run(400)
  assert.is(textOf(alice.event('reinviteConfirmed').body), 'late')
})

test('the 2xx to a re-INVITE that comes again is acknowledged again', () => {
  const { pipe, alice, bob, a } = established()
  pipe.lose = text => text.startsWith('ACK') && pipe.now < 500
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  pipe.run(2000)
  assert.is(alice.sent.filter(({ text }) => text.startsWith('ACK') && text.includes('CSeq: 2 ACK')).length, 2)
  assert.is(bob.event('reinviteConfirmed').body, null)
  alice.event('reinviteAnswered')
})

test('a re-INVITE that is only ever answered 100 ends the call after three minutes', () => {
  const { pipe, alice, bob, a } = established()
  bob.onEvent = () => {}
  alice.do(alice.agent.reinvite(a, body('hold'), 100))
  pipe.run(180_000)
  assert.not(alice.kinds().includes('ended'))
  pipe.run(180_200)
  assert.equal([alice.event('ended').by, alice.event('ended').cause], ['local', 'timeout'])
  assert.is(bob.event('ended').by, 'remote')
})

test('a refused re-INVITE leaves the call up', () => {
  const { pipe, alice, bob, a } = established()
  bob.onEvent = event => {
    if (event.kind === 'reinvite') bob.do(bob.agent.rejectReinvite(event.sessionId, 488, pipe.now))
  }
  alice.do(alice.agent.reinvite(a, body('bad'), 100))
  pipe.run(200)
  assert.is(alice.event('reinviteRejected').status, 488)
  alice.do(alice.agent.info(a, 'application/dtmf-relay', Buffer.from('Signal=5\r\nDuration=160\r\n'), 200))
  pipe.run(300)
  assert.equal(bob.event('info').key, { digit: '5', durationMs: 160 })
})

test('re-INVITEs that cross are both answered 491, and both succeed after the waits of RFC 3261 §14.1', () => {
  const { pipe, alice, bob, a, b } = established()
  answering(alice)
  answering(bob)
  alice.do(alice.agent.reinvite(a, body('from alice'), 100))
  bob.do(bob.agent.reinvite(b, body('from bob'), 100))
  pipe.run(10_000)
  assert.is(alice.sentLike('SIP/2.0 491').length, 1)
  assert.is(bob.sentLike('SIP/2.0 491').length, 1)
  assert.is(alice.event('reinviteAnswered').refresh, false)
  assert.is(bob.event('reinviteAnswered').refresh, false)
  const again = alice.sent.filter(({ text }) => text.startsWith('INVITE') && text.endsWith('from alice'))
  assert.is(again.length, 2)
  assert.ok(again[1]!.at - again[0]!.at >= 2100 && again[1]!.at - again[0]!.at <= 4010)
})

test('an overlapping re-INVITE is answered 500 with Retry-After', () => {
  const { pipe, alice, bob, a } = established()
  bob.onEvent = () => {}
  alice.do(alice.agent.reinvite(a, body('one'), 100))
  const first = alice.sentLike('INVITE').at(-1)!.text
  pipe.run(110)
  const second = first.replace('CSeq: 2', 'CSeq: 3').replace(/branch=\w+/, 'branch=z9hG4bKother')
  bob.do(bob.agent.receive(Buffer.from(second, 'latin1'), alice.peer, 110))
  assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 500 [\s\S]*Retry-After: \d+/)
  const lower = first.replace('CSeq: 2', 'CSeq: 1').replace(/branch=\w+/, 'branch=z9hG4bKlow')
  bob.do(bob.agent.receive(Buffer.from(lower, 'latin1'), alice.peer, 120))
  assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 500 /)
})

test('a request inside a call that is answered 481 ends the call', () => {
  const { pipe, alice, bob, a, b } = established()
  pipe.lose = text => text.startsWith('BYE')
  bob.do(bob.agent.bye(b, 100))
  // Bob drops the call when his BYE is not answered; Alice learns that from the answer to her next request.
  pipe.run(40_000)
  assert.is(bob.agent.sessionCount, 0)
  alice.do(alice.agent.reinvite(a, body('hold'), 40_000))
  pipe.run(41_000)
  assert.equal([alice.event('ended').by, alice.event('ended').cause], ['remote', 'timeout'])
  assert.is(alice.agent.sessionCount, 0)
})

test('two BYEs that cross are both answered 200', () => {
  const { pipe, alice, bob, a, b } = established()
  alice.do(alice.agent.bye(a, 100))
  bob.do(bob.agent.bye(b, 100))
  pipe.run(200)
  for (const party of [alice, bob]) {
    assert.ok(party.sent.some(({ text }) => text.startsWith('SIP/2.0 200') && text.includes('BYE')))
    assert.is(party.event('ended').by, 'local')
    assert.is(party.agent.sessionCount, 0)
  }
})

test('methods called in a state that forbids them, or for no session, do nothing', () => {
  const { alice, bob, a, b } = established()
  assert.equal(alice.agent.accept(a, body('x'), 100), [])
  assert.equal(alice.agent.cancel(a, 100), [])
  assert.equal(alice.agent.acceptReinvite(a, body('x'), 100), [])
  assert.equal(alice.agent.rejectReinvite(a, 488, 100), [])
  assert.equal(bob.agent.reject(b, 486, 100), [])
  assert.equal(bob.agent.provisional(b, 180, null, 100), [])
  assert.equal(bob.agent.bye('nobody', 100), [])
  alice.agent.bye(a, 100)
  assert.equal(alice.agent.bye(a, 100), [])
  assert.equal(alice.agent.reinvite(a, body('x'), 100), [])
  assert.equal(alice.agent.info(a, 'application/dtmf', Buffer.from('1'), 100), [])
})

test('above maxTransactions new calls get 503 with Retry-After, running ones still end', () => {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2', { maxTransactions: 4 })
  answering(bob)
  const sessions = Array.from({ length: 8 }, () => {
    const { sessionId, actions } = alice.agent.invite(CALL, 0)
    alice.do(actions)
    return sessionId
  })
  pipe.run(100)
  const refused = alice.events.filter(event => event.kind === 'rejected' && event.status === 503)
  assert.is(refused.length, 4)
  assert.ok(refused.every(event => event.kind === 'rejected' && event.retryAfterS !== null))
  assert.is(bob.agent.counters.transactionsRefused, 4)
  alice.do(alice.agent.bye(sessions[0]!, 100))
  pipe.run(200)
  assert.is(bob.event('ended').cause, 'bye')
})

test('what cannot be dialled is rejected at once', () => {
  const { alice } = pair()
  for (const to of ['nonsense', 'sip:', 'http://example.com', 'tel:+15551234']) {
    const { actions } = alice.agent.invite({ ...CALL, to }, 0)
    assert.equal(
      actions.map(action => action.kind === 'event' && action.event.kind),
      ['rejected'],
    )
  }
  assert.is(alice.agent.sessionCount, 0)
})

test('a tel URI can be dialled through a target', () => {
  const { pipe, alice, bob } = pair()
  alice.do(alice.agent.invite({ ...CALL, to: 'tel:+15551234', target: bob.peer }, 0).actions)
  pipe.run(10)
  assert.is(bob.event('incoming').requestUri, 'tel:+15551234')
})

test.run()
