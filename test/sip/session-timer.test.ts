import * as assert from 'uvu/assert'
import { Headers } from '../../sip/message/message.ts'
import { answerSessionTimer } from '../../sip/session-timer.ts'
import { suite } from '../harness.ts'
import { body, Party, Pipe, textOf, withoutUpdate } from './pipe.ts'

const test = suite('sip/session-timer')

function headers(...fields: [string, string][]): Headers {
  const out = new Headers()
  for (const [name, value] of fields) out.push(name, value)
  return out
}

test('the side that answers follows RFC 4028 §9', () => {
  const cases: [fields: [string, string][], wanted: unknown][] = [
    [[], 'none'],
    [
      [
        ['session-expires', '1800'],
        ['supported', 'timer'],
      ],
      ['1800;refresher=uac', false, true],
    ],
    [
      [
        ['session-expires', '1800;refresher=uas'],
        ['supported', 'timer'],
      ],
      ['1800;refresher=uas', true, true],
    ],
    [[['session-expires', '1800;refresher=uac']], ['1800;refresher=uas', true, false]],
    [
      [
        ['session-expires', '60'],
        ['supported', '100rel, TIMER'],
      ],
      'too_small',
    ],
    // As a caller sends it after a 422.
    [
      [
        ['session-expires', '90'],
        ['supported', 'timer'],
      ],
      ['90;refresher=uac', false, true],
    ],
    [[['session-expires', '60']], ['90;refresher=uas', true, false]],
    [
      [
        ['session-expires', 'soon'],
        ['supported', 'timer'],
      ],
      'none',
    ],
  ]
  for (const [fields, wanted] of cases) {
    const answer = answerSessionTimer(headers(...fields), 90, null)
    if (answer.kind !== 'agreed') assert.is(answer.kind, wanted)
    else {
      const required = answer.headers.some(([name, value]) => name === 'Require' && value === 'timer')
      assert.equal([answer.headers[0]![1], answer.timer.weRefresh, required], wanted)
    }
  }
})

function call(sessionExpiresS: number, alter?: Pipe['alter']): { pipe: Pipe; alice: Party; bob: Party } {
  const pipe = new Pipe()
  if (alter !== undefined) pipe.alter = alter
  const alice = new Party(pipe, '192.0.2.1', { sessionExpiresS })
  const bob = new Party(pipe, '192.0.2.2')
  bob.onEvent = event => {
    if (event.kind === 'incoming') bob.do(bob.agent.accept(event.sessionId, body('answer'), pipe.now))
    if (event.kind === 'reinvite') bob.do(bob.agent.acceptReinvite(event.sessionId, body('answer'), pipe.now))
  }
  const request = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }
  alice.do(alice.agent.invite(request, 0).actions)
  pipe.run(1000)
  return { pipe, alice, bob }
}

test('the refresher sends its last description again after half the interval, for ever', () => {
  const { pipe, alice, bob } = call(120, withoutUpdate)
  pipe.run(1_000_000)
  const refreshes = alice.sentLike('INVITE').slice(1)
  assert.ok(refreshes.length >= 16)
  assert.ok(Math.abs(refreshes[0]!.at - 60_000) < 50)
  assert.match(refreshes[0]!.text, /Session-Expires: 120;refresher=uac[\s\S]*\r\n\r\noffer$/)
  const answered = alice.events.filter(event => event.kind === 'reinviteAnswered')
  assert.is(answered.length, refreshes.length)
  assert.ok(answered.every(event => event.refresh && textOf(event.body) === 'answer'))
  assert.not(bob.kinds().includes('ended'))
})

test('where UPDATE is allowed the refresh is an UPDATE without a description', () => {
  const { pipe, alice, bob } = call(120)
  pipe.run(200_000)
  const refreshes = alice.sentLike('UPDATE')
  assert.is(refreshes.length, 3)
  assert.match(refreshes[0]!.text, /Session-Expires: 120;refresher=uac\r\nMin-SE: 90\r\n[\s\S]*Content-Length: 0/)
  assert.equal([alice.sentLike('INVITE').length, bob.kinds().includes('reinvite')], [1, false])
})

test('a caller that only says that it supports timers is asked for one in the 200, and we refresh', () => {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2', { sessionExpiresS: 1800 })
  bob.onEvent = event => {
    if (event.kind === 'incoming') bob.do(bob.agent.accept(event.sessionId, body('answer'), pipe.now))
  }
  pipe.alter = text =>
    text.startsWith('INVITE') ? text.replace(/(Supported: timer[^\r]*)/, '$1\r\nMin-SE: 2000') : text
  alice.do(alice.agent.invite({ to: 'sip:b@192.0.2.2', from: 'sip:a@192.0.2.1', body: body('offer') }, 0).actions)
  pipe.run(1_000_500)
  const [accepted] = bob.sentLike('SIP/2.0 200')
  assert.match(accepted!.text, 'Session-Expires: 2000;refresher=uas\r\nRequire: timer\r\n')
  assert.match(bob.sentLike('UPDATE')[0]!.text, 'Session-Expires: 2000;refresher=uac\r\nMin-SE: 2000\r\n')
  assert.ok(Math.abs(bob.sentLike('UPDATE')[0]!.at - 1_000_000) < 50)
  pipe.lose = text => text.startsWith('UPDATE')
  pipe.run(4_000_000)
  assert.equal([bob.event('ended').cause, alice.event('ended').cause], ['session_expired', 'bye'])
})

/** A call between one that wants a timer and one that has never heard of it, whichever of them calls. */
function oneSided(
  caller: 'alice' | 'bob',
  alter: Pipe['alter'] = text => text,
): Record<'alice' | 'bob', Party> & { pipe: Pipe } {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2', { sessionExpiresS: 120 })
  pipe.alter = (text, from) =>
    alter(text.replace('Supported: timer, ', 'Supported: ').replace(/^(?:Session-Expires|Min-SE): .*\r\n/gm, ''), from)
  for (const party of [alice, bob]) {
    party.onEvent = event => {
      if (event.kind === 'incoming') party.do(party.agent.accept(event.sessionId, body('answer'), pipe.now))
    }
  }
  const [from, to] = caller === 'alice' ? [alice, bob] : [bob, alice]
  const request = { to: `sip:x@${to.peer.host}`, from: `sip:y@${from.peer.host}`, body: body('offer') }
  from.do(from.agent.invite(request, 0).actions)
  pipe.run(1000)
  return { pipe, alice, bob }
}

test('a far end that does not support timers is asked for none, but whether it is still there, as long as it says anything', () => {
  for (const caller of ['alice', 'bob'] as const) {
    for (const status of ['200 OK', '488 No', '500 No']) {
      const { pipe, alice, bob } = oneSided(caller, text =>
        /CSeq: \d+ UPDATE/.test(text) ? text.replace(/^SIP\/2\.0 200 OK/, `SIP/2.0 ${status}`) : text,
      )
      if (caller === 'alice') assert.not.match(bob.sentLike('SIP/2.0 200')[0]!.text, 'Session-Expires')
      pipe.run(1_000_000)
      const refreshes = bob.sentLike('UPDATE')
      assert.is(refreshes.length, 16, `${caller} ${status}`)
      assert.ok(Math.abs(refreshes[0]!.at - 60_000) < 50)
      assert.is(alice.sentLike('UPDATE').length, 0)
      pipe.lose = (_, from) => from === alice
      pipe.run(1_200_000)
      assert.is(bob.event('ended').cause, 'session_expired', `${caller} ${status}`)
    }
  }
})

test('a far end that does not support timers and knows nothing of the call any more ends it', () => {
  const { pipe, bob } = oneSided('alice', text =>
    /CSeq: \d+ UPDATE/.test(text) ? text.replace(/^SIP\/2\.0 200 OK/, 'SIP/2.0 481 Gone') : text,
  )
  pipe.run(100_000)
  assert.is(bob.event('ended').cause, 'session_expired')
})

test('422 to a refresh raises the interval and Min-SE for the rest of the dialog', () => {
  let refusals = 1
  const { pipe, alice } = call(120, (text, from) => {
    if (!/^SIP\/2\.0 200[\s\S]*CSeq: \d+ UPDATE/.test(text) || from.peer.host !== '192.0.2.2' || refusals-- <= 0)
      return text
    return text.replace(/^SIP\/2\.0 200 OK/, 'SIP/2.0 422 X').replace(/Session-Expires: .*/, 'Min-SE: 400')
  })
  pipe.run(400_000)
  const [first, second, third] = alice
    .sentLike('UPDATE')
    .map(({ text, at }) => [/Session-Expires: (.*)\r\nMin-SE: (.*)\r/.exec(text)!.slice(1).join(' '), at])
  assert.is(first![0], '120;refresher=uac 90')
  assert.is(second![0], '400;refresher=uac 400')
  assert.is(third![0], '400;refresher=uac 400')
  assert.ok((third![1] as number) - (second![1] as number) >= 199_000)
})

test('a refresh that is refused is tried again in half of the time that is left, and then the call is hung up', () => {
  const { pipe, alice, bob } = call(120, (text, from) =>
    from.peer.host === '192.0.2.2' && /CSeq: \d+ UPDATE/.test(text)
      ? text.replace(/^SIP\/2\.0 200 OK/, 'SIP/2.0 488 X')
      : text,
  )
  pipe.run(100_000)
  const tries = alice.sentLike('UPDATE').map(({ at }) => at)
  assert.ok(tries.length >= 3 && tries.length < 12, tries.join())
  assert.ok(Math.abs(tries[1]! - 74_000) < 100, tries.join())
  assert.equal([alice.event('ended').cause, bob.event('ended').cause], ['session_expired', 'bye'])
})

test('without refreshes the other side hangs up before the interval is over', () => {
  const { pipe, alice, bob } = call(120)
  pipe.lose = (text, from) => from === alice && text.startsWith('UPDATE')
  pipe.run(125_000)
  const end = bob.event('ended')
  assert.equal([end.by, end.cause], ['local', 'session_expired'])
  const bye = bob.sentLike('BYE')[0]!
  assert.ok(bye.at >= 87_000 && bye.at < 90_000, String(bye.at))
  alice.event('ended')
  pipe.run(300_000)
  assert.is(alice.agent.sessionCount + bob.agent.sessionCount, 0)
})

test('a refresh that is never answered ends the call', () => {
  const { pipe, alice } = call(120)
  pipe.lose = () => true
  pipe.run(200_000)
  const end = alice.event('ended')
  assert.ok(end.cause === 'timeout' || end.cause === 'session_expired')
  assert.is(alice.agent.sessionCount, 0)
})

for (const status of [481, 408]) {
  test(`a refresh that is answered ${status} says that the session has expired there (RFC 4028 §10)`, () => {
    const { pipe, alice } = call(120, text =>
      /^CSeq: \d+ UPDATE/m.test(text) ? text.replace(/^SIP\/2\.0 200 OK/, `SIP/2.0 ${status} X`) : text,
    )
    pipe.run(100_000)
    assert.is(alice.event('ended').cause, 'session_expired')
  })
}

test('a call without Session-Expires has no timer', () => {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2')
  bob.onEvent = event => {
    if (event.kind === 'incoming') bob.do(bob.agent.accept(event.sessionId, body('answer'), pipe.now))
  }
  alice.do(alice.agent.invite({ to: 'sip:b@192.0.2.2', from: 'sip:a@192.0.2.1', body: body('offer') }, 0).actions)
  pipe.run(100_000)
  assert.equal([alice.agent.nextDeadline(), bob.agent.nextDeadline()], [null, null])
})

test.run()
