import * as assert from 'uvu/assert'
import type { Peer, UserAgentOptions } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, message, Party, Pipe } from './pipe.ts'

const test = suite('sip/incoming-request')
const PHONE: Peer = { transport: 'udp', host: '198.51.100.7', port: 40_000 }

interface Parts {
  uri?: string
  via?: string
  to?: string
  cseq?: number
  extra?: string[]
  body?: string
  callId?: string
}

function raw(method: string, { uri, via, to, cseq, extra, body: content = '', callId }: Parts = {}): Uint8Array {
  const head = message(
    `${method} ${uri ?? 'sip:bob@192.0.2.2'} SIP/2.0`,
    `Via: ${via ?? `SIP/2.0/UDP 10.0.0.5:5060;rport;branch=z9hG4bK${method}${cseq ?? 1}`}`,
    'From: "Phone" <sip:phone@example.net>;tag=p',
    `To: ${to ?? '<sip:bob@192.0.2.2>'}`,
    `Call-ID: ${callId ?? 'call1'}`,
    `CSeq: ${cseq ?? 1} ${method === 'ACK' ? 'ACK' : method}`,
    'Contact: <sip:phone@10.0.0.5:5060>',
    ...(extra ?? []),
    `Content-Length: ${content.length}`,
  )
  return Buffer.concat([head, Buffer.from(content)])
}

function party(options: Partial<UserAgentOptions> = {}): Party {
  return new Party(new Pipe(), '192.0.2.2', options)
}

/** Feeds a request. @returns the messages that are sent because of it */
function feed(bob: Party, bytes: Uint8Array, from = PHONE, now = 0): string[] {
  const before = bob.sent.length
  bob.do(bob.agent.receive(bytes, from, now))
  return bob.sent.slice(before).map(({ text }) => text)
}

const statusOf = (texts: string[]): number => Number(/^SIP\/2\.0 (\d+)/.exec(texts.at(-1) ?? '')?.[1])
const toOf = (text: string): string => /^To: (.*)$/m.exec(text)![1]!.trim()

test('responses go to the source address and port, with received and rport filled in', () => {
  const bob = party()
  feed(bob, raw('INVITE'))
  const { text, to } = bob.sent[0]!
  assert.equal([to.host, to.port], ['198.51.100.7', 40_000])
  assert.match(text, 'Via: SIP/2.0/UDP 10.0.0.5:5060;rport=40000;branch=z9hG4bKINVITE1;received=198.51.100.7')
})

test('rport is filled in also where there is a space behind it (RFC 3581 §4)', () => {
  const bob = party()
  feed(bob, raw('OPTIONS', { via: 'SIP / 2.0 / UDP 10.0.0.5 : 5070 ; rport ; branch = z9hG4bKa' }))
  assert.match(bob.sent[0]!.text, ';rport=40000; branch = z9hG4bKa;received=198.51.100.7\r\n')
})

test('without rport responses go to the source address at the port of Via', () => {
  const bob = party()
  feed(bob, raw('OPTIONS', { via: 'SIP/2.0/UDP 10.0.0.5:5070;branch=z9hG4bKa;received=1.2.3.4' }))
  const { text, to } = bob.sent[0]!
  assert.equal([to.host, to.port], ['198.51.100.7', 5070])
  assert.match(text, ';branch=z9hG4bKa;received=198.51.100.7\r\n')
  assert.not.match(text, '1.2.3.4')
})

test('over TCP responses go back on the connection', () => {
  const bob = party()
  feed(bob, raw('OPTIONS', { via: 'SIP/2.0/TCP 10.0.0.5;branch=z9hG4bKa' }), {
    ...PHONE,
    transport: 'tcp',
    connectionId: 'c1',
  })
  assert.is(bob.sent[0]!.to.connectionId, 'c1')
})

test('an INVITE gets 100 at once, and Record-Route comes back in 180 and 200', () => {
  const bob = party()
  const [trying] = feed(
    bob,
    raw('INVITE', { extra: ['Record-Route: <sip:p2;lr>, <sip:p1;lr>', 'Record-Route: <sip:p0;lr>'] }),
  )
  assert.match(trying!, /^SIP\/2\.0 100 Trying/)
  const { sessionId } = bob.event('incoming')
  bob.do(bob.agent.provisional(sessionId, 183, body('early'), 0))
  bob.do(bob.agent.accept(sessionId, body('answer'), 0))
  for (const { text } of bob.sent.slice(1)) {
    assert.match(text, 'Record-Route: <sip:p2;lr>, <sip:p1;lr>\r\nRecord-Route: <sip:p0;lr>\r\n')
    assert.match(text, /To: <sip:bob@192\.0\.2\.2>;tag=\w+/)
    assert.match(text, 'Contact: <sip:bob@192.0.2.2:5060>')
  }
  assert.is(toOf(bob.sent[1]!.text), toOf(bob.sent[2]!.text))
})

/** A confirmed call, with our tag in its To. */
function confirmed(extra: string[] = [], options: Partial<UserAgentOptions> = {}, from = PHONE) {
  const bob = party(options)
  feed(bob, raw('INVITE', { extra }), from)
  const { sessionId } = bob.event('incoming')
  bob.do(bob.agent.accept(sessionId, body('answer'), 0))
  const to = toOf(bob.sent.at(-1)!.text)
  feed(bob, raw('ACK', { to, via: 'SIP/2.0/UDP 10.0.0.5;rport;branch=z9hG4bKack' }), from)
  bob.event('confirmed')
  return { bob, sessionId, to }
}

test('our requests follow the route set of loose routers', () => {
  const { bob, sessionId } = confirmed(['Record-Route: <sip:p1.example.com:5080;lr>, <sip:p0.example.com;lr>'])
  bob.do(bob.agent.bye(sessionId, 0))
  const { text, to } = bob.sent.at(-1)!
  assert.match(text, /^BYE sip:phone@10\.0\.0\.5:5060 SIP\/2\.0\r\n/)
  assert.match(text, 'Route: <sip:p1.example.com:5080;lr>\r\nRoute: <sip:p0.example.com;lr>\r\n')
  assert.equal([to.host, to.port], ['p1.example.com', 5080])
})

test('a strict router gets its own URI as the target and ours at the end of Route', () => {
  const { bob, sessionId } = confirmed(['Record-Route: <sip:strict.example.com>, <sip:p0.example.com;lr>'])
  bob.do(bob.agent.bye(sessionId, 0))
  const { text, to } = bob.sent.at(-1)!
  assert.match(text, /^BYE sip:strict\.example\.com SIP\/2\.0\r\n/)
  assert.match(text, 'Route: <sip:p0.example.com;lr>\r\nRoute: <sip:phone@10.0.0.5:5060>\r\n')
  assert.is(to.host, 'strict.example.com')
})

test('a re-INVITE moves the remote target and keeps the route set', () => {
  const { bob, sessionId, to } = confirmed(['Record-Route: <sip:p0.example.com;lr>'])
  const moved = Buffer.from(raw('INVITE', { to, cseq: 2, extra: ['Record-Route: <sip:other;lr>'] }))
  feed(bob, Buffer.from(moved.toString().replace('Contact: <sip:phone@10.0.0.5:5060>', 'Contact: <sip:new@10.0.0.6>')))
  bob.do(bob.agent.acceptReinvite(sessionId, body('again'), 0))
  feed(bob, raw('ACK', { to, cseq: 2, via: 'SIP/2.0/UDP 10.0.0.5;branch=z9hG4bKack2' }))
  bob.event('reinviteConfirmed')
  bob.do(bob.agent.bye(sessionId, 0))
  assert.match(
    bob.sent.at(-1)!.text,
    /^BYE sip:new@10\.0\.0\.6 SIP\/2\.0\r\n[\s\S]*Route: <sip:p0\.example\.com;lr>\r\n/,
  )
})

test('over TCP our requests use the connection of the dialog', () => {
  const tcp: Peer = { ...PHONE, transport: 'tcp', connectionId: 'c7' }
  const bob = party()
  const invite = Buffer.from(raw('INVITE', { via: 'SIP/2.0/TCP 10.0.0.5;branch=z9hG4bKt' })).toString()
  feed(
    bob,
    Buffer.from(invite.replace('Contact: <sip:phone@10.0.0.5:5060>', 'Contact: <sip:phone@10.0.0.5;transport=tcp>')),
    tcp,
  )
  const { sessionId } = bob.event('incoming')
  bob.do(bob.agent.accept(sessionId, body('answer'), 0))
  assert.match(bob.sent.at(-1)!.text, 'Contact: <sip:bob@192.0.2.2:5060;transport=tcp>')
  feed(bob, raw('ACK', { to: toOf(bob.sent.at(-1)!.text), via: 'SIP/2.0/TCP 10.0.0.5;branch=z9hG4bKack' }), tcp)
  bob.do(bob.agent.bye(sessionId, 0))
  const { to } = bob.sent.at(-1)!
  assert.equal([to.transport, to.host, to.connectionId], ['tcp', '10.0.0.5', 'c7'])
})

test('a caller behind a NAT is called back where its packets come from', () => {
  const { bob, sessionId } = confirmed()
  bob.do(bob.agent.bye(sessionId, 0))
  const { text, to } = bob.sent.at(-1)!
  assert.match(text, /^BYE sip:phone@10\.0\.0\.5:5060 SIP/)
  assert.equal([to.host, to.port], ['198.51.100.7', 40_000])
})

test('a hop whose name leads nowhere, or that is 0.0.0.0, is left out: our requests go where the last one came from', () => {
  for (const hop of ['sip:pbx.local', 'sip:0.0.0.0', 'sips:pbx.local']) {
    const { bob, sessionId } = confirmed([`Record-Route: <${hop};lr>`])
    bob.locate = () => []
    bob.do(bob.agent.bye(sessionId, 0))
    const { text, to } = bob.sent.at(-1)!
    assert.ok(text.startsWith('BYE '), hop)
    assert.equal([to.host, to.port], [PHONE.host, PHONE.port], hop)
  }
})

test('a `sips:` Contact of a call that never was secure is reached as the call came; one that is stays on TLS (RFC 3261 §12.1.1)', () => {
  for (const [scheme, transport, wayBack] of [
    ['sip', 'udp', 'udp'],
    ['sips', 'tls', 'tls'],
  ] as const) {
    const bob = party()
    const invite = Buffer.from(raw('INVITE', { uri: `${scheme}:bob@192.0.2.2` })).toString()
    feed(bob, Buffer.from(invite.replace('<sip:phone@10.', '<sips:phone@10.')), { ...PHONE, transport })
    const { sessionId } = bob.event('incoming')
    bob.do(bob.agent.accept(sessionId, body('answer'), 0))
    const to = toOf(bob.sent.at(-1)!.text)
    // Requests over another transport do not change by which one the far end is reached.
    feed(bob, raw('ACK', { to }))
    feed(bob, raw('OPTIONS', { to, cseq: 2 }))
    bob.do(bob.agent.bye(sessionId, 0))
    assert.match(bob.sent.at(-1)!.text, /^BYE sips:phone@10\.0\.0\.5:5060 SIP/)
    assert.is(bob.sent.at(-1)!.to.transport, wayBack)
  }
})

test('whoever calls us by `sips:` gets a `sips:` Contact over TLS (RFC 3261 §12.1.1): the Request-URI says so, or the Record-Route or Contact that leads back', () => {
  const answered = (transport: 'tls' | 'tcp', uri: string, contact: string, extra: string[] = []): string => {
    const bob = party()
    const invite = Buffer.from(raw('INVITE', { uri, extra })).toString()
    feed(bob, Buffer.from(invite.replace('<sip:phone@10.', `<${contact}:phone@10.`)), { ...PHONE, transport })
    bob.do(bob.agent.accept(bob.event('incoming').sessionId, body('answer'), 0))
    return /^Contact: (\S+)/m.exec(bob.sent.at(-1)!.text)![1]!
  }
  assert.match(answered('tls', 'sips:bob@192.0.2.2', 'sips'), /^<sips:bob@[\d.:]+>$/)
  assert.match(answered('tls', 'sips:bob@192.0.2.2', 'sip'), /^<sips:/)
  assert.match(answered('tls', 'sip:bob@192.0.2.2', 'sips'), /^<sips:/)
  assert.match(answered('tls', 'sip:bob@192.0.2.2', 'sip', ['Record-Route: <sips:10.0.0.9;lr>']), /^<sips:/)
  const edge = ['Record-Route: <sip:10.0.0.9;transport=tls;lr>']
  assert.match(answered('tls', 'sip:bob@192.0.2.2', 'sips', edge), /^<sip:.*;transport=tls>$/)
  assert.match(answered('tcp', 'sips:bob@192.0.2.2', 'sips'), /^<sip:.*;transport=tcp>$/, 'nobody could reach it there')
})

test('what the general rules refuse is refused with the status they name', () => {
  const cases: [string, Parts, number, string?][] = [
    ['REGISTER', {}, 405, 'Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE, PRACK, REFER, NOTIFY'],
    ['INVITE', { extra: ['Require: timer, path'] }, 420, 'Unsupported: path'],
    ['INVITE', { uri: 'mailto:bob@example.com' }, 416],
    ['INVITE', { body: '<x/>', extra: ['Content-Type: text/xml'] }, 415, 'Accept: application/sdp'],
    [
      'INVITE',
      { body: 'x', extra: ['Content-Type: application/sdp', 'Content-Encoding: gzip'] },
      415,
      'Accept-Encoding: identity',
    ],
    ['BYE', { to: '<sip:bob@192.0.2.2>;tag=unknown' }, 481],
    ['BYE', {}, 481],
    ['INFO', { to: '<sip:bob@192.0.2.2>;tag=unknown' }, 481],
    ['CANCEL', {}, 481],
    ['INVITE', { to: '<sip:bob@192.0.2.2>;tag=unknown' }, 481],
    ['INVITE', { extra: ['Session-Expires: 30', 'Supported: timer'] }, 422, 'Min-SE: 90'],
  ]
  for (const [method, parts, status, line] of cases) {
    const bob = party()
    const texts = feed(bob, raw(method, parts))
    assert.is(statusOf(texts), status, `${method} ${JSON.stringify(parts)}`)
    if (line !== undefined) assert.match(texts.at(-1)!, line)
    assert.equal(bob.events, [])
  }
})

test('an INVITE without a usable Contact is answered 400', () => {
  for (const contact of ['*', 'nonsense', '<tel:+1>']) {
    const text = Buffer.from(raw('INVITE')).toString().replace('<sip:phone@10.0.0.5:5060>', contact)
    assert.is(statusOf(feed(party(), Buffer.from(text))), 400)
  }
})

test('a storm of requests inside a call takes no room of others: beyond its share they are refused and counted, and its BYE ends it', () => {
  for (const [method, share] of [
    ['INVITE', 50],
    ['OPTIONS', 1000],
  ] as const) {
    const { bob, to } = confirmed()
    const idle = bob.agent.transactionCount
    const refusals = new Map<number, number>()
    for (let cseq = 2; cseq < 3002; cseq++) {
      const status = statusOf(feed(bob, raw(method, { to, cseq, body: method === 'INVITE' ? 'x' : '' })))
      refusals.set(status, (refusals.get(status) ?? 0) + 1)
    }
    assert.is(bob.agent.transactionCount - idle, share)
    assert.equal([refusals.get(503), bob.agent.counters.transactionsRefused], [3000 - share, 3000 - share])
    assert.is(statusOf(feed(bob, raw('BYE', { to, cseq: 5000 }))), 200)
    assert.is(bob.event('ended').cause, 'bye')
    bob.do(bob.agent.advance(64 * 500 + 10_000))
    assert.equal([bob.agent.transactionCount, bob.agent.sessionCount], [0, 0])
  }
})

test('room is made again as answers need no repeating', () => {
  const { bob, to } = confirmed()
  for (let cseq = 2; cseq < 1100; cseq++) feed(bob, raw('OPTIONS', { to, cseq }))
  assert.is(statusOf(feed(bob, raw('OPTIONS', { to, cseq: 1100 }))), 503)
  bob.do(bob.agent.advance(33_000))
  assert.is(statusOf(feed(bob, raw('OPTIONS', { to, cseq: 1101 }), PHONE, 33_000)), 200)
})

test('OPTIONS says what we can, with the status of the owner', () => {
  const [ok] = feed(party(), raw('OPTIONS'))
  assert.match(ok!, /^SIP\/2\.0 200 OK[\s\S]*Allow: INVITE[\s\S]*Accept: application\/sdp[\s\S]*Supported: timer/)
  for (const also of ['Accept-Encoding: identity', 'Accept-Language: en']) assert.match(ok!, `\r\n${also}\r\n`)
  const draining = party({ optionsStatus: () => ({ status: 503, reason: 'Draining', retryAfterS: 30 }) })
  assert.match(feed(draining, raw('OPTIONS'))[0]!, /^SIP\/2\.0 503 Draining[\s\S]*Retry-After: 30/)
  const { bob, to } = confirmed()
  assert.is(statusOf(feed(bob, raw('OPTIONS', { to, cseq: 2 }))), 200)
})

test('the same INVITE by another path is answered 482', () => {
  const bob = party()
  feed(bob, raw('INVITE'))
  assert.is(statusOf(feed(bob, raw('INVITE', { via: 'SIP/2.0/UDP 10.0.0.5;branch=z9hG4bKother' }))), 482)
  assert.is(bob.kinds().length, 1)
})

test('a repeated INVITE gets the last response again and no second event', () => {
  const bob = party()
  feed(bob, raw('INVITE'))
  bob.do(bob.agent.provisional(bob.event('incoming').sessionId, 180, null, 0))
  assert.is(statusOf(feed(bob, raw('INVITE'))), 180)
  bob.event('incoming')
  assert.is(bob.agent.counters.retransmissionsReceived, 1)
})

test('INFO brings DTMF, in both content types, and others are answered 415', () => {
  const { bob, to } = confirmed()
  const info = (cseq: number, type: string, content: string) =>
    statusOf(feed(bob, raw('INFO', { to, cseq, extra: [`Content-Type: ${type}`], body: content })))
  assert.is(info(2, 'application/dtmf-relay', 'Signal=5\r\nDuration=100\r\n'), 200)
  assert.is(info(3, 'Application/DTMF', '#'), 200)
  assert.is(info(4, 'text/plain', 'hello'), 415)
  const keys = bob.events.flatMap(event => (event.kind === 'info' ? [event.key] : []))
  assert.equal(keys, [
    { digit: '5', durationMs: 100 },
    { digit: '#', durationMs: 160 },
  ])
})

test('an INFO whose unreadable body may be ignored is answered 200, and brings no key; one that must be handled 415', () => {
  const { bob, to } = confirmed()
  const info = (cseq: number, disposition: string) => {
    const extra = ['Content-Type: application/x-vendor', `Content-Disposition: ${disposition}`]
    return statusOf(feed(bob, raw('INFO', { to, cseq, extra, body: '5' })))
  }
  assert.is(info(2, 'render;handling=optional'), 200)
  assert.is(info(3, 'render;handling=required'), 415)
  assert.is(info(4, 'render'), 415)
  assert.not(bob.events.some(event => event.kind === 'info'))
  assert.is(bob.agent.counters.keysRefused, 0)
})

test('Allow of a call, and of OPTIONS inside of it, names only what is accepted there (RFC 3261 §13.2.1)', () => {
  const { bob, to } = confirmed([], { registrarRealm: 'realm' })
  const allowed = (text: string): string => /\r\nAllow: ([^\r]*)/.exec(text)![1]!
  assert.match(allowed(feed(bob, raw('OPTIONS')).at(-1)!), /REGISTER/)
  const ok = bob.sentLike('SIP/2.0 200').find(({ text }) => text.includes('CSeq: 1 INVITE'))!
  const inside = allowed(feed(bob, raw('OPTIONS', { to, cseq: 2 })).at(-1)!)
  assert.is(allowed(ok.text), inside)
  assert.not.match(inside, /REGISTER|SUBSCRIBE|MESSAGE/)
  assert.is(allowed(feed(bob, raw('MESSAGE', { to, cseq: 3 })).at(-1)!), inside)
})

test('an INFO that names no key, or several, is answered 400 and counted; an empty one, as for keep-alive, 200', () => {
  const { bob, to } = confirmed()
  const relay = 'application/dtmf-relay'
  const bodies: [string, string][] = [
    [relay, 'Signal=Q\r\nDuration=100\r\n'],
    [relay, 'Signal=\r\nDuration=100\r\n'],
    [relay, 'Signal=12 3'],
    [relay, 'Signal=16'],
    [relay, 'Signal=!'],
    [relay, 'Signal=1\r\nSignal=2\r\n'],
    [relay, 'Duration=100\r\n'],
    [relay, '5'],
    [relay, '\0\0\0'],
    ['application/dtmf', 'Q'],
    ['application/dtmf', '12345'],
    ['application/dtmf', 'Signal=5'],
    ['application/dtmf', ' \r\n'],
    ['application/dtmf', '5'.repeat(2000)],
  ]
  bodies.forEach(([type, body], n) => {
    const request = raw('INFO', { to, cseq: n + 2, extra: [`Content-Type: ${type}`], body })
    assert.match(feed(bob, request).at(-1)!, /^SIP\/2\.0 400 No Such Key\r\n/, body)
  })
  assert.is(bob.agent.counters.keysRefused, bodies.length)
  assert.is(statusOf(feed(bob, raw('INFO', { to, cseq: 100 }))), 200)
  assert.not(bob.events.some(event => event.kind === 'info'))
})

test('an INFO with a key is refused with 415 where keys come in another way, and its Accept does not name it', () => {
  const { bob, to } = confirmed([], { takesKeys: sessionId => sessionId === '' })
  const infoOf = (cseq: number, body: string) =>
    feed(bob, raw('INFO', { to, cseq, extra: ['Content-Type: application/dtmf-relay'], body })).at(-1)!
  for (const [n, body] of ['Signal=5\r\nDuration=100\r\n', 'Signal=Q'].entries()) {
    const answer = infoOf(2 + n, body)
    assert.is(statusOf([answer]), 415)
    assert.match(answer, /^Accept: application\/sdp, multipart\/mixed\r\n/m)
  }
  assert.is(bob.agent.counters.keysRefused, 2)
  assert.not(bob.events.some(event => event.kind === 'info'))
  assert.is(statusOf(feed(bob, raw('INFO', { to, cseq: 4 }))), 200)
})

test('a request whose CSeq is not higher than the last is answered 500', () => {
  const { bob, to } = confirmed()
  const info = (cseq: number, branch: string) =>
    statusOf(feed(bob, raw('INFO', { to, cseq, via: `SIP/2.0/UDP 10.0.0.5;rport;branch=z9hG4bK${branch}` })))
  assert.equal([info(5, 'a'), info(4, 'b'), info(5, 'c'), info(6, 'd')], [200, 500, 500, 200])
})

const MIXED = 'Content-Type: multipart/mixed;boundary=b'
const mixed = (...parts: string[]): string => `${parts.map(part => `--b\r\n${part}\r\n`).join('')}--b--`
const SDP_PART = 'Content-Type: application/sdp\r\n\r\noffer'

test('an offer beside other parts is an offer; what has to be read and cannot be is refused (RFC 5621 §4.1)', () => {
  const isup = (more = ''): string => `Content-Type: application/isup;version=itu-t92+${more}\r\n\r\n\x01`
  const offered = (...parts: string[]): string | number => {
    const bob = party()
    const status = statusOf(feed(bob, raw('INVITE', { extra: [MIXED], body: mixed(...parts) })))
    if (status !== 100) return status
    const { offer } = bob.event('incoming')
    return offer === null ? 'none' : Buffer.from(offer.bytes).toString()
  }
  assert.is(offered(SDP_PART, isup()), 'offer')
  assert.is(offered(isup('\r\nContent-Disposition: signal;handling=optional'), SDP_PART), 'offer')
  assert.is(offered(SDP_PART, isup('\r\nContent-Disposition: signal;handling=required')), 415)
  assert.is(offered(isup()), 415)
  assert.is(offered(isup('\r\nContent-Disposition: signal;handling=optional')), 'none')
  assert.is(offered(), 415)
})

test('a body that need not be read is left out of an INVITE that has no other (RFC 3261 §20.11)', () => {
  const bob = party()
  const extra = ['Content-Type: application/isup', 'Content-Disposition: signal;handling=optional']
  assert.is(statusOf(feed(bob, raw('INVITE', { extra, body: 'x' }))), 100)
  assert.is(bob.event('incoming').offer, null)
})

test('an UPDATE without an offer is answered at once, one with an offer by the owner', () => {
  const { bob, sessionId, to } = confirmed()
  assert.is(statusOf(feed(bob, raw('UPDATE', { to, cseq: 2 }))), 200)
  assert.equal(feed(bob, raw('UPDATE', { to, cseq: 3, extra: ['Content-Type: application/sdp'], body: 'offer' })), [])
  assert.is(Buffer.from(bob.event('reinvite').offer!.bytes).toString(), 'offer')
  bob.do(bob.agent.acceptReinvite(sessionId, body('answer'), 0))
  assert.match(bob.sent.at(-1)!.text, /^SIP\/2\.0 200[\s\S]*CSeq: 3 UPDATE[\s\S]*answer$/)
})

test('a re-INVITE that comes before a lost ACK is accepted (RFC 5407 §3.1.4), unless that ACK has the answer to our offer', () => {
  for (const offer of ['offer', '']) {
    const bob = party()
    feed(bob, raw('INVITE', { body: offer, extra: offer === '' ? [] : ['Content-Type: application/sdp'] }))
    bob.do(bob.agent.accept(bob.event('incoming').sessionId, body('ours'), 0))
    const to = toOf(bob.sent.at(-1)!.text)
    const change = { to, cseq: 2, extra: ['Content-Type: application/sdp'], body: 'change' }
    const status = statusOf(feed(bob, raw('INVITE', change)))
    assert.is(status, offer === '' ? 491 : 100)
    bob.pipe.run(600)
    assert.is(bob.sentLike('SIP/2.0 200').length, offer === '' ? 2 : 1, 'the first 200 is sent again')
    if (offer !== '') assert.ok(bob.event('confirmed'))
  }
})

test('a re-INVITE can be cancelled and the call goes on', () => {
  const { bob, sessionId, to } = confirmed()
  feed(bob, raw('INVITE', { to, cseq: 2 }))
  const texts = feed(bob, raw('CANCEL', { to, cseq: 2, via: 'SIP/2.0/UDP 10.0.0.5:5060;rport;branch=z9hG4bKINVITE2' }))
  assert.equal(
    texts.map(text => /^SIP\/2\.0 (\d+)/.exec(text)![1]),
    ['200', '487'],
  )
  assert.equal(bob.agent.acceptReinvite(sessionId, body('late'), 0), [])
  assert.is(bob.agent.sessionCount, 1)
})

test('an invitation that is not answered when its Expires is over ends with 487 (RFC 3261 §13.3.1); 0, and more than an hour, are no time', () => {
  for (const [expires, at] of [
    ['20', 20_000],
    ['0', null],
    ['4294967295', null],
  ] as const) {
    const bob = party()
    feed(bob, raw('INVITE', { extra: [`Expires: ${expires}`] }))
    bob.do(bob.agent.provisional(bob.event('incoming').sessionId, 180, null, 0))
    bob.do(bob.agent.advance((at ?? 50_000) - 1))
    assert.is(bob.sentLike('SIP/2.0 487').length, 0)
    bob.do(bob.agent.advance(at ?? 50_000))
    assert.is(bob.sentLike('SIP/2.0 487').length, at === null ? 0 : 1)
    if (at !== null) assert.match(bob.sent.at(-1)!.text, /^Reason: Q\.850;cause=102;/m)
    if (at !== null) assert.equal([bob.event('ended').by, bob.event('ended').cause], ['remote', 'cancel'])
  }
  const bob = party()
  const extra = ['Expires: 20']
  feed(bob, raw('INVITE', { extra }))
  bob.do(bob.agent.accept(bob.event('incoming').sessionId, body('answer'), 10_000))
  const to = toOf(bob.sentLike('SIP/2.0 200')[0]!.text)
  feed(bob, raw('ACK', { to }), PHONE, 10_000)
  bob.do(bob.agent.advance(30_000))
  assert.is(bob.agent.sessionCount, 1, 'an answered call has no such time')
})

test('BYE before our 200 ends the INVITE with 487', () => {
  const bob = party()
  feed(bob, raw('INVITE'))
  const { sessionId } = bob.event('incoming')
  bob.do(bob.agent.provisional(sessionId, 180, null, 0))
  const texts = feed(bob, raw('BYE', { to: toOf(bob.sent.at(-1)!.text), cseq: 2 }))
  assert.equal(
    texts.map(text => /^SIP\/2\.0 (\d+)/.exec(text)![1]),
    ['200', '487'],
  )
  assert.match(texts[1]!, /^Reason: Q\.850;cause=16;text="Normal call clearing"\r$/m)
  assert.is(bob.event('ended').cause, 'bye')
})

test('a call that rings for long has its provisional response repeated each minute', () => {
  const bob = party()
  feed(bob, raw('INVITE'))
  bob.do(bob.agent.provisional(bob.event('incoming').sessionId, 180, null, 0))
  bob.pipe.run(130_000)
  assert.equal(
    bob.sentLike('SIP/2.0 180').map(({ at }) => at),
    [0, 60_000, 120_000],
  )
})

test('headers of the owner cannot break out of their line', () => {
  const bob = party()
  feed(bob, raw('INVITE'))
  const headers = [
    ['X-Note', 'a\r\nEvil: yes'],
    ['Bad Name', 'x'],
  ] as const
  bob.do(bob.agent.reject(bob.event('incoming').sessionId, 486, 0, { reason: 'Busy\r\nEvil: yes', headers }))
  const { text } = bob.sent.at(-1)!
  assert.not.match(text, /^Evil/m)
  assert.not.match(text, 'Bad Name')
})

test('malformed, oversized and unmatched messages are counted', () => {
  const bob = party()
  feed(bob, Buffer.from('rubbish'))
  feed(bob, Buffer.alloc(70_000, 'a'))
  feed(bob, raw('ACK', { to: '<sip:bob@h>;tag=x' }))
  feed(bob, Buffer.from(Buffer.from(raw('OPTIONS')).toString().replace('CSeq: 1', 'CSeq: x')))
  const { malformed, oversized, unmatched, dropped } = bob.agent.counters
  assert.equal([malformed, oversized, unmatched, dropped], [2, 1, 1, 2])
  assert.is(statusOf(bob.sent.map(({ text }) => text)), 400)
})

const MANY = Array.from({ length: 300 }, () => 'X: a')
const LONG = [`X: ${'a'.repeat(20_000)}`]

test('a message that is too long is refused with 513, one with too long a body with 413 (RFC 3261 §21.5.7, §21.4.11)', () => {
  const bob = party()
  const cut = raw('INVITE', { extra: Array.from({ length: 90 }, () => `X: ${'a'.repeat(500)}`) }).subarray(0, 32_768)
  const cases: [Uint8Array, number][] = [
    [raw('INVITE', { extra: LONG }), 513],
    [raw('OPTIONS', { extra: MANY }), 513],
    [cut, 513],
    [Buffer.from(Buffer.from(raw('INVITE')).toString().replace('Length: 0', 'Length: 70000')), 413],
  ]
  for (const [bytes, status] of cases) {
    const texts = feed(bob, bytes)
    assert.is(statusOf(texts), status)
    assert.match(texts[0]!, /^Via: .*\r\nFrom: .*tag=p\r\nTo: .*;tag=.*\r\nCall-ID: call1\r\nCSeq: 1 /m)
  }
  assert.equal([bob.agent.counters.oversized, bob.agent.counters.dropped], [4, 0])
  assert.equal([bob.agent.transactionCount, bob.events.length], [0, 0])
})

test('what comes after a header that is too long is copied as well', () => {
  const bytes = Buffer.from(raw('INVITE')).toString().replace('From:', `${LONG[0]}\r\nFrom:`)
  assert.is(statusOf(feed(party(), Buffer.from(bytes))), 513)
})

test('a message that is too long is dropped if it is an ACK, lacks its way back, or draws more than it has', () => {
  const bob = party()
  const via = 'SIP/2.0/UDP 10.0.0.5:5060;branch=z9hG4bKa'
  const compact = Buffer.from(raw('INVITE'))
    .toString()
    .replace(/^Via: .*\r\n/m, 'v:a\r\n'.repeat(124))
  const dropped = [
    raw('ACK', { extra: LONG }),
    raw('INVITE', { extra: [`v: ${via}${LONG[0]}`] }),
    raw('INVITE', { extra: [...MANY, `Via: ${via}`] }),
    Buffer.from(compact),
  ]
  for (const bytes of dropped) assert.equal(feed(bob, bytes), [])
  assert.equal([bob.agent.counters.oversized, bob.agent.counters.dropped], [dropped.length, dropped.length])
})

test('over a stream, which nobody forges, a short head with too long a body is refused too', () => {
  const via =
    'Via: SIP/2.0/TCP a;branch=z9hG4bKa\r\nFrom: <sip:a@b>;tag=p\r\nTo: <sip:b>\r\nCall-ID: c\r\nCSeq: 1 OPTIONS\r\n'
  const short = Buffer.from(`OPTIONS sip:b SIP/2.0\r\n${via}Content-Length: 70000\r\n\r\n`)
  assert.equal(feed(party(), short), [])
  assert.is(statusOf(feed(party(), short, { ...PHONE, transport: 'tcp', connectionId: 'one' })), 413)
})

test('a quoted NUL is refused with 400, wherever it stands, and does not go out again', () => {
  for (const to of ['"a\\\0b" <sip:bob@192.0.2.2>', '<sip:bob@192.0.2.2>;x="\\\0"']) {
    const answers = feed(party(), raw('OPTIONS', { to }))
    assert.is(statusOf(answers), 400)
    assert.not.match(answers.at(-1)!, '\0')
  }
  assert.is(statusOf(feed(party(), raw('OPTIONS', { extra: ['Subject: "\\\0"'] }))), 400)
})

test('Allow names what is taken: REGISTER, SUBSCRIBE and MESSAGE where phones register, and nowhere else', () => {
  for (const [options, ofPhones] of [
    [{}, false],
    [{ registrarRealm: 'r' }, true],
  ] as const) {
    const pipe = new Pipe()
    const us = new Party(pipe, '192.0.2.1', options)
    const ask = (method: string): string => {
      const lines = [
        `${method} sip:192.0.2.1 SIP/2.0`,
        `Via: SIP/2.0/UDP 192.0.2.9:5060;branch=z9hG4bK${method}`,
        'From: <sip:a@192.0.2.9>;tag=1',
        'To: <sip:192.0.2.1>',
        `Call-ID: ${method}`,
        `CSeq: 1 ${method}`,
        'Contact: <sip:a@192.0.2.9>',
        'Max-Forwards: 70',
        'Content-Length: 0',
      ]
      us.do(us.agent.receive(message(...lines), { transport: 'udp', host: '192.0.2.9', port: 5060 }, 0))
      return us.sent.at(-1)!.text
    }
    const named = /^Allow: (.*)\r$/m.exec(ask('OPTIONS'))![1]!.split(', ')
    for (const method of ['REGISTER', 'SUBSCRIBE', 'MESSAGE']) {
      assert.is(named.includes(method), ofPhones, method)
      assert.is(ask(method).startsWith('SIP/2.0 405'), !ofPhones, method)
    }
    assert.ok(ask('PUBLISH').startsWith('SIP/2.0 405'))
    assert.not(named.includes('PUBLISH'))
  }
})

test.run()
