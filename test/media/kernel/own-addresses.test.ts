import type { networkInterfaces } from 'node:os'
import * as assert from 'uvu/assert'
import { OwnAddresses, reachedBy } from '../../../media/kernel/own-addresses.ts'
import { keptRoutes, routeOf } from '../../../media/kernel/routes.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/own-addresses')

const address = (text: string, internal = false) => ({ address: text, internal })
const MACHINE = {
  lo: [address('127.0.0.1', true), address('::1', true)],
  eth0: [address('192.0.2.10'), address('fe80::1'), address('2001:db8::10')],
} as unknown as ReturnType<typeof networkInterfaces>

const own = (hosts: string[], publicIps: string[] = [], machine = MACHINE) =>
  new OwnAddresses(hosts, publicIps, machine).all.map(({ host, advertised }) => `${host} as ${advertised}`)

test('"::" is every address of both families, each named by the first that others can reach', () => {
  assert.equal(own(['::']), ['0.0.0.0 as 192.0.2.10', ':: as 2001:db8::10'])
  assert.equal(own(['0.0.0.0']), ['0.0.0.0 as 192.0.2.10'])
  assert.equal(own(['::', '0.0.0.0']), ['0.0.0.0 as 192.0.2.10', ':: as 2001:db8::10'])
})

test('a machine without an address to be reached at names itself', () => {
  assert.equal(own(['::'], [], {}), ['0.0.0.0 as 127.0.0.1', ':: as ::1'])
})

test('behind a NAT each family is named by its public address', () => {
  assert.equal(own(['::'], ['203.0.113.5']), ['0.0.0.0 as 203.0.113.5', ':: as 2001:db8::10'])
  assert.equal(own(['192.0.2.10'], ['203.0.113.5', '2001:db8::99']), ['192.0.2.10 as 203.0.113.5'])
})

test('a far end is met at the address that it reached, else at the first of its family', () => {
  const addresses = new OwnAddresses(['192.0.2.10', '192.0.2.11', '2001:db8::10'], [], MACHINE)
  assert.is(addresses.for({ host: '198.51.100.1', local: '192.0.2.11' })?.host, '192.0.2.11')
  assert.is(addresses.for({ host: '198.51.100.1' })?.host, '192.0.2.10')
  assert.is(addresses.for({ host: '2001:db8::5', local: '192.0.2.11' })?.host, '2001:db8::10')
  assert.is(new OwnAddresses(['192.0.2.10'], [], MACHINE).for({ host: '2001:db8::5' }), null)
})

/** A machine with two networks of each family: eth1 leads to 10.0.0.0/8 and fd00::/8. */
const routed = (hosts: string[], publicIps: string[] = [], machine = MACHINE) =>
  new OwnAddresses(hosts, publicIps, machine, host => {
    if (host.startsWith('127.')) return '127.0.0.1'
    if (host.includes(':')) return host.startsWith('fd') ? 'fd00::2' : host.startsWith('fe80') ? 'fe80::1' : null
    return host.startsWith('10.') ? '10.0.0.2' : '192.0.2.10'
  })
const named = (addresses: OwnAddresses, to: { host: string; local?: string }): string => {
  const met = addresses.for(to)
  return `${met?.host} as ${met?.advertised}`
}

test('behind "any address" each far end is told the one that it has reached, or from which the system sends to it', () => {
  const any = routed(['::'])
  assert.is(named(any, { host: '10.9.9.9' }), '10.0.0.2 as 10.0.0.2')
  assert.is(named(any, { host: '10.9.9.9', local: '0.0.0.0' }), '10.0.0.2 as 10.0.0.2')
  assert.is(named(any, { host: '10.9.9.9', local: '10.0.0.3' }), '10.0.0.3 as 10.0.0.3')
  assert.is(named(any, { host: '198.51.100.1' }), '192.0.2.10 as 192.0.2.10')
  assert.is(named(any, { host: 'fd00::9' }), 'fd00::2 as fd00::2')
  assert.is(named(any, { host: 'fd00::9', local: '10.0.0.3' }), ':: as 2001:db8::10', 'an address of another family')
  assert.is(any.for({ host: '10.9.9.9' }), any.for({ host: '10.8.8.8' }), 'one address is one object')
  assert.is(any.for({ host: '10.9.9.9' })?.listensOn, '0.0.0.0')
})

test('where the system knows no way, and on a link of its own, a far end is told the first address', () => {
  const any = routed(['::'])
  assert.is(named(any, { host: '2001:db8::5' }), ':: as 2001:db8::10')
  assert.is(named(any, { host: 'fe80::5' }), ':: as 2001:db8::10')
})

test('a neighbour on this machine is told an address that others reach as well: it may be a proxy', () => {
  assert.is(named(routed(['0.0.0.0']), { host: '127.0.0.1' }), '0.0.0.0 as 192.0.2.10')
  assert.is(named(routed(['0.0.0.0']), { host: '127.0.0.1', local: '127.0.0.1' }), '0.0.0.0 as 192.0.2.10')
  assert.is(named(routed(['0.0.0.0'], [], {}), { host: '127.0.0.1', local: '127.0.0.3' }), '127.0.0.3 as 127.0.0.3')
})

test('a public address that is set is told in every network', () => {
  assert.is(named(routed(['0.0.0.0'], ['203.0.113.5']), { host: '10.9.9.9' }), '0.0.0.0 as 203.0.113.5')
  const listed = routed(['192.0.2.10', '10.0.0.2'], ['203.0.113.5'])
  assert.is(named(listed, { host: '10.9.9.9' }), '10.0.0.2 as 203.0.113.5')
})

test('of several addresses a call goes out from the one from which the system sends there', () => {
  assert.is(named(routed(['192.0.2.10', '10.0.0.2']), { host: '10.9.9.9' }), '10.0.0.2 as 10.0.0.2')
  assert.is(named(routed(['192.0.2.10', '192.0.2.11']), { host: '10.9.9.9' }), '192.0.2.10 as 192.0.2.10')
})

test('behind a proxy it is unknown which of our addresses a client would reach', () => {
  const socket = { remoteAddress: '10.0.0.9', localAddress: '10.0.0.2' }
  assert.equal(reachedBy('10.0.0.9', socket), { host: '10.0.0.9', local: '10.0.0.2' })
  assert.equal(reachedBy('198.51.100.1', socket), { host: '198.51.100.1' })
})

test('the system tells from which address it sends to a host, at once', () => {
  assert.equal(['127.0.0.1', '::1', 'not an address'].map(routeOf), ['127.0.0.1', '::1', null])
})

test('a route is asked for once in ten seconds', () => {
  let now = 0
  const asked: string[] = []
  const route = keptRoutes(
    () => now,
    host => String(asked.push(host)),
  )
  assert.equal([route('a'), route('a'), route('b')], ['1', '1', '2'])
  now = 10_000
  assert.is(route('a'), '3')
})

test.run()
