import type { NaptrRecord, SrvRecord } from 'node:dns'
import * as assert from 'uvu/assert'
import type { Family } from '../../../media/kernel/own-addresses.ts'
import { Locator } from '../../../media/signalling/locator.ts'
import type { Destination } from '../../../sip/agent-types.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/locator')

interface Zone {
  naptr?: Record<string, Partial<NaptrRecord>[]>
  srv?: Record<string, SrvRecord[]>
  addresses?: Record<string, string[]>
}

/** The resolution of a destination in a zone, as `transport host:port`, and the queries. */
async function find(
  to: Partial<Destination>,
  zone: Zone,
  { families = [4, 6] as Family[], random = (): number => 0 } = {},
) {
  const asked: string[] = []
  const locator = new Locator({
    names: {
      naptr: async name => {
        asked.push(`NAPTR ${name}`)
        return (zone.naptr?.[name] ?? []).map(one => ({
          ...{ flags: 's', service: '', regexp: '', replacement: '', order: 1, preference: 1 },
          ...one,
        }))
      },
      srv: async name => {
        asked.push(`SRV ${name}`)
        return zone.srv?.[name] ?? []
      },
      addresses: async name => {
        asked.push(`A ${name}`)
        return zone.addresses?.[name] ?? []
      },
    },
    reach: { allows: ({ host, publicOnly }) => publicOnly !== true || !host.startsWith('10.') },
    families,
    random,
  })
  const ways = await locator.locate({ transport: null, host: 'example.com', port: null, ...to })
  return { ways, asked, text: ways.map(({ transport, host, port }) => `${transport} ${host}:${port}`) }
}

const srv = (name: string, port = 5060, priority = 1, weight = 1): SrvRecord => ({ name, port, priority, weight })
const HOSTS = { a: ['192.0.2.1'], b: ['192.0.2.2'], c: ['192.0.2.3'] }

test('an address needs no look-up: UDP and 5060, over TLS 5061 (RFC 3263 §4.1, §4.2)', async () => {
  const { text, asked } = await find({ host: '192.0.2.9' }, {})
  assert.equal([text, asked], [['udp 192.0.2.9:5060'], []])
  assert.equal((await find({ host: '2001:db8::9', transport: 'tls' }, {})).text, ['tls 2001:db8::9:5061'])
  assert.equal((await find({ host: '192.0.2.9', secure: true }, {})).text, ['tls 192.0.2.9:5061'])
})

test('a port that is named means the addresses of that name', async () => {
  const { text, asked } = await find({ port: 5070 }, { addresses: { 'example.com': ['192.0.2.1', '2001:db8::1'] } })
  assert.equal(text, ['udp 192.0.2.1:5070', 'udp 2001:db8::1:5070'])
  assert.equal(asked, ['A example.com'])
})

test('NAPTR says over which transports, by order and preference, among those that we speak', async () => {
  const zone: Zone = {
    naptr: {
      'example.com': [
        { service: 'SIP+D2U', replacement: 'udp.example.com', order: 20 },
        { service: 'SIP+D2S', replacement: 'sctp.example.com', order: 1 },
        { service: 'sip+d2t', replacement: 'tcp.example.com', order: 10, preference: 5 },
        { service: 'SIPS+D2T', replacement: 'tls.example.com', order: 10, preference: 1 },
      ],
    },
    srv: {
      'udp.example.com': [srv('a')],
      'tcp.example.com': [srv('b', 5062)],
      'tls.example.com': [srv('c', 5061)],
      'sctp.example.com': [srv('a')],
    },
    addresses: HOSTS,
  }
  assert.equal((await find({}, zone)).text, ['tls 192.0.2.3:5061', 'tcp 192.0.2.2:5062', 'udp 192.0.2.1:5060'])
  assert.equal((await find({ secure: true, transport: null }, zone)).text, ['tls 192.0.2.3:5061'])
  assert.equal((await find({}, zone)).ways[0]!.name, 'example.com', 'the name that a certificate must be of')
})

test('without NAPTR the SRV records of UDP and TCP are asked for, of a named transport only its own', async () => {
  const zone: Zone = {
    srv: {
      '_sip._udp.example.com': [srv('a')],
      '_sip._tcp.example.com': [srv('b')],
      '_sips._tcp.example.com': [srv('c')],
    },
    addresses: HOSTS,
  }
  assert.equal((await find({}, zone)).text, ['udp 192.0.2.1:5060', 'tcp 192.0.2.2:5060'])
  assert.equal((await find({ transport: 'tcp' }, zone)).text, ['tcp 192.0.2.2:5060'])
  assert.equal((await find({ secure: true, transport: 'tls' }, zone)).text, ['tls 192.0.2.3:5060'])
})

test('SRV targets come by priority, and within one at random by weight (RFC 2782)', async () => {
  const records = [srv('c', 5060, 20), srv('a', 5060, 10, 10), srv('b', 5060, 10, 90)]
  const zone: Zone = { srv: { '_sip._udp.example.com': records }, addresses: HOSTS }
  const first = async (chance: number) => (await find({ transport: 'udp' }, zone, { random: () => chance })).text
  assert.equal(await first(0.05), ['udp 192.0.2.1:5060', 'udp 192.0.2.2:5060', 'udp 192.0.2.3:5060'])
  assert.equal(await first(0.5), ['udp 192.0.2.2:5060', 'udp 192.0.2.1:5060', 'udp 192.0.2.3:5060'])
  let state = 7
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
  let heavy = 0
  for (let n = 0; n < 1000; n++) if ((await first(random()))[0] === 'udp 192.0.2.2:5060') heavy++
  assert.ok(heavy > 860 && heavy < 940, `${heavy} of 1000`)
})

test('a domain that says it has no such service is not called', async () => {
  assert.equal((await find({ transport: 'udp' }, { srv: { '_sip._udp.example.com': [srv('')] } })).text, [])
})

test('a domain without any records is called at its own addresses', async () => {
  const { text } = await find({}, { addresses: { 'example.com': ['192.0.2.1'] } })
  assert.equal(text, ['udp 192.0.2.1:5060'])
})

test('only families that we have an address of are called', async () => {
  const zone: Zone = { addresses: { 'example.com': ['2001:db8::1', '192.0.2.1'] } }
  assert.equal((await find({ port: 5060 }, zone, { families: [4] })).text, ['udp 192.0.2.1:5060'])
  assert.equal((await find({ host: '2001:db8::1' }, zone, { families: [4] })).text, [])
})

test('who is held to public addresses is led to no other one by a name', async () => {
  const zone = { addresses: { 'example.com': ['10.0.0.1', '192.0.2.1'] } }
  const { ways, text } = await find({ port: 5060, publicOnly: true }, zone)
  assert.equal(text, ['udp 192.0.2.1:5060'])
  assert.is(ways[0]!.publicOnly, true)
  assert.equal((await find({ port: 5060 }, zone)).text, ['udp 10.0.0.1:5060', 'udp 192.0.2.1:5060'])
})

test.run()
