import * as assert from 'uvu/assert'
import { addressOfRecord, sipHost } from '../../../control/trunks/address.ts'
import { suite } from '../../harness.ts'

const test = suite('control/trunks/address')

test('a host is a name or an address, IPv6 with brackets in URIs', () => {
  assert.equal(sipHost('sip.example.com'), { bare: 'sip.example.com', inUri: 'sip.example.com' })
  assert.equal(sipHost('2001:db8::1'), { bare: '2001:db8::1', inUri: '[2001:db8::1]' })
  assert.equal(sipHost('[2001:db8::1]'), { bare: '2001:db8::1', inUri: '[2001:db8::1]' })
  for (const bad of ['', '-', '192.0.2.1:5060', '[192.0.2.1]', 'a b', '::::']) assert.is(sipHost(bad), null, bad)
})

test('an account is at its registrar, unless it says itself where; what a URI cannot hold is escaped', () => {
  const host = sipHost('192.0.2.50')!
  assert.is(addressOfRecord('ann', host), 'sip:ann@192.0.2.50')
  assert.is(addressOfRecord('+15550100100', host), 'sip:+15550100100@192.0.2.50')
  assert.is(addressOfRecord('ann@example.com', host), 'sip:ann@example.com')
  assert.is(addressOfRecord('ä <b>', host), 'sip:%C3%A4%20%3Cb%3E@192.0.2.50')
  assert.is(addressOfRecord('ann@no host', host), null)
})

test.run()
