import * as assert from 'uvu/assert'
import type { InviteRequest, Peer } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, Party, Pipe } from './pipe.ts'

const test = suite('sip/located-request')

const NAMED: InviteRequest = { to: 'sip:bob@example.com', from: 'sip:alice@192.0.2.1', body: body('offer') }
const at = (host: string, transport: Peer['transport'] = 'udp'): Peer => ({ transport, host, port: 5060 })

function dial(request: Partial<InviteRequest> = {}, locate?: Party['locate']) {
  const alice = new Party(new Pipe(), '192.0.2.1', {
    local: ({ host }) => ({ host: host.includes(':') ? '2001:db8::1' : '192.0.2.1', port: 5060 }),
  })
  if (locate !== undefined) alice.locate = locate
  const { sessionId, actions } = alice.agent.invite({ ...NAMED, ...request }, 0)
  alice.do(actions)
  return { alice, sessionId }
}

const invites = (alice: Party) => alice.sentLike('INVITE').map(({ to }) => `${to.transport} ${to.host}`)

const fails = (alice: Party, peer: Peer): void => alice.do(alice.agent.transportFailed(peer, alice.pipe.now))

test('Via and Contact are of the family of the address that a name led to (RFC 6157)', () => {
  const { alice } = dial({}, () => [at('2001:db8::9')])
  const { text, to } = alice.sent[0]!
  assert.is(to.host, '2001:db8::9')
  assert.match(text, /^INVITE sip:bob@example\.com SIP\/2\.0\r\nVia: SIP\/2\.0\/UDP \[2001:db8::1\]:5060;rport/)
  assert.match(text, /Contact: <sip:alice@\[2001:db8::1\]:5060>/)
})

test('the next address is tried when one cannot be reached, and the last one is told of (RFC 3263 §4.3)', () => {
  const { alice } = dial({}, () => [at('192.0.2.7'), at('192.0.2.8')])
  fails(alice, at('192.0.2.7'))
  assert.equal(invites(alice), ['udp 192.0.2.7', 'udp 192.0.2.8'])
  assert.equal(alice.events, [])
  fails(alice, at('192.0.2.8'))
  const { status, origin } = alice.event('rejected')
  assert.equal([status, origin], [503, 'local'])
})

/** A response to what was sent there last. */
function respond(alice: Party, status: number, from: Peer): void {
  const request = alice.sent.findLast(({ to }) => to.host === from.host)!.text
  const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(name => new RegExp(`^${name}: .*$`, 'm').exec(request)![0])
  const to = /^To: .*$/m.exec(request)![0].replace(/(?:;tag=b)?$/, ';tag=b')
  const lines = [`SIP/2.0 ${status} X`, ...copied, to, 'Contact: <sip:bob@pbx.example.com>', 'Content-Length: 0']
  alice.do(alice.agent.receive(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), from, alice.pipe.now))
}

const PAIR = [at('192.0.2.7'), at('192.0.2.8')] as const

test('an address that says 503, or nothing at all, has failed too (RFC 3263 §4.3); one that has said 100 has the call', () => {
  const { alice: refused } = dial({}, () => [...PAIR])
  respond(refused, 503, PAIR[0])
  assert.equal(invites(refused), ['udp 192.0.2.7', 'udp 192.0.2.8'])
  respond(refused, 503, PAIR[1])
  assert.is(refused.event('rejected').status, 503)
  const { alice: silent } = dial({}, () => [...PAIR])
  silent.pipe.run(33_000)
  assert.equal([...new Set(invites(silent))], ['udp 192.0.2.7', 'udp 192.0.2.8'])
  const { alice: busy } = dial({}, () => [...PAIR])
  respond(busy, 486, PAIR[0])
  assert.is(busy.event('rejected').status, 486)
})

test('what is sent inside a call goes to the next address of its Contact, too: the BYE reaches who is there', () => {
  for (const fail of [
    (alice: Party) => respond(alice, 503, PAIR[0]),
    (alice: Party) => fails(alice, PAIR[0]),
    (alice: Party) => alice.pipe.run(alice.pipe.now + 33_000),
  ]) {
    const { alice, sessionId } = dial({ to: 'sip:bob@192.0.2.2' }, () => [...PAIR])
    respond(alice, 200, at('192.0.2.2'))
    alice.do(alice.agent.bye(sessionId, 10))
    fail(alice)
    const [first, second] = PAIR.map(({ host }) => alice.sentLike('BYE').find(({ to }) => to.host === host)?.text)
    assert.ok(first !== undefined && second !== undefined)
    assert.is.not(/branch=\w+/.exec(first)![0], /branch=\w+/.exec(second)![0])
    respond(alice, 200, PAIR[1])
    assert.is(alice.agent.sessionCount, 0)
  }
})

test('an ACK that does not reach its first address goes to the next one with the 200 that comes again', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2' }, () => [...PAIR])
  for (const _ of [1, 2, 3]) respond(alice, 200, at('192.0.2.2'))
  assert.equal(
    alice.sentLike('ACK').map(({ to }) => to.host),
    ['192.0.2.7', '192.0.2.8', '192.0.2.7'],
  )
})

test('a name that leads nowhere ends the call as 503', () => {
  const { alice } = dial({}, () => [])
  assert.is(alice.event('rejected').status, 503)
  assert.is(alice.agent.sessionCount, 0)
})

test('a call that is given up while its name is looked up is never sent', () => {
  const { alice, sessionId } = dial({}, () => null)
  alice.do(alice.agent.cancel(sessionId, 0))
  const [asked] = alice.waiting
  alice.do(alice.agent.located(asked!.locationId, [at('192.0.2.7')], 5))
  assert.equal([alice.sent.length, alice.agent.sessionCount], [0, 0])
})

test('what is answered twice to a look-up counts once', () => {
  const { alice } = dial({}, () => null)
  for (const _ of [1, 2]) alice.do(alice.agent.located(alice.waiting[0]!.locationId, [at('192.0.2.7')], 5))
  assert.is(alice.sent.length, 1)
})

const LARGE = body('x'.repeat(1400))

test('a request larger than 1,300 bytes goes over TCP, and says so in its Via (RFC 3261 §18.1.1)', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2', body: LARGE })
  assert.equal(invites(alice), ['tcp 192.0.2.2'])
  assert.match(alice.sent[0]!.text, /^Via: SIP\/2\.0\/TCP /m)
  assert.match(alice.sent[0]!.text, /^Contact: <sip:alice@192\.0\.2\.1:5060;transport=tcp>/m)
})

test('whoever does not listen for TCP gets it as a datagram', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2', body: LARGE })
  fails(alice, at('192.0.2.2', 'tcp'))
  assert.equal(invites(alice), ['tcp 192.0.2.2', 'udp 192.0.2.2'])
  assert.match(alice.sent[1]!.text, /^Via: SIP\/2\.0\/UDP /m)
})

test('whoever has refused it over TCP by 503 does not get it once more as a datagram', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2', body: LARGE })
  respond(alice, 503, at('192.0.2.2', 'tcp'))
  assert.equal(invites(alice), ['tcp 192.0.2.2'])
  assert.is(alice.event('rejected').status, 503)
})

test('a transport that is named is kept, however large the request', () => {
  assert.equal(invites(dial({ to: 'sip:bob@192.0.2.2;transport=udp', body: LARGE }).alice), ['udp 192.0.2.2'])
  assert.equal(invites(dial({ target: at('192.0.2.2'), body: LARGE }).alice), ['udp 192.0.2.2'])
})

test('an address that was looked up before keeps the name for its certificate, and that its transport is open', () => {
  const tls = dial({ target: { ...at('192.0.2.2', 'tls'), name: 'carrier.test' } })
  assert.is(tls.alice.sent[0]!.to.name, 'carrier.test')
  assert.equal(invites(dial({ target: { ...at('192.0.2.2'), isTransportOpen: true }, body: LARGE }).alice), [
    'tcp 192.0.2.2',
  ])
})

test('a call is given up as 408 when not even a 100 has come in the time set, and sent no more', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2', patienceMs: 4000 })
  alice.pipe.run(4000)
  const { status, origin } = alice.event('rejected')
  assert.equal([status, origin], [408, 'local'])
  const sent = alice.sent.length
  alice.pipe.run(20_000)
  assert.is(alice.sent.length, sent)
})

test('what rings after all after that is cancelled, and what is answered is hung up', () => {
  const answer = (alice: Party, status: number): void => {
    const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(
      name => new RegExp(`^${name}: .*$`, 'm').exec(alice.sentLike('INVITE')[0]!.text)![0],
    )
    const lines = [`SIP/2.0 ${status} X`, ...copied, 'To: <sip:bob@192.0.2.2>;tag=b', 'Contact: <sip:bob@192.0.2.2>']
    const text = `${lines.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`
    alice.do(alice.agent.receive(Buffer.from(text, 'latin1'), at('192.0.2.2'), alice.pipe.now))
  }
  const { alice: ringing } = dial({ to: 'sip:bob@192.0.2.2', patienceMs: 4000 })
  ringing.pipe.run(5000)
  answer(ringing, 180)
  assert.is(ringing.sentLike('CANCEL').length, 1)
  const { alice: answered } = dial({ to: 'sip:bob@192.0.2.2', patienceMs: 4000 })
  answered.pipe.run(5000)
  answer(answered, 200)
  assert.equal([answered.sentLike('ACK').length, answered.sentLike('BYE').length], [1, 1])
})

test('an answer in time is waited for as long as it takes', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2', patienceMs: 4000 })
  const copied = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map(
    name => new RegExp(`^${name}: .*$`, 'm').exec(alice.sent[0]!.text)![0],
  )
  const trying = Buffer.from(`SIP/2.0 100 Trying\r\n${copied.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`)
  alice.do(alice.agent.receive(trying, at('192.0.2.2'), 100))
  alice.pipe.run(60_000)
  assert.equal(alice.kinds(), [])
})

test('a 3xx tells where else to look, the most wanted first', () => {
  const { alice } = dial({ to: 'sip:bob@192.0.2.2' })
  const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(
    name => new RegExp(`^${name}: .*$`, 'm').exec(alice.sent[0]!.text)![0],
  )
  const lines = ['SIP/2.0 302 Moved', ...copied, 'To: <sip:bob@192.0.2.2>;tag=b']
  lines.push('Contact: <sip:bob@192.0.2.5>;q=0.3, <sip:bob@192.0.2.6>', 'Contact: <sip:bob@192.0.2.7>;q=0.9')
  alice.do(alice.agent.receive(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), at('192.0.2.2'), 10))
  assert.equal(alice.event('rejected').contacts, ['sip:bob@192.0.2.6', 'sip:bob@192.0.2.7', 'sip:bob@192.0.2.5'])
})

test.run()
