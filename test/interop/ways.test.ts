import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import * as assert from 'uvu/assert'
import { freePort } from '../../bench/free-port.ts'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { curtain, HEARD_DBOV, leave, newRoom, seat } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Dnsmasq } from './peers/dnsmasq.ts'
import { audioAt, RawPeer } from './peers/raw-peer.ts'
import { Sipp } from './peers/sipp.ts'
import { withoutOptions } from './peers/without-options.ts'

const [FOUR, SIX] = ['127.0.0.1', '::1']
const NUMBER = '+15551234567'

const hasSix = Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === SIX))
const missing = missingPrograms('sipp', 'dnsmasq')
const lacking = missing ?? (hasSix ? null : 'this machine has no IPv6')
const test = suite('interop/ways', { timeoutMs: 60_000, missing: lacking })

let product: Product
let names: Dnsmasq
/** Of the zone: what its hosts listen on. */
const ports = { refuses: 0, answers: 0 }
/** The two edges of a PBX. */
let edges: [RawPeer, RawPeer]

test.before(async () => {
  ports.refuses = await freePort()
  ports.answers = await freePort()
  edges = [await RawPeer.udp(), await RawPeer.udp()]
  names = await Dnsmasq.start([
    `srv-host=_sip._udp.pbx.test,a.carrier.test,${edges[0].port},10,1`,
    `srv-host=_sip._udp.pbx.test,b.carrier.test,${edges[1].port},20,1`,
    `host-record=a.carrier.test,${FOUR}`,
    `host-record=b.carrier.test,${FOUR}`,
    `host-record=six.carrier.test,${SIX}`,
    `srv-host=_sip._udp.carrier.test,b.carrier.test,${ports.answers},20,1`,
    `srv-host=_sip._udp.carrier.test,a.carrier.test,${ports.refuses},10,1`,
    `srv-host=_sip._tcp.carrier.test,a.carrier.test,1,10,1`,
    `host-record=both.carrier.test,${FOUR},${SIX}`,
    'naptr-record=naptr.test,10,10,s,SIP+D2T,,_sip._tcp.naptr.test',
    'naptr-record=naptr.test,20,10,s,SIP+D2U,,_sip._udp.naptr.test',
    `srv-host=_sip._tcp.naptr.test,six.carrier.test,${ports.answers},1,1`,
  ])
  product = await Product.start({
    env: {
      TANDEM_SIP_HOST: `${FOUR},${SIX}`,
      TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8,::1/128',
      TANDEM_DNS_SERVERS: names.server,
    },
  })
})
test.after(async () => {
  names.stop()
  for (const edge of edges) edge.close()
  await curtain(product)
})

/** Connections of a test, which the next one must not find. */
const forgotten: string[] = []
test.afterEach(async () => {
  for (const id of forgotten.splice(0)) await product.ok('DELETE', `/connections/${id}`)
})

const answered = (callId: string) =>
  product.until(`${callId} is answered`, async () => {
    const { status, ended_reason: reason, sip_code: code } = await product.ok('GET', `/calls/${callId}`)
    if (!['queued', 'ringing', 'in_progress'].includes(status)) throw new Error(`${status}: ${reason} ${code}`)
    return status === 'in_progress' ? true : null
  })

/** Calls a number over a connection until SIPp has seen the end of it; what the connection was then. */
async function overTrunk(fields: object, sipp: Sipp, others: object[] = []): Promise<string | null> {
  const made: string[] = []
  for (const one of [fields, ...others]) {
    made.push((await product.ok('POST', '/connections', { name: 'Carrier', kind: 'trunk', ...one })).id)
  }
  forgotten.push(...made)
  const call = await product.ok('POST', '/calls', { to: NUMBER })
  await answered(call.id)
  const { connection_id: connectionId } = await product.ok('GET', `/calls/${call.id}`)
  await product.ok('POST', `/calls/${call.id}/hangup`)
  await sipp.passed()
  return made.indexOf(connectionId) === -1 ? null : `number ${made.indexOf(connectionId)}`
}

test('a BYE that the first edge of a PBX refuses by 503 goes to its other one (RFC 3263 §4.3)', async () => {
  const [first, second] = edges
  const { id } = await product.ok('POST', '/calls', { to: `sip:desk@127.0.0.1:${first.port}` })
  await first.takes(
    'INVITE',
    '200 OK',
    ['Contact: <sip:desk@pbx.test>', 'Content-Type: application/sdp'],
    audioAt(6100),
  )
  await first.next('ACK')
  await answered(id)
  await product.ok('POST', `/calls/${id}/hangup`)
  await first.takes('BYE', '503 Service Unavailable')
  await second.takes('BYE')
})

for (const transport of ['udp', 'tcp'] as const) {
  test(`a caller of IPv6 over ${transport} is answered in IPv6, in every message and for audio`, async () => {
    const sipp = await Sipp.caller('call', { host: SIX, port: product.sip.port }, { host: SIX, transport })
    await sipp.passed()
    const [ok] = sipp.received('SIP/2.0 200')
    assert.match(ok!.text, /^Contact: <sip:[^>]*@?\[::1\]:\d+/m)
    assert.match(ok!.text, /^c=IN IP6 ::1\r?$/m)
    for (const { text } of sipp.received('SIP/2.0')) assert.not.match(text, /127\.0\.0\.1/)
  })
}

test('who is called at an IPv6 address gets an INVITE of that family', async () => {
  const sipp = await Sipp.callee('answers', { host: SIX })
  const call = await product.ok('POST', '/calls', { to: sipp.uri })
  await answered(call.id)
  await product.ok('POST', `/calls/${call.id}/hangup`)
  await sipp.passed()
  const [invite] = sipp.received('INVITE')
  assert.match(invite!.text, /^Via: SIP\/2\.0\/UDP \[::1\]:\d+/m)
  assert.match(invite!.text, /^Contact: <sip:[^>]*\[::1\]:\d+>/m)
  assert.match(invite!.text, /^c=IN IP6 ::1\r?$/m)
})

test('one of IPv4 and one of IPv6 hear each other in a room', async () => {
  const room = await newRoom(product)
  const anna = await seat(product, room, 'anna')
  const ben = await Phone.open('ben', {}, SIX)
  const call = await ben.call(room.number, { host: SIX, port: product.sip.port })
  anna.call.say(tone(440))
  call.say(tone(880))
  const hears = async ({ heard }: typeof call, hz: number): Promise<void> => {
    const deadline = performance.now() + 20_000
    const isHeard = (): boolean => heard.length > 8000 && levelAt(hz, heard.samples(heard.length - 8000)) > HEARD_DBOV
    while (!isHeard()) {
      if (performance.now() > deadline) throw new Error(`${hz} Hz is not heard`)
      await new Promise(later => setTimeout(later, 100))
    }
  }
  await hears(anna.call, 880)
  await hears(call, 440)
  await leave(anna, { phone: ben })
})

test('a trunk whose name has SRV records is called at the next host after a 503', async () => {
  const [refuses, answers] = [await Sipp.callee('unavailable'), await Sipp.callee('answers')]
  const doors = [await withoutOptions(refuses, ports.refuses), await withoutOptions(answers, ports.answers)]
  await overTrunk({ host: 'carrier.test' }, answers)
  await refuses.passed()
  for (const door of doors) door.close()
  assert.match(answers.received('INVITE')[0]!.text, /^INVITE sip:\+15551234567@carrier\.test SIP/m)
})

test('NAPTR decides the transport, and the address of the target the family', async () => {
  const sipp = await Sipp.callee('answers', { host: SIX, port: ports.answers, transport: 'tcp' })
  await overTrunk({ host: 'naptr.test', transport: null }, sipp)
  assert.match(sipp.received('INVITE')[0]!.text, /^Via: SIP\/2\.0\/TCP \[::1\]/m)
})

for (const [host, other] of [
  [FOUR, SIX],
  [SIX, FOUR],
] as const) {
  test(`of a name with an address of each family the one that listens is called, ${host} (RFC 3263 §4.3, RFC 6157)`, async () => {
    const sipp = await Sipp.callee('answers', { host, transport: 'tcp' })
    await overTrunk({ host: 'both.carrier.test', port: sipp.port, transport: 'tcp' }, sipp)
    const { text } = sipp.received('INVITE')[0]!
    assert.match(text, /^INVITE sip:\+15551234567@both\.carrier\.test/)
    assert.match(text, host === SIX ? /^c=IN IP6 ::1\r?$/m : /^c=IN IP4 127\.0\.0\.1\r?$/m)
    assert.not.ok(text.includes(other))
  })
}

test('TANDEM_SIP_HOST=:: answers and calls each family in its own, in descriptions too', async () => {
  const env = { TANDEM_SIP_HOST: '::', TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8,::1/128' }
  const everywhere = await Product.start({ env })
  try {
    await everywhere.ok('POST', '/connections', { name: 'Six', kind: 'peer', allowed_ips: ['::1/128'] })
    // Programs of this machine are told an address that others reach as well.
    for (const [host, own, audio] of [
      [FOUR, /^Contact: <sip:([^>@]*@)?(?!0\.)\d+\.\d+\.\d+\.\d+:/m, /^c=IN IP4 (?!0\.)\d/m],
      [SIX, /^Contact: <sip:([^>@]*@)?\[[0-9a-f:]*:[1-9a-f][0-9a-f]*\]:/m, /^c=IN IP6 \S*[1-9a-f]\S*\r?$/m],
    ] as const) {
      const caller = await Sipp.caller('call', { host, port: everywhere.sip.port }, { host })
      await caller.passed()
      const callee = await Sipp.callee('answers', { host })
      const { id } = await everywhere.ok('POST', '/calls', { to: callee.uri })
      await callee.answered(everywhere, id)
      await everywhere.ok('POST', `/calls/${id}/hangup`)
      await callee.passed()
      for (const { text } of [caller.received('SIP/2.0 200')[0]!, callee.received('INVITE')[0]!]) {
        assert.match(text, own)
        assert.match(text, audio)
      }
    }
  } finally {
    await everywhere.stop()
  }
})

test('a host that says nothing at all is left for the next, by priority', async () => {
  const silent = createSocket('udp4')
  silent.bind(0, FOUR)
  await once(silent, 'listening')
  const sipp = await Sipp.callee('answers')
  const door = await withoutOptions(sipp)
  const hosts = [
    { host: FOUR, port: door.port, priority: 2 },
    { host: FOUR, port: silent.address().port, priority: 1 },
  ]
  await overTrunk({ host: 'example.com', hosts }, sipp)
  silent.close()
  door.close()
})

test('the next connection takes the call after a cause that the first one names, and the call says which', async () => {
  const [busy, answers] = [await Sipp.callee('busy'), await Sipp.callee('answers')]
  const [first, second] = [await withoutOptions(busy), await withoutOptions(answers)]
  const cheap = { host: FOUR, port: first.port, rates: [{ prefix: '+1', cost: 1 }], failover_on: [486] }
  const dear = { host: FOUR, port: second.port, rates: [{ prefix: '+1', cost: 2 }] }
  assert.is(await overTrunk(cheap, answers, [dear]), 'number 1')
  await busy.passed()
  first.close()
  second.close()
})

test('a call whose first connection leads nowhere, as its name has no address, is that of the next one', async () => {
  const answers = await Sipp.callee('answers')
  const door = await withoutOptions(answers)
  const cheap = { host: 'nowhere.carrier.test', port: 5060, rates: [{ prefix: '+1', cost: 1 }] }
  const dear = { host: FOUR, port: door.port, rates: [{ prefix: '+1', cost: 2 }] }
  assert.is(await overTrunk(cheap, answers, [dear]), 'number 1')
  door.close()
})

test('a 302 is followed where the connection allows it', async () => {
  const answers = await Sipp.callee('answers')
  const moved = await Sipp.callee('moved-on', { keys: { target: `${FOUR}:${answers.port}` } })
  const door = await withoutOptions(moved)
  await overTrunk({ host: FOUR, port: door.port, follow_redirects: true }, answers)
  await moved.passed()
  door.close()
})

test.run()
