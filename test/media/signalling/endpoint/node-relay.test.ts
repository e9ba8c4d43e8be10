import * as assert from 'uvu/assert'
import { NodeRelay } from '../../../../media/signalling/endpoint/node-relay.ts'
import type { Peer } from '../../../../sip/agent-types.ts'
import type { SipRequest } from '../../../../sip/message/message.ts'
import { parseMessage } from '../../../../sip/message/parse.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling: relay between nodes')

const NODE = { host: '10.0.0.2', port: 5060 }
const PHONE: Peer = { transport: 'ws', host: '192.0.2.9', port: 40_000 }
const CALLER: Peer = { transport: 'tcp', host: '10.0.0.1', port: 33_333, connectionId: 'c7' }
const relayOf = (secret: string, node = '10.0.0.2:5060') =>
  new NodeRelay({
    secret,
    node,
    local: () => NODE,
    connectionTo: ({ port }) => (port === PHONE.port ? 'ws one' : null),
  })
const [ours, others] = [relayOf('one secret'), relayOf('another')]

const message = (start: string, fields: string[], body = '') =>
  Buffer.from([start, ...fields, `Content-Length: ${body.length}`, '', body].join('\r\n'))
const fieldsOf = (method: string, toTag = ''): string[] => [
  'Via: SIP/2.0/TCP 10.0.0.1:5060;branch=z9hG4bKa',
  'From: <sip:a@x>;tag=1',
  `To: <sip:b@y>${toTag}`,
  'Call-ID: c1',
  `CSeq: 7 ${method}`,
  'Contact: <sip:a@10.0.0.1:5070;transport=tcp>',
]
const fieldsNamed = (bytes: Uint8Array, name: string): string[] =>
  Buffer.from(bytes)
    .toString()
    .split('\r\n')
    .filter(line => line.startsWith(`${name}: `))
    .map(line => line.slice(name.length + 2))

const invite = (route: string, method = 'INVITE') =>
  message(`${method} sip:b@x.invalid SIP/2.0`, [...fieldsOf(method), 'Max-Forwards: 70', `Route: ${route}`], 'v=0')

test('a request with the Route of a node goes to its phone, the answer back over its connection', () => {
  const relayed = ours.relay(invite(ours.routeTo(NODE, PHONE)), CALLER)
  assert.equal(relayed?.to, PHONE)
  const [via, below] = fieldsNamed(relayed!.bytes, 'Via')
  assert.match(via!, /^SIP\/2\.0\/WS 10\.0\.0\.2:5060;/)
  assert.match(below!, /z9hG4bKa$/)
  assert.equal([fieldsNamed(relayed!.bytes, 'Route'), fieldsNamed(relayed!.bytes, 'Max-Forwards')], [[], ['69']])
  const answer = message('SIP/2.0 180 Ringing', [`v: ${via},\r\n ${below}`, ...fieldsOf('INVITE', ';tag=2').slice(1)])
  const back = ours.relay(answer, PHONE)
  assert.equal(back?.to, CALLER)
  assert.equal(fieldsNamed(back!.bytes, 'Via'), [below])
})

test('its CANCEL has the same branch, another request has another', () => {
  const route = ours.routeTo(NODE, PHONE)
  const branches = ['INVITE', 'CANCEL', 'BYE'].map(
    method => /branch=\w+/.exec(fieldsNamed(ours.relay(invite(route, method), CALLER)!.bytes, 'Via')[0]!)?.[0],
  )
  assert.is(branches[0], branches[1])
  const later = Buffer.from(invite(route).toString().replace('7 INVITE', '8 INVITE'))
  assert.is.not(/branch=\w+/.exec(fieldsNamed(ours.relay(later, CALLER)!.bytes, 'Via')[0]!)?.[0], branches[0])
})

test('what the phone sends in the call goes to the Contact of the node that called it; nothing else does', () => {
  const routes = fieldsNamed(ours.relay(invite(ours.routeTo(NODE, PHONE)), CALLER)!.bytes, 'Record-Route')
  assert.is(routes.length, 2)
  const bye = (toTag: string) =>
    message('BYE sip:a@10.0.0.1:5070 SIP/2.0', [...fieldsOf('BYE', toTag), `Route: ${routes.join(', ')}, <sip:z;lr>`])
  const inside = ours.relay(bye(';tag=2'), PHONE)
  assert.equal(inside?.to, { transport: 'tcp', host: '10.0.0.1', port: 5070 })
  assert.equal(fieldsNamed(inside!.bytes, 'Route'), ['<sip:z;lr>'])
  assert.is(ours.relay(bye(''), PHONE)?.to, null, 'a call to the node')
})

test('only nodes make such Routes, and a message that is not to be passed on is left alone', () => {
  assert.is(ours.relay(invite(others.routeTo(NODE, PHONE)), CALLER), null)
  const route = ours.routeTo(NODE, PHONE)
  assert.is(ours.relay(invite(route.replace(/\.(\w)/, (_, c) => `.${c === 'a' ? 'b' : 'a'}`)), CALLER), null)
  assert.is(ours.relay(invite(`<sip:z;lr>, ${route}`), CALLER), null)
  assert.is(ours.relay(invite('<sip:z;lr>'), CALLER), null)
  assert.is(ours.relay(Buffer.from(invite(route).toString().replace('Forwards: 70', 'Forwards: 0')), CALLER)?.to, null)
})

/** An INVITE of a caller, which `ours` passes on to the node at 10.0.0.3. */
function passedOn(): { asked: Buffer; sent: Uint8Array; caller: Peer } {
  const caller: Peer = { transport: 'udp', host: '192.0.2.5', port: 5066 }
  const asked = invite('<sip:edge;lr>')
  const request = parseMessage(asked) as SipRequest
  const to: Peer = { transport: 'udp', host: '10.0.0.3', port: 5060 }
  const invited = { request, topVia: `${fieldsNamed(asked, 'Via')[0]};received=192.0.2.5`, replyTo: caller }
  return { asked, sent: ours.passOn(invited, to, { origin: '192.0.2.5', proven: 'conn_1' }), caller }
}

test('an INVITE that is passed on is the other node’s, with its caller and what that has proven', () => {
  const { sent, caller } = passedOn()
  const there = ours.relay(sent, { transport: 'udp', host: '10.0.0.2', port: 5060 })
  assert.equal([there?.to, there?.caller], [null, { origin: '192.0.2.5', proven: 'conn_1' }])
  assert.equal(fieldsNamed(there!.bytes, 'Route'), ['<sip:edge;lr>'])
  const [via] = fieldsNamed(sent, 'Via')
  const back = ours.relay(message('SIP/2.0 200 OK', [`Via: ${via}`, ...fieldsOf('INVITE', ';tag=2')]), CALLER)
  assert.equal(back?.to, caller)
})

test('its repeat, CANCEL and ACK follow; the way of one call leads no other to the node', () => {
  const { asked, sent, caller } = passedOn()
  for (const method of ['INVITE', 'CANCEL', 'ACK']) {
    const later = ours.relay(Buffer.from(asked.toString().replaceAll('INVITE', method)), caller)
    assert.is(later?.to?.host, '10.0.0.3')
    assert.ok(ours.relay(later!.bytes, CALLER)?.caller !== undefined, `${method} is taken`)
  }
  const other = Buffer.from(sent)
    .toString()
    .replace(/branch=z9hG4bK\w/, 'branch=z9hG4bKx')
  assert.equal(ours.relay(Buffer.from(other), CALLER)?.caller, undefined)
})

test('a request of the node in the call goes over the connection that the phone had when it was called', () => {
  const ours = relayOf('one secret')
  const [, route] = fieldsNamed(ours.relay(invite(ours.routeTo(NODE, PHONE)), CALLER)!.bytes, 'Record-Route')
  const bye = message('BYE sip:b@x.invalid SIP/2.0', [...fieldsOf('BYE', ';tag=2'), `Route: ${route}`])
  assert.equal(ours.relay(bye, CALLER)?.to, { ...PHONE, connectionId: 'ws one' })
})

test('a caller that only this node reaches is passed on by way of it, for both its requests and those of the other node', () => {
  const ours = relayOf('one secret')
  const phone: Peer = { transport: 'tls', host: '192.0.2.9', port: 40_001, connectionId: 'one two#3' }
  const asked = message('INVITE sip:b@y SIP/2.0', [...fieldsOf('INVITE'), 'Max-Forwards: 70'])
  const request = parseMessage(asked) as SipRequest
  const to: Peer = { transport: 'tcp', host: '10.0.0.3', port: 5060 }
  const invited = { request, topVia: fieldsNamed(asked, 'Via')[0]!, replyTo: phone }
  const sent = ours.passOn(invited, to, { origin: '192.0.2.9', proven: null })
  const routes = fieldsNamed(sent, 'Record-Route')
  const inside = (method: string, order: string[]) => {
    const [via, ...fields] = [...fieldsOf(method, ';tag=2'), `Route: ${order.join(', ')}`]
    return message(`${method} sip:b@y SIP/2.0`, [`${via}${method}`, ...fields])
  }
  assert.equal(ours.relay(inside('BYE', routes), to)?.to, phone)
  assert.equal(ours.relay(inside('ACK', routes.toReversed()), phone)?.to, to)
  const again = ours.relay(asked, phone)
  assert.equal(fieldsNamed(again!.bytes, 'Record-Route').length, 2)
})

const replacing = (toTag: string, named = 'Replaces') =>
  message('INVITE sip:b@y SIP/2.0', [...fieldsOf('INVITE'), `${named}: c9;to-tag=${toTag};from-tag=f`])

test('the tag of a dialog names its node to nodes with the same secret alone', () => {
  const far = relayOf('one secret', 'far.internal:5070')
  const tag = `0a1b2c${far.tagMark}`
  assert.is(ours.replacing(replacing(tag))?.node, 'far.internal:5070')
  assert.is(ours.replacing(replacing(tag, 'REPLACES'))?.node, 'far.internal:5070')
  assert.not.ok(Buffer.from(far.tagMark, 'base64url').toString('latin1').includes('internal'))
  assert.is(far.replacing(replacing(tag)), null, 'its own')
  assert.is(others.replacing(replacing(tag)), null)
  for (const forged of [
    '0a1b2c',
    '0a1b2c.',
    `0a1b2c${far.tagMark.slice(0, -1)}`,
    `0a1b2c${far.tagMark}A.`,
    '.AAAA'.repeat(9),
  ])
    assert.is(ours.replacing(replacing(forged)), null, forged)
  assert.is(ours.replacing(replacing('no-param;x')), null)
})

test('a caller whose dialog is at another node is not judged here: what it has proven is for that node to ask', () => {
  const { request } = ours.replacing(replacing(`0a${relayOf('one secret', '10.0.0.3:5060').tagMark}`))!
  const caller: Peer = { transport: 'udp', host: '10.0.0.1', port: 5070 }
  const to: Peer = { transport: 'udp', host: '10.0.0.3', port: 5060 }
  const invited = { request, topVia: request.headers.get('via')!, replyTo: caller }
  const sent = ours.passOn(invited, to, { origin: '10.0.0.1' })
  assert.equal(ours.relay(sent, to)?.caller, { origin: '10.0.0.1' })
  assert.equal(fieldsNamed(sent, 'Record-Route'), [])
})

test('the Route to a dialog lets a node take the place of that dialog, for one account, and of no other', () => {
  const far = relayOf('one secret', '10.0.0.3:5060')
  const dialog = `c9;to-tag=0a${far.tagMark};from-tag=f`
  const asking = (method: string, named: string, route = ours.joinRoute(NODE, dialog, 'live-7')) =>
    message(`${method} sip:b@y SIP/2.0`, [...fieldsOf(method), `Replaces: ${named}`, `Route: ${route}`])
  assert.is(ours.nodeOf(`0a${far.tagMark}`), '10.0.0.3:5060')
  assert.is(far.nodeOf(`0a${far.tagMark}`), null, 'its own')
  for (const method of ['INVITE', 'ACK', 'CANCEL']) {
    const taken = far.relay(asking(method, dialog), CALLER)
    assert.equal(taken?.caller, { origin: CALLER.host, proven: 'live-7', joins: true }, method)
    assert.equal(fieldsNamed(taken!.bytes, 'Route'), [])
  }
  const [stolen, forged] = [asking('INVITE', 'c8;to-tag=x;from-tag=f'), others.joinRoute(NODE, dialog, 'live-7')]
  assert.equal(far.relay(stolen, CALLER), { bytes: stolen, to: null })
  assert.is(far.relay(asking('INVITE', dialog, forged), CALLER), null)
})

test.run()
