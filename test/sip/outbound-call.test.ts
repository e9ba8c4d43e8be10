import * as assert from 'uvu/assert'
import type { InviteRequest, Peer, UserAgentOptions } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, message, Party, Pipe, textOf } from './pipe.ts'

const test = suite('sip/outbound-call')
const CALL: InviteRequest = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }
const PROXY = { transport: 'udp', host: '192.0.2.50', port: 5060 } as const
const TLS_PROXY = { transport: 'tls', host: '192.0.2.50', port: 5061 } as const

function dial(
  request: Partial<InviteRequest> = {},
  options: Partial<UserAgentOptions> = {},
): { alice: Party; sessionId: string } {
  const alice = new Party(new Pipe(), '192.0.2.1', options)
  const { sessionId, actions } = alice.agent.invite({ ...CALL, ...request }, 0)
  alice.do(actions)
  return { alice, sessionId }
}

/** Answers the last INVITE that Alice sent, or her last request that begins with the given text. */
function answer(
  alice: Party,
  status: number,
  tag: string,
  extra: string[] = [],
  content = '',
  to = 'INVITE',
  sender: Peer = PROXY,
): void {
  const last = alice.sentLike(to).at(-1)!.text
  const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(name => new RegExp(`^${name}: .*$`, 'm').exec(last)![0].trim())
  const head = message(
    `SIP/2.0 ${status} X`,
    ...copied,
    `To: <sip:bob@192.0.2.2>;tag=${tag}`,
    ...extra,
    `l: ${content.length}`,
  )
  alice.do(alice.agent.receive(Buffer.concat([head, Buffer.from(content)]), sender, alice.pipe.now))
}

test('the INVITE goes to the host of its URI, or to the target that was given', () => {
  const { isTransportOpen, ...plain } = dial().alice.sent[0]!.to
  assert.equal(plain, { transport: 'udp', host: '192.0.2.2', port: 5060 })
  assert.is(isTransportOpen, true, 'nobody has said that it must be UDP')
  const named = dial({ to: 'sip:bob@example.com:5080;transport=tcp' }).alice.sent[0]!
  assert.equal(named.to, { transport: 'tcp', host: 'example.com', port: 5080 })
  assert.match(named.text, /Via: SIP\/2\.0\/TCP [\s\S]*Contact: <sip:alice@192\.0\.2\.1:5060;transport=tcp>/)
  assert.equal(dial({ to: 'sips:bob@[2001:db8::1]' }).alice.sent[0]!.to, {
    transport: 'tls',
    host: '2001:db8::1',
    port: 5061,
  })
  assert.equal(dial({ target: PROXY }).alice.sent[0]!.to, PROXY)
})

test('the Contact of an INVITE for `sips:`, or by way of a `sips:` Route, is `sips:` (RFC 3261 §8.1.1.8), and remains so in the call', () => {
  for (const asked of [{ to: 'sips:bob@192.0.2.2' }, { target: TLS_PROXY, route: ['<sips:192.0.2.2;lr>'] }]) {
    const { alice, sessionId } = dial(asked)
    const contact = /^Contact: <sips:alice@192\.0\.2\.1:5060>\r$/m
    assert.match(alice.sentLike('INVITE')[0]!.text, contact)
    answer(alice, 200, 'a', ['Contact: <sips:bob@192.0.2.2>'], 'v=0', 'INVITE', TLS_PROXY)
    alice.do(alice.agent.reinvite(sessionId, body('offer'), 0))
    assert.match(alice.sentLike('INVITE').at(-1)!.text, contact)
  }
  const plain = dial({ to: 'sip:bob@192.0.2.2;transport=tls' }).alice.sent[0]!
  assert.match(plain.text, /^Contact: <sip:alice@192\.0\.2\.1:5060;transport=tls>\r$/m)
})

test('the INVITE asks for rport and carries what RFC 3261 §8.1.1 demands', () => {
  const { text } = dial({ headers: [['X-Trace', 'ü\r\nEvil: 1']] }).alice.sent[0]!
  for (const line of [
    /^INVITE sip:bob@192\.0\.2\.2 SIP\/2\.0$/m,
    /^Via: SIP\/2\.0\/UDP 192\.0\.2\.1:5060;rport;branch=z9hG4bK\w+$/m,
    /^Max-Forwards: 70$/m,
    /^From: <sip:alice@192\.0\.2\.1>;tag=\w+$/m,
    /^To: <sip:bob@192\.0\.2\.2>$/m,
    /^CSeq: 1 INVITE$/m,
    /^Content-Type: application\/sdp$/m,
    /^Content-Length: 5$/m,
  ]) {
    assert.match(text.replaceAll('\r\n', '\n'), line)
  }
  assert.not.match(text, /^Evil/m)
})

test('what follows over TLS keeps the name that was called for the certificate, though the Contact is an address', () => {
  const target = { transport: 'tls', host: '192.0.2.2', port: 5061, name: 'carrier.test' } as const
  const names = (contact: string): (string | undefined)[] => {
    const { alice, sessionId } = dial({ target })
    answer(alice, 200, 'b', [`Contact: <${contact}>`], 'answer')
    const [callId, tag] = [/^Call-ID: (.*)\r$/m, /^From: .*;tag=(\w+)/m].map(line => line.exec(alice.sent[0]!.text)![1])
    const lines = [`From: <sip:bob@192.0.2.2>;tag=b`, `To: <sip:alice@192.0.2.1>;tag=${tag}`, `Call-ID: ${callId}`]
    const options = message(
      'OPTIONS sip:alice@192.0.2.1 SIP/2.0',
      `Via: SIP/2.0/TLS 192.0.2.2;branch=z9hG4bKo`,
      ...lines,
      'CSeq: 1 OPTIONS',
    )
    alice.do(alice.agent.receive(options, { transport: 'tls', host: '192.0.2.2', port: 5061 }, 0))
    alice.do(alice.agent.bye(sessionId, 0))
    return ['ACK', 'BYE'].map(method => alice.sentLike(method)[0]!.to.name)
  }
  assert.equal(names('sip:bob@192.0.2.2:5061;transport=tls'), ['carrier.test', 'carrier.test'])
  assert.equal(names('sip:bob@192.0.2.2'), [undefined, undefined])
})

test('ACK and BYE follow the Record-Route of the 200 in reverse, to its Contact', () => {
  const { alice, sessionId } = dial()
  answer(
    alice,
    200,
    'b',
    ['Contact: <sip:bob@10.9.9.9>', 'Record-Route: <sip:far;lr>', 'Record-Route: <sip:near:5090;lr>'],
    'answer',
  )
  alice.do(alice.agent.bye(sessionId, 0))
  for (const { text, to } of [alice.sentLike('ACK')[0]!, alice.sentLike('BYE')[0]!]) {
    assert.match(text, /^\w+ sip:bob@10\.9\.9\.9 SIP/)
    assert.match(text, 'Route: <sip:near:5090;lr>\r\nRoute: <sip:far;lr>\r\n')
    assert.equal([to.host, to.port], ['near', 5090])
  }
  assert.match(alice.sentLike('ACK')[0]!.text, 'CSeq: 1 ACK')
  assert.match(alice.sentLike('BYE')[0]!.text, 'CSeq: 2 BYE')
})

test('what goes to a URI with maddr is sent to that address, and names the URI as it is (RFC 3261 §19.1.1)', () => {
  for (const [maddr, host] of [
    ['192.0.2.7', '192.0.2.7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['no%20host', '10.9.9.9'],
  ] as const) {
    const { alice } = dial()
    answer(alice, 200, 'b', [`Contact: <sip:bob@10.9.9.9:5070;maddr=${maddr}>`], 'answer')
    const { text, to } = alice.sentLike('ACK')[0]!
    assert.ok(text.startsWith(`ACK sip:bob@10.9.9.9:5070;maddr=${maddr} SIP`))
    assert.equal([to.host, to.port], [host, 5070])
  }
})

test('a 2xx that comes again is acknowledged again with the same bytes', () => {
  const { alice } = dial()
  answer(alice, 200, 'b', ['Contact: <sip:bob@10.9.9.9>'], 'answer')
  answer(alice, 200, 'b', ['Contact: <sip:bob@10.9.9.9>'], 'answer')
  const acks = alice.sentLike('ACK').map(({ text }) => text)
  assert.is(acks.length, 2)
  assert.is(acks[0], acks[1])
  alice.event('answered')
})

test('a second fork that answers is acknowledged and hung up, the first keeps the call', () => {
  const { alice, sessionId } = dial()
  answer(alice, 180, 'one')
  answer(alice, 183, 'two', ['Content-Type: application/sdp'], 'early')
  answer(alice, 200, 'one', ['Contact: <sip:one@10.0.0.1>'], 'first')
  answer(alice, 200, 'two', ['Contact: <sip:two@10.0.0.2>'], 'second')
  const provisional = alice.events.filter(event => event.kind === 'provisional')
  assert.equal(
    provisional.map(event => [event.status, textOf(event.body)]),
    [
      [180, null],
      [183, 'early'],
    ],
  )
  assert.is(textOf(alice.event('answered').body), 'first')
  assert.equal(
    alice.sentLike('ACK').map(({ text }) => text.split(' ')[1]),
    ['sip:one@10.0.0.1', 'sip:two@10.0.0.2'],
  )
  const refused = alice.sentLike('BYE')[0]!.text
  assert.match(refused, /^BYE sip:two@10\.0\.0\.2 [\s\S]*;tag=two/)
  assert.match(refused, 'Reason: SIP;cause=200;text="Call completed elsewhere"\r\nReason: Q.850;cause=26;')
  answer(alice, 200, 'two', [], '', 'BYE')
  assert.is(alice.agent.sessionCount, 1)
  alice.do(alice.agent.bye(sessionId, 0))
  assert.match(alice.sentLike('BYE')[1]!.text, /^BYE sip:one@10\.0\.0\.1 [\s\S]*;tag=one/)
})

test('a far end that answers under ever new tags makes us send no more than twenty forks get', () => {
  const { alice } = dial()
  for (let fork = 0; fork < 500; fork++) answer(alice, 200, `fork${fork}`, ['Contact: <sip:x@203.0.113.9>'], 'answer')
  assert.is(alice.sentLike('ACK').length, 20)
  assert.is(alice.sentLike('BYE').length, 19, 'all but the first')
  alice.event('answered')
})

test('hanging up before the late answer was given acknowledges first', () => {
  const alice = new Party(new Pipe(), '192.0.2.1')
  const { sessionId, actions } = alice.agent.invite({ to: CALL.to, from: CALL.from }, 0)
  alice.do(actions)
  answer(alice, 200, 'b', ['Contact: <sip:bob@10.9.9.9>', 'Content-Type: application/sdp'], 'offer')
  alice.do(alice.agent.bye(sessionId, 0))
  const methods = alice.sent.map(({ text }) => text.split(' ')[0])
  assert.equal(methods, ['INVITE', 'ACK', 'BYE'])
})

test('CANCEL copies the branch and the target of its INVITE, and is given up with it', () => {
  const { alice, sessionId } = dial()
  answer(alice, 180, 'b')
  alice.do(alice.agent.cancel(sessionId, 0))
  const [invite, cancel] = [alice.sentLike('INVITE')[0]!, alice.sentLike('CANCEL')[0]!]
  const via = /^Via: .*$/m
  assert.equal(via.exec(cancel.text)![0], via.exec(invite.text)![0])
  assert.equal(cancel.to, invite.to)
  assert.match(cancel.text, /CSeq: 1 CANCEL[\s\S]*Content-Length: 0/)
  alice.pipe.run(40_000)
  assert.equal([alice.agent.sessionCount, alice.agent.transactionCount], [0, 0])
  assert.equal(alice.kinds(), ['provisional', 'ended'])
})

test('a call that is answered as it is given up is hung up for the reason of its CANCEL', () => {
  const { alice, sessionId } = dial()
  answer(alice, 180, 'b')
  alice.do(alice.agent.cancel(sessionId, 0, [['Reason', 'Q.850;cause=19']]))
  answer(alice, 200, 'b', ['Contact: <sip:b@10.0.0.1>', 'Content-Type: application/sdp'], 'answer')
  assert.match(alice.sentLike('CANCEL')[0]!.text, '\r\nReason: Q.850;cause=19\r\n')
  assert.match(alice.sentLike('BYE')[0]!.text, '\r\nReason: Q.850;cause=19\r\n')
})

test('a far end that always wants a longer interval is called ten times, not without end', () => {
  const { alice } = dial()
  for (let seconds = 100; seconds < 300; seconds++) answer(alice, 422, 'b', [`Min-SE: ${seconds}`])
  assert.is(alice.sentLike('INVITE').length, 10)
  assert.is(alice.event('rejected').status, 422)
})

test('422 is answered with the interval that it wants', () => {
  const { alice } = dial({}, { sessionExpiresS: 90 })
  answer(alice, 422, 'b', ['Min-SE: 300'])
  const [, second] = alice.sentLike('INVITE')
  assert.match(second!.text, 'Session-Expires: 300\r\nMin-SE: 300\r\n')
  assert.match(second!.text, 'CSeq: 2 INVITE')
})

test('a response with two Vias is somebody else’s', () => {
  const { alice } = dial()
  const last = alice.sent[0]!.text
  const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(name => new RegExp(`^${name}: .*$`, 'm').exec(last)![0].trim())
  const bytes = message('SIP/2.0 486 Busy', ...copied, 'Via: SIP/2.0/UDP x', 'To: <sip:b@h>;tag=1')
  assert.equal(alice.agent.receive(bytes, PROXY, 0), [])
  assert.is(alice.agent.counters.unmatched, 1)
})

test('who was called at a public address can lead later requests to public addresses only', () => {
  const { alice, sessionId } = dial({ publicOnly: true })
  assert.is(alice.sent[0]!.to.publicOnly, true)
  answer(alice, 200, 'b', ['Contact: <sip:bob@evil.example.com:6379;transport=tcp>'], 'answer')
  const elsewhere = { transport: 'tcp', host: 'evil.example.com', port: 6379, publicOnly: true }
  assert.equal(alice.sentLike('ACK').at(-1)!.to, elsewhere)
  alice.do(alice.agent.bye(sessionId, 1))
  assert.equal(alice.sentLike('BYE').at(-1)!.to, elsewhere)
})

test('who answers over a connection that it opened gets ACK, PRACK and BYE there: it may not listen at its Contact', () => {
  const contact = ['Contact: <sip:bob@192.0.2.2:5066;transport=tcp>']
  const way = { transport: 'tcp', host: '192.0.2.2', port: 49_152 } as const
  for (const [isTheirs, connectionId] of [[true, 'c7'] as const, [false, undefined] as const]) {
    const { alice, sessionId } = dial({ target: way })
    const sender = { ...way, connectionId: 'c7', isTheirs }
    answer(alice, 183, 'b', [...contact, 'Require: 100rel', 'RSeq: 1'], '', 'INVITE', sender)
    answer(alice, 200, 'b', contact, 'answer', 'INVITE', sender)
    alice.do(alice.agent.bye(sessionId, 1))
    for (const method of ['PRACK', 'ACK', 'BYE']) {
      const { to } = alice.sentLike(method).at(-1)!
      assert.equal([to.transport, to.port, to.connectionId], ['tcp', 5066, connectionId], method)
    }
  }
})

test('who answers at a public address with a private Contact is behind a NAT: the way of the INVITE leads to it', () => {
  const { alice } = dial({ publicOnly: true })
  answer(alice, 200, 'b', ['Contact: <sip:bob@10.0.0.5:5062>'], 'answer')
  assert.equal(alice.sentLike('ACK').at(-1)!.to, { transport: 'udp', host: '192.0.2.2', port: 5060, publicOnly: true })
})

test('so is who was called by a private Contact at another address, where it has registered from, and nobody else', () => {
  const ackTo = (contact: string, request: Partial<InviteRequest> = {}): string => {
    const { alice } = dial({ to: 'sip:bob@10.0.0.5:5062', target: { ...PROXY, host: '10.9.0.1' }, ...request })
    answer(alice, 200, 'b', [`Contact: <${contact}>`], 'answer')
    return alice.sentLike('ACK').at(-1)!.to.host
  }
  assert.is(ackTo('sip:bob@10.0.0.5:5062'), '10.9.0.1')
  assert.is(ackTo('sip:bob@10.0.0.7:5062'), '10.0.0.7')
  assert.is(ackTo('sip:bob@10.0.0.5:5062', { route: ['<sip:10.9.0.1;lr>'] }), '10.0.0.5')
})

test.run()
