import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { OwnAddresses } from '../../../media/kernel/own-addresses.ts'
import { SipEndpoint } from '../../../media/signalling/endpoint/sip-endpoint.ts'
import { Names } from '../../../media/signalling/names.ts'
import { hopPeer, keptPath, originOf, Proxies } from '../../../media/signalling/proxies.ts'
import type { Peer, UaEvent } from '../../../sip/user-agent.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/proxies')
const HOST = '127.0.0.1'

test('the proxies are those that the operator has named, and nobody without it', () => {
  const some = new Proxies(['10.0.0.0/24', '2001:db8::5/128'])
  assert.equal(
    ['10.0.0.9', '::ffff:10.0.0.9', '10.0.1.9', '2001:db8::5', '2001:db8::6', 'edge.test'].map(host => some.has(host)),
    [true, true, false, true, false, false],
  )
  assert.is(new Proxies([]).has('127.0.0.1'), false)
})

test('X-Forwarded-For in the head of a message names an address, or nobody', () => {
  const proxies = new Proxies([])
  const of = (...lines: string[]): string | null =>
    proxies.originOf(Buffer.from(['INVITE sip:a SIP/2.0', ...lines].join('\r\n')))
  assert.is(of('X-Forwarded-For: 192.0.2.7', '', ''), '192.0.2.7')
  assert.is(of('x-forwarded-for:[2001:db8::7]', '', ''), '2001:db8::7')
  assert.is(of('X-Forwarded-For: evil.test', '', ''), null)
  assert.is(of('', 'X-Forwarded-For: 192.0.2.7', ''), null, 'a body is no header')
  assert.is(of('Subject: X-Forwarded-For: 192.0.2.7', '', ''), null)
})

test('a Path is kept of proxies that are believed, as long as it is short, and leads to its first proxy', () => {
  const proxy: Peer = { transport: 'udp', host: '10.0.0.9', port: 5060, proxy: { origin: null } }
  const path = ['<sip:10.0.0.9:5070;lr;transport=tcp>', '<sip:edge.test;lr>']
  assert.equal(keptPath(proxy, path), path)
  assert.equal(keptPath({ transport: 'udp', host: '10.0.0.9', port: 5060 }, path), [])
  assert.equal(keptPath(proxy, Array(6).fill('<sip:a;lr>')), [])
  assert.equal(keptPath(proxy, [`<sip:${'a'.repeat(500)};lr>`]), [])
  const hop = hopPeer(path)
  assert.equal([hop?.transport, hop?.host, hop?.port], ['tcp', '10.0.0.9', 5070])
  assert.is(hopPeer([]), null)
  assert.is(hopPeer(['nonsense <']), null)
})

async function callFrom(proxies: string[]): Promise<Extract<UaEvent, { kind: 'incoming' }>> {
  const port = await freePort(HOST)
  let told: (event: Extract<UaEvent, { kind: 'incoming' }>) => void
  const incoming = new Promise<Extract<UaEvent, { kind: 'incoming' }>>(resolve => (told = resolve))
  const endpoint = new SipEndpoint({
    ...{ addresses: new OwnAddresses([HOST], []), port, names: new Names(), productName: 'test', proxies },
    optionsStatus: () => ({ status: 200 }),
    onEvent: event => event.kind === 'incoming' && told(event),
  })
  await endpoint.listen()
  const socket = createSocket('udp4')
  socket.bind(0, HOST)
  await once(socket, 'listening')
  const own = `${HOST}:${socket.address().port}`
  const lines = [
    'INVITE sip:1@127.0.0.1 SIP/2.0',
    `Via: SIP/2.0/UDP ${own};branch=z9hG4bKx`,
    'From: <sip:a@b>;tag=1',
    'To: <sip:1@127.0.0.1>',
    'Call-ID: x',
    'CSeq: 1 INVITE',
    'Max-Forwards: 70',
    `Contact: <sip:a@${own}>`,
    'X-Forwarded-For: 93.184.216.34',
    'Content-Length: 0',
  ]
  socket.send(`${lines.join('\r\n')}\r\n\r\n`, port, HOST)
  const event = await incoming
  const { peer } = event
  assert.is(
    endpoint.mayReach(peer, '10.0.0.1'),
    originOf(peer) === HOST,
    'who is outside leads our audio to public addresses only',
  )
  socket.close()
  endpoint.close()
  return event
}

test('who calls through a proxy is whom it names; of everybody else what is written there counts for nothing', async () => {
  assert.is(originOf((await callFrom([`${HOST}/32`])).peer), '93.184.216.34')
  assert.is(originOf((await callFrom([])).peer), HOST)
  assert.is(originOf((await callFrom(['10.0.0.0/8'])).peer), HOST)
})

test.run()
