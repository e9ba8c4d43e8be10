import * as assert from 'uvu/assert'
import { suite } from '../harness.ts'
import { body, message, Party, Pipe, textOf } from './pipe.ts'

// UPDATE before the answer (RFC 3311 §5), and what a 2xx negotiates after an earlier offer and answer.

const test = suite('sip/early-update')
const FAR = { transport: 'udp', host: '192.0.2.2', port: 5060 } as const
const CALL = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }

/** Alice's call to a far end whose messages the test writes. */
function dialled() {
  const alice = new Party(new Pipe(), '192.0.2.1')
  const { sessionId, actions } = alice.agent.invite(CALL, 0)
  alice.do(actions)
  const { text: invite } = alice.sentLike('INVITE')[0]!
  const copied = (name: string): string => new RegExp(`^${name}: .*$`, 'm').exec(invite)![0].trim()
  const receive = (lines: string[], content: string): string => {
    const type = content === '' ? [] : ['Content-Type: application/sdp']
    const head = message(...lines, ...type, `Content-Length: ${content.length}`)
    alice.do(alice.agent.receive(Buffer.concat([head, Buffer.from(content)]), FAR, alice.pipe.now))
    return alice.sent.at(-1)!.text
  }
  const answer = (status: number, tag: string, content = '', more: string[] = []): string => {
    const same = ['Via', 'From', 'Call-ID', 'CSeq'].map(copied)
    const contact = 'Contact: <sip:bob@192.0.2.2>'
    return receive([`SIP/2.0 ${status} X`, ...same, `To: <sip:bob@192.0.2.2>;tag=${tag}`, contact, ...more], content)
  }
  const asks = (method: string, tag: string, cseq: number, content = ''): string => {
    const to = copied('From').replace('From', 'To')
    return receive(
      [
        `${method} sip:alice@192.0.2.1 SIP/2.0`,
        `Via: SIP/2.0/UDP 192.0.2.2;branch=z9hG4bK${method}${tag}${cseq}`,
        `From: <sip:bob@192.0.2.2>;tag=${tag}`,
        ...[to, copied('Call-ID'), `CSeq: ${cseq} ${method}`, 'Contact: <sip:moved@192.0.2.9>'],
      ],
      content,
    )
  }
  return { alice, sessionId, answer, asks }
}

const RELIABLE = ['Require: 100rel', 'RSeq: 1']

test('whom we call may change what its reliable 183 has agreed on, and its 200 has nothing to add', () => {
  const { alice, sessionId, answer, asks } = dialled()
  answer(183, 'b', 'answer', RELIABLE)
  asks('UPDATE', 'b', 1, 'second offer')
  const { offer } = alice.event('reinvite')
  assert.is(textOf(offer), 'second offer')
  alice.do(alice.agent.acceptReinvite(sessionId, body('second answer'), 0))
  assert.match(alice.sent.at(-1)!.text, /^SIP\/2\.0 200 [\s\S]*CSeq: 1 UPDATE[\s\S]*Contact: [\s\S]*second answer$/)
  answer(200, 'b', 'answer')
  assert.is(alice.event('answered').body, null, 'what the UPDATE agreed on stays')
  assert.match(alice.sentLike('ACK')[0]!.text, /^ACK sip:bob@192\.0\.2\.2 /, 'a 2xx names the target anew')
  assert.match(asks('OPTIONS', 'b', 1), / 500 /, 'the CSeq goes on')
  assert.match(asks('OPTIONS', 'b', 2), / 200 /)
})

test('one without an offer is answered at once; before an answer, or beside another one, none with an offer is taken', () => {
  const { alice, answer, asks } = dialled()
  assert.match(asks('UPDATE', 'b', 1), / 481 /, 'no dialog yet')
  answer(183, 'b', 'preview')
  assert.match(asks('UPDATE', 'b', 1), /^SIP\/2\.0 200 [\s\S]*\r\n\r\n$/)
  assert.match(asks('UPDATE', 'b', 2, 'second offer'), / 491 /, 'our offer waits for a reliable answer')
  answer(183, 'b', 'answer', RELIABLE)
  asks('UPDATE', 'b', 3, 'second offer')
  assert.match(asks('UPDATE', 'b', 4, 'third offer'), /^SIP\/2\.0 500 [\s\S]*Retry-After: \d/)
  assert.is(alice.event('reinvite').kind, 'reinvite')
  for (const [method, cseq] of [
    ['BYE', 5],
    ['REFER', 6],
  ] as const)
    assert.match(asks(method, 'b', cseq), / 481 /)
  assert.match(asks('UPDATE', 'other', 1), / 481 /)
})

test('whom we call may send INFO before its answer (RFC 6086), and its INVITE waits for ours (RFC 3261 §14.2): a 481 would end its dialog', () => {
  const { alice, answer, asks } = dialled()
  answer(180, 'b')
  assert.match(asks('INFO', 'b', 1), /^SIP\/2\.0 200 /)
  assert.match(asks('INVITE', 'b', 2, 'offer'), /^SIP\/2\.0 491 /)
  assert.match(asks('INFO', 'other', 1), / 481 /)
  answer(200, 'b', 'answer')
  assert.is(alice.event('answered').kind, 'answered')
})

test('a call that fails while an UPDATE waits for us ends both', () => {
  const { alice, answer, asks } = dialled()
  answer(183, 'b', 'answer', RELIABLE)
  asks('UPDATE', 'b', 1, 'second offer')
  answer(486, 'b')
  assert.is(alice.event('rejected').status, 486)
  assert.match(alice.sentLike('SIP/2.0 487')[0]!.text, 'CSeq: 1 UPDATE')
  assert.is(alice.agent.sessionCount, 0)
})

test('a 200 without a description means that of its own 183, whatever another fork has said', () => {
  const { alice, answer } = dialled()
  answer(183, 'a', 'of a')
  answer(183, 'b', 'of b')
  answer(180, 'b')
  answer(200, 'a')
  assert.is(textOf(alice.event('answered').body), 'of a')
  const plain = dialled()
  plain.answer(183, 'a', 'of a')
  plain.answer(200, 'b')
  assert.is(plain.alice.event('answered').body, null, 'nobody has described that fork')
})

/** A caller whose messages the test writes, and who has acknowledged a reliable 183 of Bob. */
function early(status: number) {
  const bob = new Party(new Pipe(), '192.0.2.2')
  const request = (method: string, cseq: number, to: string, more: string[], content: string): string => {
    const type = content === '' ? [] : ['Content-Type: application/sdp']
    const head = message(
      `${method} sip:bob@192.0.2.2 SIP/2.0`,
      `Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK${method}${cseq}`,
      ...['From: <sip:alice@192.0.2.1>;tag=a', `To: <sip:bob@192.0.2.2>${to}`, 'Call-ID: c', `CSeq: ${cseq} ${method}`],
      ...['Contact: <sip:alice@192.0.2.1>', ...more, ...type, `Content-Length: ${content.length}`],
    )
    bob.do(bob.agent.receive(Buffer.concat([head, Buffer.from(content)]), { ...FAR, host: '192.0.2.1' }, 0))
    return bob.sent.at(-1)!.text
  }
  request('INVITE', 1, '', ['Require: 100rel'], 'offer')
  const b = bob.event('incoming').sessionId
  bob.do(bob.agent.provisional(b, status, status === 183 ? body('answer') : null, 0))
  const { text } = bob.sentLike(`SIP/2.0 ${status}`)[0]!
  const [tag, rseq] = [/;tag=\w+/.exec(/^To:.*$/m.exec(text)![0])![0], /^RSeq: (\d+)/m.exec(text)![1]]
  const prack = (): string => request('PRACK', 2, tag, [`RAck: ${rseq} 1 INVITE`], '')
  const asks = (method: string) => (cseq: number) => request(method, cseq, tag, [], 'second offer')
  return { bob, b, prack, update: asks('UPDATE'), invite: asks('INVITE') }
}

test('a caller may change it as well once it has acknowledged our answer; until then it is to come again', () => {
  const { bob, b, prack, update } = early(183)
  prack()
  update(3)
  assert.is(textOf(bob.event('reinvite').offer), 'second offer')
  bob.do(bob.agent.acceptReinvite(b, body('second answer'), 0))
  assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 200 [\s\S]*CSeq: 3 UPDATE[\s\S]*second answer$/)
  assert.not.match(bob.sent.at(-1)!.text, 'Session-Expires')
  bob.do(bob.agent.accept(b, null, 0))
  assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 200 [\s\S]*CSeq: 1 INVITE[\s\S]*Content-Length: 0\r\n\r\n$/)
  assert.match(early(183).update(2), /^SIP\/2\.0 500 [\s\S]*Retry-After/, 'our answer is not acknowledged')
  const again = early(183)
  again.prack()
  assert.match(again.invite(3), /^SIP\/2\.0 500 [\s\S]*Retry-After/, 'its first INVITE is open (RFC 3261 §14.2)')
  const ringing = early(180)
  ringing.prack()
  assert.match(ringing.update(3), / 500 /, 'its first offer is not answered')
})

test.run()
