import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import * as assert from 'uvu/assert'
import { freePort } from '../../../../bench/free-port.ts'
import { OwnAddresses } from '../../../../media/kernel/own-addresses.ts'
import { SipEndpoint, type SipEndpointOptions } from '../../../../media/signalling/endpoint/sip-endpoint.ts'
import { SipReach } from '../../../../media/signalling/endpoint/sip-reach.ts'
import { Names } from '../../../../media/signalling/names.ts'
import { PING } from '../../../../sip/message/framer.ts'
import type { UaEvent } from '../../../../sip/user-agent.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/sip-reach')
const HOST = '127.0.0.1'

/** One UDP socket and one TCP server of the machine beside us, with all that they got. */
async function neighbour() {
  const got: string[] = []
  const udp = createSocket('udp4')
  udp.on('message', bytes => got.push(bytes.toString('latin1')))
  udp.bind(await freePort(HOST), HOST)
  await once(udp, 'listening')
  const { port } = udp.address()
  const tcp = createServer(socket => socket.on('data', bytes => got.push(bytes.toString('latin1'))))
  tcp.listen(port, HOST)
  await once(tcp, 'listening')
  const close = (): void => {
    udp.close()
    tcp.close()
  }
  return { got, port: (tcp.address() as AddressInfo).port, close }
}

/** Calls `to` and answers how that ended: the local status, or `sent` once the neighbour has got something. */
async function outcomeOf(to: string, got: string[], more: Partial<SipEndpointOptions> = {}) {
  let tell = (_event: UaEvent): void => {}
  const rejected = new Promise<UaEvent>(resolve => {
    tell = resolve
  })
  const endpoint = new SipEndpoint({
    addresses: new OwnAddresses([HOST], []),
    port: 0,
    names: new Names(),
    productName: 'test',
    optionsStatus: () => ({ status: 200 }),
    onEvent: event => tell(event),
    ...more,
  })
  await endpoint.listen()
  endpoint.invite({ to, from: 'sip:caller@example.com', publicOnly: true })
  const arrived = (async () => {
    while (got.length === 0) await new Promise(later => setTimeout(later, 5))
    return 'sent' as const
  })()
  const first = await Promise.race([arrived, rejected])
  if (first !== 'sent') got.push('')
  await arrived
  got.length = 0
  const { addressesRefused } = endpoint.counters
  endpoint.close()
  return first === 'sent' ? 'sent' : { status: first.kind === 'rejected' ? first.status : first.kind, addressesRefused }
}

test('SIP of who may go to public addresses only reaches no private one, by its address or by a name of it', async () => {
  const { got, port, close } = await neighbour()
  for (const transport of ['udp', 'tcp']) {
    const literal = await outcomeOf(`sip:bob@${HOST}:${port};transport=${transport}`, got)
    assert.equal(literal, { status: 503, addressesRefused: 1 }, transport)
    for (const name of ['localhost', '2130706433', '127.1']) {
      const named = await outcomeOf(`sip:bob@${name}:${port};transport=${transport}`, got)
      assert.equal(named, { status: 503, addressesRefused: 0 }, `${name} over ${transport}`)
    }
  }
  close()
})

test('the private networks that an operator allows are reached', async () => {
  const { got, port, close } = await neighbour()
  const allowed = { allowedNetworks: ['127.0.0.0/8'] }
  for (const to of [`sip:bob@${HOST}:${port}`, `sip:bob@localhost:${port};transport=tcp`]) {
    assert.is(await outcomeOf(to, got, allowed), 'sent', to)
  }
  close()
})

test('messages that wait for one look-up all go out, and all fail with it', async () => {
  const events: UaEvent[] = []
  const { got, port, close } = await neighbour()
  const endpoint = new SipEndpoint({
    addresses: new OwnAddresses([HOST], []),
    port: 0,
    names: new Names(),
    productName: 'test',
    optionsStatus: () => ({ status: 200 }),
    onEvent: event => events.push(event),
  })
  await endpoint.listen()
  for (const user of ['a', 'b']) endpoint.invite({ to: `sip:${user}@localhost:${port}`, from: 'sip:c@example.com' })
  const hasCome = (user: string): boolean => got.some(text => text.startsWith(`INVITE sip:${user}@`))
  while (!hasCome('a') || !hasCome('b')) await new Promise(later => setTimeout(later, 5))
  for (const user of ['a', 'b']) {
    endpoint.invite({ to: `sip:${user}@localhost:${port}`, from: 'sip:c@example.com', publicOnly: true })
  }
  while (events.length < 2) await new Promise(later => setTimeout(later, 5))
  assert.equal(
    events.map(({ kind }) => kind),
    ['rejected', 'rejected'],
  )
  endpoint.close()
  close()
})

test('who calls from a public address may lead us to public addresses only; who calls from beside us, anywhere', () => {
  const reach = new SipReach(['10.1.0.0/16'])
  const from = (host: string) => reach.from({ transport: 'udp', host, port: 5060 })
  assert.is(from('93.184.216.34').publicOnly, true)
  assert.is(from('::ffff:93.184.216.34').publicOnly, true)
  for (const host of ['10.2.0.1', '127.0.0.1', '::1']) assert.is(from(host).publicOnly, undefined, host)
  const contact = (host: string) => reach.allows({ publicOnly: true, host })
  assert.equal(['10.2.0.1', '10.1.0.1', '169.254.169.254', '93.184.216.34', '::1', '::ffff:10.2.0.1'].map(contact), [
    false,
    true,
    false,
    true,
    false,
    false,
  ])
})

test('a keep-alive passes as it is, over UDP and TCP, and is no message of any call', async () => {
  const { got, port, close } = await neighbour()
  const told: Uint8Array[] = []
  const endpoint = new SipEndpoint({
    addresses: new OwnAddresses([HOST], []),
    port: 0,
    names: new Names(),
    productName: 'test',
    optionsStatus: () => ({ status: 200 }),
    onEvent: () => {},
    onMessage: bytes => told.push(bytes),
  })
  await endpoint.listen()
  for (const transport of ['udp', 'tcp'] as const) {
    endpoint.do(() => [{ kind: 'send', bytes: PING, to: { transport, host: HOST, port } }])
    while (got.length === 0) await new Promise(later => setTimeout(later, 5))
    assert.equal(got.splice(0), ['\r\n\r\n'], transport)
  }
  assert.equal(told, [])
  endpoint.close()
  close()
})

test.run()
