import * as assert from 'uvu/assert'
import { clientAddress, clientNetwork, isAllowedAddress, isInNetworks } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const test = suite('media/protocol addresses')
const LIVE = { publicOnly: true, allowed: [] }

test('live mode refuses private, loopback, link-local and other special addresses', () => {
  const special = ['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0', '100.64.0.1']
  const special6 = [
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    'ff02::1',
  ]
  for (const address of [...special, ...special6, 'nonsense', '']) assert.not(isAllowedAddress(address, LIVE), address)
  for (const address of ['93.184.216.34', '2606:4700::1111', '::ffff:93.184.216.34']) {
    assert.ok(isAllowedAddress(address, LIVE), address)
  }
})

test("an operator's networks are let through, and nothing beside them", () => {
  const policy = { publicOnly: true, allowed: ['10.0.0.0/8', 'nonsense', '192.168.1.7'] }
  for (const address of ['10.9.9.9', '::ffff:10.9.9.9', '192.168.1.7']) assert.ok(isAllowedAddress(address, policy))
  for (const address of ['11.0.0.1x', '192.168.1.8', '127.0.0.1']) assert.not(isAllowedAddress(address, policy))
})

test('without publicOnly every address may be dialled', () => {
  assert.ok(isAllowedAddress('127.0.0.1', { publicOnly: false, allowed: [] }))
})

test('a block of one family holds no address of the other', () => {
  assert.not(isInNetworks('10.0.0.1', ['::/0']))
  assert.not(isInNetworks('2001:db8::1', ['0.0.0.0/0']))
})

test('X-Forwarded-For is believed of trusted proxies only, and from the right: its beginning anybody may have written', () => {
  const trusted = ['127.0.0.0/8', '10.0.0.0/8']
  assert.is(clientAddress('192.168.0.9', '1.2.3.4', trusted), '192.168.0.9', 'a neighbour is no proxy')
  assert.is(clientAddress('127.0.0.1', undefined, trusted), '127.0.0.1')
  assert.is(clientAddress('127.0.0.1', '6.6.6.6, 1.2.3.4', trusted), '1.2.3.4')
  assert.is(clientAddress('127.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.7', trusted), '1.2.3.4', 'two proxies')
  assert.is(clientAddress('::ffff:127.0.0.1', '2001:db8::7', trusted), '2001:db8::7')
  assert.is(clientAddress('127.0.0.1', '6.6.6.6, nonsense', trusted), '127.0.0.1')
})

test('a client is counted by its IPv4 address, or by the /64 of its IPv6 address', () => {
  assert.is(clientNetwork('192.0.2.1'), '192.0.2.1')
  assert.is(clientNetwork('::ffff:192.0.2.1'), '192.0.2.1')
  assert.is(clientNetwork('2001:db8:1:2:3:4:5:6'), clientNetwork('2001:db8:1:2::9'))
  assert.is.not(clientNetwork('2001:db8:1:2::9'), clientNetwork('2001:db8:1:3::9'))
})

test.run()
