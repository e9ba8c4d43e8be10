import type { networkInterfaces } from 'node:os'
import * as assert from 'uvu/assert'
import { OwnAddresses } from '../../../media/kernel/own-addresses.ts'
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

test.run()
