import * as assert from 'uvu/assert'
import type { UaEvent } from '../../../sip/user-agent.ts'
import { suite } from '../../harness.ts'
import { body, message, Party, Pipe } from '../pipe.ts'

const test = suite('sip/refer')

/** Two parties in a call; a REFER is answered with `answer`. */
function call({ answer = 202 }: { answer?: number | null } = {}) {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2')
  const referred: Extract<UaEvent, { kind: 'refer' }>[] = []
  bob.onEvent = (event, party) => {
    if (event.kind === 'incoming') party.do(party.agent.accept(event.sessionId, body('answer'), pipe.now))
    if (event.kind !== 'refer') return
    referred.push(event)
    if (answer !== null) party.do(party.agent.answerRefer(event.referId, answer, pipe.now))
  }
  const { sessionId, actions } = alice.agent.invite(
    { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') },
    0,
  )
  alice.do(actions)
  pipe.run(100)
  const refer = (to = 'sip:carol@192.0.2.3', replaces: string | null = null) => {
    const begun = alice.agent.refer(sessionId, { to, replaces, referredBy: 'sip:alice@192.0.2.1' }, pipe.now)
    alice.do(begun.actions)
    return begun.referId
  }
  const notify = (status: number) => bob.do(bob.agent.notifyRefer(referred.at(-1)!.referId, status, pipe.now))
  const heard = () =>
    alice.events.flatMap(event =>
      event.kind === 'referProgress' ? [`${event.status}${event.isOver ? ' over' : ''}`] : [],
    )
  return { pipe, alice, bob, sessionId, referred, refer, notify, heard }
}

const stateOf = (text: string) => /^Subscription-State: (.*)\r$/m.exec(text)?.[1]

test('who has asked is a URI, whatever stands beside it, and nobody where the REFER wants privacy (RFC 3892, RFC 3323)', () => {
  const { pipe, alice, bob, referred, refer, notify } = call()
  refer()
  pipe.run(200)
  const { text } = alice.sentLike('REFER')[0]!
  const cases: [string, string | null][] = [
    ['"A, B" <sip:a@192.0.2.1>;cid="x@y"', 'sip:a@192.0.2.1'],
    ['sip:a@192.0.2.1;cid="x@y"', 'sip:a@192.0.2.1'],
    ['<sip:a@192.0.2.1>\r\nPrivacy: none', 'sip:a@192.0.2.1'],
    ['<sip:a@192.0.2.1>\r\nPrivacy: id;critical', null],
    ['rubbish', null],
  ]
  for (const [at, [value, wanted]] of cases.entries()) {
    notify(200)
    pipe.run(pipe.now + 100)
    const again = text
      .replace(/^Referred-By: .*/m, `Referred-By: ${value}`)
      .replace(/branch=\w+/, `branch=z9hG4bK${at}`)
      .replace(/^CSeq: (\d+)/m, (_, number) => `CSeq: ${Number(number) + 1 + at}`)
    bob.do(bob.agent.receive(Buffer.from(again, 'latin1'), alice.peer, pipe.now))
    assert.is(referred.at(-1)!.referredBy, wanted, value)
    assert.is(referred.length, at + 2)
  }
})

test('RFC 3515 §2.4: who is asked hears where to and by whom, and tells by NOTIFY how it goes until it is over', () => {
  const { pipe, alice, bob, referred, refer, notify, heard } = call()
  refer()
  pipe.run(200)
  assert.equal(
    [referred[0]!.to, referred[0]!.replaces, referred[0]!.referredBy],
    ['sip:carol@192.0.2.3', null, 'sip:alice@192.0.2.1'],
  )
  assert.is(bob.sentLike('SIP/2.0 202').length, 1)
  assert.is(alice.event('referAccepted').kind, 'referAccepted')
  notify(180)
  pipe.run(300)
  notify(200)
  pipe.run(400)
  assert.equal(heard(), ['100', '180', '200 over'])
  const notifies = bob.sentLike('NOTIFY').map(({ text }) => text)
  assert.equal(notifies.map(stateOf), ['active;expires=180', 'active;expires=180', 'terminated;reason=noresource'])
  assert.match(notifies[1]!, /Event: refer\r\n/)
  assert.match(notifies[1]!, /Content-Type: message\/sipfrag;version=2\.0\r\n/)
  assert.match(notifies[1]!, /\r\n\r\nSIP\/2\.0 180 Ringing\r\n$/)
})

test('RFC 7433 §3.3: what is said for whom the REFER names is in its Refer-To, beside the dialog to be replaced', () => {
  const { pipe, alice, sessionId, referred } = call()
  const replaces = 'a@b;to-tag=c;from-tag=d'
  const asked = { to: 'sip:carol@192.0.2.3', replaces, referredBy: null, userToUser: 'ab=;encoding=hex' }
  alice.do(alice.agent.refer(sessionId, asked, pipe.now).actions)
  pipe.run(200)
  const headers = 'Replaces=a%40b%3Bto-tag%3Dc%3Bfrom-tag%3Dd&User-to-User=ab%3D%3Bencoding%3Dhex'
  assert.match(alice.sentLike('REFER')[0]!.text, `Refer-To: <sip:carol@192.0.2.3?${headers}>\r\n`)
  assert.equal(
    [referred[0]!.to, referred[0]!.replaces?.callId, referred[0]!.userToUser],
    ['sip:carol@192.0.2.3', 'a@b', 'ab=;encoding=hex'],
  )
})

test('a REFER that is refused leaves the call as it was', () => {
  const { pipe, alice, bob, refer, heard } = call({ answer: 603 })
  refer()
  pipe.run(200)
  assert.equal(heard(), ['603 over'])
  assert.is(bob.sentLike('NOTIFY').length, 0)
  assert.is(alice.kinds().includes('ended'), false)
  assert.ok(refer() !== null, 'another one may be sent')
})

test('a REFER that nobody answers is over after 32 s, and the call goes on', () => {
  const { pipe, alice, refer, heard } = call({ answer: null })
  refer()
  pipe.run(31_000)
  assert.equal(heard(), [])
  pipe.run(33_000)
  assert.equal(heard(), ['408 over'])
  assert.is(alice.kinds().includes('ended'), false)
})

test('RFC 6665 §4.1.2.4: no NOTIFY within 32 s of the 202, and the transfer is given up', () => {
  const { pipe, refer, heard } = call()
  pipe.lose = text => text.startsWith('NOTIFY')
  refer()
  pipe.run(31_000)
  assert.equal(heard(), [])
  pipe.run(33_000)
  assert.equal(heard(), ['408 over'])
})

test('a NOTIFY that is lost is sent again, and none passes another on the way', () => {
  const { pipe, refer, notify, heard } = call()
  let lost = 0
  pipe.lose = text => text.startsWith('NOTIFY') && ++lost % 2 === 1
  refer()
  pipe.run(101)
  for (const status of [180, 183, 200]) {
    pipe.run(pipe.now + 1)
    notify(status)
  }
  pipe.run(10_000)
  assert.equal(heard(), ['100', '200 over'], 'what is old by the time that it can be told is left out')
})

test('who does not know of the subscription any more (481) is told nothing else, and the call goes on', () => {
  const { pipe, bob, alice, sessionId, notify } = call()
  const dialog = alice.agent.dialogOf(sessionId)!
  // As after a restart: Alice does not know of a REFER.
  bob.do(bob.agent.receive(inCall(dialog, 'REFER', 'Refer-To: <sip:carol@192.0.2.3>'), alice.peer, pipe.now))
  pipe.run(200)
  assert.is(alice.sentLike('SIP/2.0 481').length, 1)
  notify(180)
  notify(200)
  pipe.run(300)
  assert.is(bob.sentLike('NOTIFY').length, 1)
  assert.is(bob.kinds().includes('ended'), false)
})

test('RFC 4488: who wants no NOTIFYs hears 200 with Refer-Sub, and gets none', () => {
  const { pipe, alice, bob, sessionId } = call()
  const dialog = alice.agent.dialogOf(sessionId)!
  bob.do(
    bob.agent.receive(
      inCall(dialog, 'REFER', 'Refer-To: <sip:carol@192.0.2.3>', 'Refer-Sub: false'),
      alice.peer,
      pipe.now,
    ),
  )
  pipe.run(200)
  const [accepted] = bob.sentLike('SIP/2.0 200 OK').filter(({ text }) => /CSeq: \d+ REFER/.test(text))
  assert.match(accepted!.text, /Refer-Sub: false\r\n/)
  assert.is(bob.sentLike('NOTIFY').length, 0)
})

test('after a BYE the transferor still hears how it ended', () => {
  const { pipe, alice, bob, sessionId, refer, notify } = call()
  refer()
  pipe.run(200)
  alice.do(alice.agent.bye(sessionId, pipe.now))
  pipe.run(300)
  assert.is(bob.event('ended').cause, 'bye')
  notify(200)
  assert.match(bob.sentLike('NOTIFY').at(-1)!.text, /SIP\/2\.0 200 OK/)
})

test('who never says how it ended is answered for after three minutes', () => {
  const { pipe, bob, refer, heard } = call()
  refer()
  pipe.run(179_000)
  assert.equal(heard(), ['100'])
  pipe.run(181_000)
  assert.equal(heard(), ['100', '408 over'])
  assert.ok(bob.sentLike('NOTIFY').some(({ text }) => stateOf(text) === 'terminated;reason=timeout'))
})

type Dialog = { callId: string; localTag: string; remoteTag: string }

let cseq = 100
/** A request of Alice within her call with Bob. */
const inCall = ({ callId, localTag, remoteTag }: Dialog, method: string, ...fields: string[]) =>
  message(
    `${method} sip:bob@192.0.2.2 SIP/2.0`,
    `Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKc${cseq}`,
    'Max-Forwards: 70',
    `From: <sip:alice@192.0.2.1>;tag=${localTag}`,
    `To: <sip:bob@192.0.2.2>;tag=${remoteTag}`,
    `Call-ID: ${callId}`,
    `CSeq: ${cseq++} ${method}`,
    'Contact: <sip:alice@192.0.2.1>',
    ...fields,
    'Content-Length: 0',
  )

/** A request outside of every dialog. */
const outside = (method: string, ...fields: string[]) =>
  message(
    `${method} sip:bob@192.0.2.2 SIP/2.0`,
    `Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKo${cseq}`,
    'Max-Forwards: 70',
    `From: <sip:alice@192.0.2.1>;tag=f${cseq}`,
    'To: <sip:bob@192.0.2.2>',
    `Call-ID: other${cseq}`,
    `CSeq: ${cseq++} ${method}`,
    'Contact: <sip:alice@192.0.2.1>',
    ...fields,
    'Content-Length: 0',
  )

for (const [what, fields] of [
  ['without Refer-To', []],
  ['with two of them', ['Refer-To: <sip:a@192.0.2.3>', 'Refer-To: <sip:b@192.0.2.3>']],
  ['to what cannot be called', ['Refer-To: <mailto:carol@example.com>']],
  ['for another method than INVITE', ['Refer-To: <sip:carol@192.0.2.3;method=BYE>']],
  ['with a Replaces that names no dialog', ['Refer-To: <sip:carol@192.0.2.3?Replaces=abc>']],
] as const) {
  test(`a REFER ${what} is a bad request`, () => {
    const { pipe, alice, bob, sessionId, referred } = call()
    bob.do(bob.agent.receive(inCall(alice.agent.dialogOf(sessionId)!, 'REFER', ...fields), alice.peer, pipe.now))
    assert.is(bob.sentLike('SIP/2.0 400').length, 1)
    assert.is(referred.length, 0)
  })
}

test('of the headers in a Refer-To only Replaces is taken', () => {
  const { pipe, alice, bob, sessionId, referred } = call()
  const to = 'Refer-To: <sip:carol@192.0.2.3?Replaces=c1%3Bto-tag%3Dt1%3Bfrom-tag%3Df1&P-Asserted-Identity=x>'
  bob.do(bob.agent.receive(inCall(alice.agent.dialogOf(sessionId)!, 'REFER', to), alice.peer, pipe.now))
  assert.is(referred[0]!.to, 'sip:carol@192.0.2.3')
  assert.equal(referred[0]!.replaces, { callId: 'c1', toTag: 't1', fromTag: 'f1', earlyOnly: false, sessionId: null })
})

test('a Replaces that names a dialog of ours comes with its session', () => {
  const { pipe, alice, bob, sessionId, referred } = call()
  const dialog = alice.agent.dialogOf(sessionId)!
  const named = encodeURIComponent(`${dialog.callId};to-tag=${dialog.remoteTag};from-tag=${dialog.localTag}`)
  const to = `Refer-To: <sip:carol@192.0.2.3?Replaces=${named}>`
  bob.do(bob.agent.receive(inCall(dialog, 'REFER', to), alice.peer, pipe.now))
  assert.is(referred[0]!.replaces?.sessionId, bob.event('incoming').sessionId)
})

test('outside of a call nobody is asked to call somebody else', () => {
  const { pipe, alice, bob, referred } = call()
  bob.do(bob.agent.receive(outside('REFER', 'Refer-To: <sip:carol@192.0.2.3>'), alice.peer, pipe.now))
  assert.is(bob.sentLike('SIP/2.0 403').length, 1)
  assert.is(referred.length, 0)
})

test('RFC 4538: a REFER beside a call that its Target-Dialog names is of that call, and its NOTIFYs are in a dialog of their own', () => {
  const { pipe, alice, bob, sessionId, referred } = call()
  const { callId, localTag, remoteTag } = alice.agent.dialogOf(sessionId)!
  const target = `Target-Dialog: ${callId};local-tag=${remoteTag};remote-tag=${localTag}`
  bob.do(bob.agent.receive(outside('REFER', 'Refer-To: <sip:carol@192.0.2.3>', target), alice.peer, pipe.now))
  assert.is(referred[0]?.sessionId, bob.event('incoming').sessionId)
  assert.match(bob.sentLike('NOTIFY')[0]!.text, /Call-ID: other\d+\r\n/)
  const stranger = { ...alice.peer, host: '192.0.2.99' }
  bob.do(bob.agent.receive(outside('REFER', 'Refer-To: <sip:carol@192.0.2.3>', target), stranger, pipe.now))
  assert.is(bob.sentLike('SIP/2.0 403').length, 1, 'who is not where the call is')
})

test('a NOTIFY that nobody has asked for is refused: 489 of another package, 481 of no REFER of ours', () => {
  const { pipe, alice, bob, sessionId } = call()
  const dialog = alice.agent.dialogOf(sessionId)!
  const state = 'Subscription-State: active'
  bob.do(bob.agent.receive(inCall(dialog, 'NOTIFY', 'Event: talk', state), alice.peer, pipe.now))
  bob.do(bob.agent.receive(inCall(dialog, 'NOTIFY', 'Event: refer', state), alice.peer, pipe.now))
  assert.equal([bob.sentLike('SIP/2.0 489').length, bob.sentLike('SIP/2.0 481').length], [1, 1])
})

test('RFC 3515 §2.4.4: whoever has sent a REFER may ask how it goes, and end that; nothing else is subscribed to in a call', () => {
  const { pipe, alice, bob, sessionId, refer, notify, heard } = call()
  const dialog = alice.agent.dialogOf(sessionId)!
  const subscribe = (event: string, expires: number, ...headers: string[]) => {
    const sent = bob.sent.length
    const request = inCall(dialog, 'SUBSCRIBE', `Event: ${event}`, `Expires: ${expires}`, ...headers)
    bob.do(bob.agent.receive(request, alice.peer, pipe.now))
    pipe.run(pipe.now + 100)
    return bob.sent.slice(sent).map(({ text }) => text)
  }
  refer()
  pipe.run(pipe.now + 200)
  notify(180)
  pipe.run(pipe.now + 200)
  const [kept, again] = subscribe('refer', 600)
  assert.match(kept!, /^SIP\/2\.0 200 [\s\S]*\r\nExpires: 180\r\n/)
  assert.is(stateOf(again!), 'active;expires=180')
  assert.match(again!, /SIP\/2\.0 180 Ringing\r\n$/)
  assert.match(subscribe('dialog', 60)[0]!, /^SIP\/2\.0 489 [\s\S]*\r\nAllow-Events: refer\r\n/)
  assert.match(subscribe('refer;id=7', 60)[0]!, /^SIP\/2\.0 403 /)
  assert.match(subscribe('refer', 0, 'Require: magic')[0]!, /^SIP\/2\.0 420 [\s\S]*\r\nUnsupported: magic\r\n/)
  const [over, last] = subscribe('refer', 0)
  assert.match(over!, /^SIP\/2\.0 200 [\s\S]*\r\nExpires: 0\r\n/)
  assert.is(stateOf(last!), 'terminated;reason=timeout')
  const told = bob.sentLike('NOTIFY').length
  notify(200)
  pipe.run(pipe.now + 200_000)
  assert.is(bob.sentLike('NOTIFY').length, told, 'and hears no more of it')
  assert.match(subscribe('refer', 60)[0]!, /^SIP\/2\.0 403 /)
  assert.equal(heard().slice(0, 2), ['100', '180'])
})

// ---------------------------------------------------------------------------------------------------- Replaces

test('RFC 3891 §3: an INVITE whose Replaces names no dialog of ours is answered 481', () => {
  const { pipe, alice, bob } = call()
  bob.do(bob.agent.receive(outside('INVITE', 'Replaces: nobody;to-tag=a;from-tag=b'), alice.peer, pipe.now))
  assert.is(bob.sentLike('SIP/2.0 481').length, 1)
  assert.is(bob.kinds().filter(kind => kind === 'incoming').length, 1)
})

test('RFC 3891 §3: one that names a dialog comes with its session; early-only of an answered one is answered 486', () => {
  const { pipe, alice, bob, sessionId } = call()
  const { callId, localTag, remoteTag } = alice.agent.dialogOf(sessionId)!
  const named = `Replaces: ${callId};to-tag=${remoteTag};from-tag=${localTag}`
  bob.do(bob.agent.receive(outside('INVITE', `${named};early-only`), alice.peer, pipe.now))
  assert.is(bob.sentLike('SIP/2.0 486').length, 1)
  bob.do(bob.agent.receive(outside('INVITE', 'Require: replaces', named), alice.peer, pipe.now))
  const incoming = bob.events.filter(event => event.kind === 'incoming')
  assert.is(incoming[1]?.replaces, incoming[0]?.sessionId)
  bob.do(bob.agent.receive(outside('INVITE', named, named), alice.peer, pipe.now))
  assert.is(bob.sentLike('SIP/2.0 400').length, 1, 'two of them')
})

test('RFC 3891 §3: Replaces beside Join, or in another request than an INVITE, is answered 400', () => {
  const { pipe, alice, bob, sessionId } = call()
  const dialog = alice.agent.dialogOf(sessionId)!
  const named = `Replaces: ${dialog.callId};to-tag=${dialog.remoteTag};from-tag=${dialog.localTag}`
  bob.do(bob.agent.receive(outside('INVITE', named, named.replace('Replaces', 'Join')), alice.peer, pipe.now))
  bob.do(bob.agent.receive(outside('OPTIONS', named), alice.peer, pipe.now))
  bob.do(bob.agent.receive(inCall(dialog, 'BYE', named), alice.peer, pipe.now))
  assert.is(bob.sentLike('SIP/2.0 400').length, 3)
  assert.is(bob.kinds().filter(kind => kind === 'ended').length, 0)
})

test('RFC 3891 §3: an early dialog is replaced where we have called, not where we are called', () => {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2')
  bob.onEvent = (event, party) => {
    if (event.kind === 'incoming' && event.replaces === undefined) {
      party.do(party.agent.provisional(event.sessionId, 180, null, pipe.now))
    }
  }
  const { sessionId, actions } = alice.agent.invite(
    { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') },
    0,
  )
  alice.do(actions)
  pipe.run(100)
  const ringing = bob.sentLike('SIP/2.0 180')[0]!.text
  const callId = /Call-ID: (.*)\r/.exec(ringing)![1]
  const [from, to] = [/From:.*tag=([^\r;]*)/.exec(ringing)![1], /To:.*tag=([^\r;]*)/.exec(ringing)![1]]
  bob.do(
    bob.agent.receive(outside('INVITE', `Replaces: ${callId};to-tag=${to};from-tag=${from}`), alice.peer, pipe.now),
  )
  assert.is(bob.sentLike('SIP/2.0 481').length, 1, 'of whom somebody calls')
  const named = `Replaces: ${callId};to-tag=${from};from-tag=${to};early-only`
  alice.do(alice.agent.receive(outside('INVITE', named), bob.peer, pipe.now))
  assert.is(alice.event('incoming').replaces, sessionId)
})

test.run()
