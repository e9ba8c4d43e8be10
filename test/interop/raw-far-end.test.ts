import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import type { Product } from '../../bench/product.ts'
import { curtain } from '../e2e/scene.ts'
import { sharedProduct } from '../e2e/shared-product.ts'
import { suite } from '../harness.ts'
import { audioAt, bodyOf, field, type Raw, RawPeer, responseTo } from './peers/raw-peer.ts'

/** What programs of this machine do not say: far ends that write each byte themselves. */

const test = suite('interop/raw-far-end')
const NUMBER = '+15551234567'

let product: Product
const open: RawPeer[] = []
/** Connections of a test, which the next one must not find. */
const forgotten: string[] = []
test.before(async () => {
  product = await sharedProduct()
})
test.afterEach(async () => {
  for (const id of forgotten.splice(0)) await product.ok('DELETE', `/connections/${id}`)
  for (const peer of open.splice(0)) peer.close()
})
test.after(() => curtain(product))

const peerOver = async (transport: 'udp' | 'tcp' = 'udp'): Promise<RawPeer> => {
  const peer = await RawPeer[transport]()
  open.push(peer)
  return peer
}

let calls = 0
/** An INVITE to our echo. */
const inviteFrom = (
  { port }: RawPeer,
  transport: string,
  body: string,
  length = [`Content-Length: ${body.length}`],
): string =>
  [
    `INVITE sip:1002@127.0.0.1:${product.sip.port} SIP/2.0`,
    `Via: SIP/2.0/${transport} 127.0.0.1:${port};branch=z9hG4bK${++calls}raw;rport`,
    'Max-Forwards: 70',
    `From: <sip:far@127.0.0.1:${port}>;tag=far${calls}`,
    `To: <sip:1002@127.0.0.1>`,
    `Call-ID: raw-${calls}-${port}`,
    'CSeq: 1 INVITE',
    `Contact: <sip:far@127.0.0.1:${port}>`,
    'Content-Type: application/sdp',
    ...length,
    '',
    body,
  ].join('\r\n')

/** ACK, or another request of the dialog that an answer has begun. */
const inside = (answer: Raw, method: string, cseq: number): string =>
  [
    `${method} ${/<([^>]*)>/.exec(field(answer.text, 'contact'))?.[1]} SIP/2.0`,
    field(answer.text, 'via')
      .replace(/^/, 'Via: ')
      .replace(/branch=\w+/, `branch=z9hG4bK${++calls}in`),
    'Max-Forwards: 70',
    ...['from', 'to', 'call-id'].map(name => `${name}: ${field(answer.text, name)}`),
    `CSeq: ${cseq} ${method}`,
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n')

test('a message without a length over a connection is answered 400 before that is closed (RFC 3261 §18.3)', async () => {
  const peer = await peerOver('tcp')
  for (const length of [[], ['Content-Length: many']]) {
    peer.send(inviteFrom(peer, 'TCP', '', length), product.sip.port)
    const refused = await peer.next('\\d+')
    assert.is(refused.what, '400')
    await peer.next('closed')
  }
})

test('an offer of every payload type there is, and of more, is answered with what we have of it', async () => {
  const peer = await peerOver()
  const unknown = Array.from({ length: 95 }, (_, i) => i + 20).filter(type => type < 35 || type > 71)
  const formats = [...unknown, 0, ...Array.from({ length: 80 }, (_, i) => i + 200)]
  peer.send(inviteFrom(peer, 'UDP', audioAt(6000, formats.join(' '))), product.sip.port)
  const answer = await peer.next('[2-6]\\d\\d')
  assert.is(answer.what, '200')
  assert.match(bodyOf(answer.text), /^m=audio \d+ RTP\/AVP 0\r?$/m)
  answer.reply(inside(answer, 'ACK', 1))
  answer.reply(inside(answer, 'BYE', 2))
  await peer.next('200')
})

/** A call of ours, over a connection whose far end is this peer. */
async function callOver(peer: RawPeer, fields: object = {}, to = NUMBER): Promise<string> {
  const trunk = { name: 'Raw', kind: 'trunk', host: '127.0.0.1', port: peer.port, transport: 'udp', ...fields }
  forgotten.push((await product.ok('POST', '/connections', trunk)).id)
  return (await product.ok('POST', '/calls', { to })).id
}

const endOf = (id: string) =>
  product.until('it has ended', async () => {
    const call = await product.ok('GET', `/calls/${id}`)
    return call.ended_at === null ? null : call
  })

test('a 305 has the same Request-URI sent through the proxy that it names (RFC 3261 §21.3.4)', async () => {
  const [carrier, proxy] = [await peerOver(), await peerOver()]
  const id = await callOver(carrier, { follow_redirects: true })
  const first = await carrier.next('INVITE')
  first.reply(responseTo(first, '305 Use Proxy', [`Contact: <sip:127.0.0.1:${proxy.port}>`]))
  await carrier.next('ACK')
  const second = await proxy.next('INVITE')
  assert.is(second.text.split('\r\n')[0], first.text.split('\r\n')[0])
  assert.is(field(second.text, 'route'), `<sip:127.0.0.1:${proxy.port};lr>`)
  assert.is(field(second.text, 'diversion'), '')
  second.reply(responseTo(second, '486 Busy Here'))
  await proxy.next('ACK')
  assert.is((await endOf(id)).status, 'busy')
})

for (const [why, followRedirects, contact] of [
  ['redirections are not followed', false, '<sip:127.0.0.1:9>'],
  ['it names no proxy', true, '<tel:+15550000000>'],
] as const) {
  test(`a 305 ends the call where ${why}`, async () => {
    const carrier = await peerOver()
    const id = await callOver(carrier, { follow_redirects: followRedirects })
    const first = await carrier.next('INVITE')
    first.reply(responseTo(first, '305 Use Proxy', [`Contact: ${contact}`]))
    assert.is((await endOf(id)).sip_code, 305)
  })
}

test('a number with its trunk zero and a phone-context is the number that it is dialled for (RFC 3966 §5.1.5)', async () => {
  const peer = await peerOver()
  const route = { match: { to: '+49309876543' }, target: { type: 'echo' } }
  const { id } = await product.ok('POST', '/inbound_routes', route)
  // And one with parameters, which carriers add without `user=phone`.
  for (const uri of ['tel:030-9876543;phone-context=+49', 'sip:+49309876543;npdi;rn=+4930111@127.0.0.1']) {
    const invite = inviteFrom(peer, 'UDP', audioAt(6000))
    peer.send(invite.replace(/^INVITE \S+/, `INVITE ${uri}`), product.sip.port)
    const answer = await peer.next('[2-6]\\d\\d')
    assert.is(answer.what, '200', uri)
    answer.reply(inside(answer, 'ACK', 1))
    answer.reply(inside(answer, 'BYE', 2))
    await peer.next('200')
  }
  const called = await callOver(peer, {}, 'tel:030-1234567;phone-context=+49')
  const ours = await peer.next('INVITE')
  assert.match(ours.text, /^INVITE sip:\+49301234567@/)
  ours.reply(responseTo(ours, '486 Busy Here'))
  assert.is((await endOf(called)).to, '+49301234567')
  await product.ok('DELETE', `/inbound_routes/${id}`)
})

test('a far end that demands `auth-int` is answered for the description too (RFC 7616 §3.4.3)', async () => {
  const carrier = await peerOver()
  const id = await callOver(carrier, { auth: { username: 'u', password: 'secret of both' } })
  const first = await carrier.next('INVITE')
  first.reply(responseTo(first, '401 Unauthorized', ['WWW-Authenticate: Digest realm="r", nonce="n", qop="auth-int"']))
  await carrier.next('ACK')
  const second = await carrier.next('INVITE')
  const given = field(second.text, 'authorization')
  const [cnonce, uri] = ['cnonce', 'uri'].map(name => new RegExp(`\\b${name}="([^"]*)"`).exec(given)?.[1])
  const md5 = (text: string): string => createHash('md5').update(text, 'latin1').digest('hex')
  const ha2 = md5(`INVITE:${uri}:${md5(bodyOf(second.text))}`)
  assert.match(given, `response="${md5(`${md5('u:r:secret of both')}:n:00000001:${cnonce}:auth-int:${ha2}`)}"`)
  second.reply(responseTo(second, '486 Busy Here'))
  assert.is((await endOf(id)).status, 'busy')
})

test.run()
