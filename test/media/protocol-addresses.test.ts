import * as assert from 'uvu/assert'
import { isAllowedAddress, isInNetworks } from '../../media/protocol.ts'
import { suite } from '../harness.ts'

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

test.run()
