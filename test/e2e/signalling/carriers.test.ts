import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { Product } from '../../../bench/product.ts'
import { suite } from '../../harness.ts'
import { inside, RawCalls } from '../../interop/peers/raw-calls.ts'
import { audioAt, bodyOf, field, type Raw, type RawPeer } from '../../interop/peers/raw-peer.ts'
import { curtain } from '../scene.ts'

// Several carriers, and several addresses of ours: which of them gets a call, in which form, and how many calls it gets.

const test = suite('e2e/signalling/carriers')
/** Our addresses; the first one is not the system's default source address. */
const OURS = ['127.0.0.2', '127.0.0.1'] as const
const CALLER = '+4930200300'

let product: Product
let calls: RawCalls
test.before(async () => {
  product = await Product.start({ env: { TANDEM_SIP_HOST: OURS.join() } })
  calls = new RawCalls(product)
})
test.afterEach(() => calls.leave())
test.after(() => curtain(product))

const addressesIn = (text: string): string[] => [
  ...new Set([...`${field(text, 'contact')} ${/^c=.*$/m.exec(bodyOf(text))}`.matchAll(/\d+\.\d+\.\d+\.\d+/g)].flat()),
]
const audioFrom = async (): Promise<{ port: number; heard: Promise<string>; close(): void }> => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const heard = once(socket, 'message').then(([, { address }]) => address as string)
  return { port: socket.address().port, heard, close: () => socket.close() }
}

/** Resolves with the inbound call. */
const running = () =>
  product.until('the call', async () =>
    (await product.all('/calls?direction=inbound')).find(({ status }) => status === 'in_progress'),
  )

for (const transport of ['udp', 'tcp'] as const) {
  test(`who calls over ${transport} is answered from the address of ours that it has reached, and told no other`, async () => {
    for (const host of OURS) {
      const peer = await calls.peer(transport)
      const audio = await audioFrom()
      const invite = calls.inviteFrom(peer, transport.toUpperCase(), audioAt(audio.port))
      peer.send(invite.replace(/^(Contact: .*)>/m, `$1;transport=${transport}>`), product.sip.port, host)
      const answer = await peer.next('200')
      assert.equal(addressesIn(answer.text), [host])
      answer.reply(inside(answer, 'ACK', 1))
      assert.is(await audio.heard, host, 'audio')
      audio.close()
      const { id } = await running()
      await product.ok('POST', `/calls/${id}/hangup`)
      const bye = await peer.next('BYE')
      assert.match(field(bye.text, 'via'), `${transport.toUpperCase()} ${host}:${product.sip.port}`)
      bye.answer('200 OK')
      if (transport === 'udp') assert.equal(new Set(peer.received.map(({ from }) => from)), new Set([host]))
      await calls.endOf(id)
    }
  })
}

test('who is called gets an INVITE from the address of ours that leads there, and is told this one', async () => {
  const carrier = await calls.peer()
  const id = await calls.callOver(carrier)
  const invite = await carrier.next('INVITE')
  assert.equal([invite.from, ...addressesIn(invite.text)], ['127.0.0.1', '127.0.0.1'])
  assert.match(field(invite.text, 'via'), `UDP 127.0.0.1:${product.sip.port}`)
  invite.answer('486 Busy Here')
  await calls.endOf(id)
})

/** Creates connections for numbers of this prefix, the first one the cheapest, and places a call over them. */
async function overAll(prefix: string, ways: [RawPeer, object][]): Promise<{ id: string; connections: string[] }> {
  const connections: string[] = []
  for (const [cost, [peer, fields]] of ways.entries()) {
    connections.push(await calls.connection(peer, { rates: [{ prefix, cost }], ...fields }))
  }
  const { id } = await product.ok('POST', '/calls', { to: `${prefix}5550` })
  return { id, connections }
}

/** Of calls: an INVITE that a busy machine answers late comes again. */
const invitesTo = ({ received }: RawPeer): number =>
  new Set(received.flatMap(({ what, text }) => (what === 'INVITE' ? [field(text, 'call-id')] : []))).size

test('after a 503, a cause that the connection names, silence, and a refused TCP or TLS connection the next one takes the call, which says so', async () => {
  const cases: [string | null, object][] = [
    ['503 Service Unavailable', {}],
    ['404 Not Found', { failover_on: [404] }],
    [null, {}],
    [null, { transport: 'tcp', port: await freePort() }],
    [null, { transport: 'tls', port: await freePort() }],
  ]
  const gone = cases.map(async ([status, fields], i) => {
    const [first, second] = [await calls.peer(), await calls.peer()]
    const { id, connections } = await overAll(`+4932${i}`, [
      [first, fields],
      [second, {}],
    ])
    if (status !== null) await first.takes('INVITE', status)
    await second.takes('INVITE', '486 Busy Here')
    const call = await calls.endOf(id)
    assert.equal([call.status, call.connection_id], ['busy', connections[1]], status ?? JSON.stringify(fields))
  })
  await Promise.all(gone)
})

test('a 486, and a 503 that the connection does not name, end the call where it is', async () => {
  for (const [i, [status, fields]] of (
    [
      ['486 Busy Here', {}],
      ['503 Service Unavailable', { failover_on: [404] }],
    ] as const
  ).entries()) {
    const [first, second] = [await calls.peer(), await calls.peer()]
    const { id, connections } = await overAll(`+4933${i}`, [
      [first, fields],
      [second, {}],
    ])
    await first.takes('INVITE', status)
    const call = await calls.endOf(id)
    assert.equal([call.sip_code, call.connection_id], [Number.parseInt(status, 10), connections[0]])
    assert.is(invitesTo(second), 0)
  }
})

test('the cheapest connection by its longest prefix comes first, and each is told numbers and caller in its own form', async () => {
  const [national, digits] = [await calls.peer(), await calls.peer()]
  await calls.connection(national, {
    rates: [
      { prefix: '+49', cost: 1 },
      { prefix: '+4940', cost: 5 },
    ],
    ...{ number_format: 'national', number_country: 'DE', dial_prefix: '7', identity: 'asserted' },
  })
  await calls.connection(digits, {
    rates: [{ prefix: '+49', cost: 2 }],
    ...{ number_format: 'digits', identity: 'remote_party_id' },
  })
  const userOf = (text: string): string => /sip:([^@>;]*)/.exec(text)?.[1] ?? ''
  const told = ({ text }: Raw): (string | undefined)[] => [
    userOf(text),
    ...['to', 'from', 'p-asserted-identity', 'remote-party-id'].map(name => userOf(field(text, name))),
  ]
  for (const [number, order] of [
    ['30444555', [national, digits]],
    ['40444555', [digits, national]],
  ] as const) {
    const { id } = await product.ok('POST', '/calls', { to: `+49${number}`, from: CALLER })
    for (const peer of order) {
      const invite = await peer.next('INVITE')
      assert.equal(
        told(invite),
        peer === national
          ? [`70${number}`, `70${number}`, '030200300', '030200300', '']
          : [`49${number}`, `49${number}`, CALLER.slice(1), '', CALLER.slice(1)],
      )
      invite.answer(peer === order[0] ? '503 Service Unavailable' : '486 Busy Here')
    }
    assert.is((await calls.endOf(id)).status, 'busy')
  }
})

/** Sends the INVITE of a trunk, from its own address. */
const callIn = (trunk: RawPeer, host: string): void =>
  trunk.send(
    calls.inviteFrom(trunk, 'UDP', audioAt(6000)).replaceAll(`127.0.0.1:${trunk.port}`, `${host}:${trunk.port}`),
    product.sip.port,
  )

test('`max_calls` counts both directions: beyond it a caller gets 503 with Retry-After, and a call of ours the next connection, or is refused', async () => {
  const host = '127.0.0.6'
  const [trunk, later, other] = [await calls.peer('udp', host), await calls.peer('udp', host), await calls.peer()]
  const rates = [{ prefix: '+4934', cost: 1 }]
  const full = await calls.connection(trunk, { host, rates, max_calls: 1, allowed_ips: [host] })
  callIn(trunk, host)
  const answer = await trunk.next('200')
  answer.reply(inside(answer, 'ACK', 1))
  const { id: first } = await running()
  callIn(later, host)
  const refused = await later.next('[2-6]\\d\\d')
  assert.equal([refused.what, /^\d+$/.test(field(refused.text, 'retry-after'))], ['503', true])

  const place = { to: '+49345550' }
  const { status, body } = await product.api('POST', '/calls', place)
  assert.equal([status, body.error.code], [429, 'capacity_exhausted'])
  assert.match(body.error.message, 'max_calls')
  const next = await calls.connection(other, { rates })
  const { id: second } = await product.ok('POST', '/calls', place)
  await other.takes('INVITE', '486 Busy Here')
  assert.is((await calls.endOf(second)).connection_id, next)

  answer.reply(inside(answer, 'BYE', 2))
  await calls.endOf(first)
  const { id: third } = await product.ok('POST', '/calls', place)
  const invite = await trunk.next('INVITE')
  const late = await calls.peer('udp', host)
  callIn(late, host)
  assert.is((await late.next('[2-6]\\d\\d')).what, '503', 'a call of ours takes the place too')
  invite.answer('486 Busy Here')
  assert.is((await calls.endOf(third)).connection_id, full)
})

test('a connection begins as many calls as its `calls_per_second`: what would wait for too long takes the next one, or is refused', async () => {
  const [slow, other] = [await calls.peer(), await calls.peer()]
  for (const peer of [slow, other]) void refusesAll(peer)
  const rated = (cost: number) => ({ rates: [{ prefix: '+4935', cost }] })
  const first = await calls.connection(slow, { ...rated(1), calls_per_second: 1 })
  const place = () => Promise.all(Array.from({ length: 8 }, () => product.api('POST', '/calls', { to: '+49355550' })))
  const alone = await place()
  const refused = alone.filter(({ status }) => status === 429)
  assert.ok(refused.length > 0 && refused.length < 8, `${refused.length} of 8 are refused`)
  for (const { body } of refused) assert.match(body.error.message, 'calls_per_second')
  const next = await calls.connection(other, rated(2))
  const both = await place()
  const over: string[] = []
  for (const { status, body } of [...alone.filter(one => one.status === 201), ...both]) {
    assert.is(status, 201)
    over.push((await calls.endOf(body.id)).connection_id)
  }
  assert.equal(
    [slow, other].map(invitesTo),
    [first, next].map(id => over.filter(one => one === id).length),
  )
  assert.ok(over.slice(8 - refused.length).includes(next))
})

/** Refuses calls until no more come. */
async function refusesAll(peer: RawPeer): Promise<void> {
  for (;;) {
    const invite = await peer.next('INVITE').catch(() => null)
    if (invite === null) return
    invite.answer('486 Busy Here')
  }
}

test.run()
