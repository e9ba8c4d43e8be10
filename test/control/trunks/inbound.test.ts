import * as assert from 'uvu/assert'
import { addressOf } from '../../../control/trunks/address.ts'
import { isInHours, routeInbound } from '../../../control/trunks/inbound.ts'
import { NO_INBOUND_CREDENTIALS } from '../../../control/trunks/inbound-auth.ts'
import type { ConnectionRow, InboundRouteRow } from '../../../control/trunks/tables.ts'
import { suite } from '../../harness.ts'

const test = suite('control/trunks/inbound')

const tenant = { organisation_id: 'org_1', livemode: 1, created: '', updated: '' }
const connection = (id: string, more: Partial<ConnectionRow> = {}): ConnectionRow => ({
  id,
  ...tenant,
  name: id,
  kind: 'peer',
  host: null,
  port: 5060,
  transport: 'udp',
  auth_username: null,
  auth_password: null,
  allowed_ips: '["192.0.2.0/24","2001:db8::/32"]',
  codecs: '["PCMU"]',
  max_calls: null,
  calls_per_second: null,
  enabled: 1,
  dtmf_mode: 'auto',
  srtp: 'off',
  reliable_provisional: 'when_required',
  hosts: '[]',
  failover_on: '[503]',
  follow_redirects: 0,
  rates: '[]',
  number_format: 'e164',
  number_country: null,
  trust_identity: 0,
  show_private_callers: 0,
  sign_calls: 0,
  verify_calls: 'off',
  identity: 'from',
  redirect_headers: 'diversion',
  dial_prefix: '',
  caller_number: null,
  ...NO_INBOUND_CREDENTIALS,
  transfers: 'refuse',
  transfer_caller: 'original',
  status: null,
  sip_code: null,
  kept_by: null,
  service_route: '[]',
  kept_until: null,
  ...more,
})
const route = (id: string, match_to: string | null, more: Partial<InboundRouteRow> = {}): InboundRouteRow => ({
  id,
  ...tenant,
  match_to,
  match_from: null,
  match_connection_id: null,
  target: 'echo',
  target_id: null,
  hours: null,
  answer: null,
  capture: null,
  priority: 0,
  ...more,
})
const party = (user: string) => ({ uri: `sip:${user}@pbx.test`, user, host: 'pbx.test' })

function winner(to: string, routes: InboundRouteRow[], host = '192.0.2.5', connections = [connection('conn_1')]) {
  const source = { transport: 'udp' as const, host, port: 5060 }
  const decision = routeInbound({ to: party(to), from: party('alice'), source }, connections, routes, () => 2)
  return 'accept' in decision ? decision.accept.route.id : decision.reject.sipCode
}

test('a number matches exactly, by a prefix with *, or as a SIP URI', () => {
  assert.is(winner('1000', [route('a', '1000')]), 'a')
  assert.is(winner('10001', [route('a', '1000')]), 404)
  assert.is(winner('10001', [route('a', '1000*')]), 'a')
  assert.is(winner('1000', [route('a', 'sip:1000@pbx.test')]), 'a')
  assert.is(winner('1000', [route('a', null)]), 'a')
})

test('the beginning of a number that a route takes is answered 484 (RFC 3578), by whatever else a route asks for', () => {
  const routes = [route('a', '+49301234'), route('b', '0800*')]
  assert.equal(
    ['+49', '+4930123', '08'].map(to => winner(to, routes)),
    [484, 484, 484],
  )
  assert.equal(
    ['+4930124', '49', '+', 'sip', '+493012345', ''].map(to => winner(to, routes)),
    Array(6).fill(404),
  )
  assert.is(winner('+49', [...routes, route('c', null)]), 'c')
  assert.is(winner('10', [route('a', '1000', { match_from: 'bob' })]), 404)
  assert.is(winner('10', [route('a', '1000', { match_from: 'alice' })]), 484)
  assert.is(winner('10', [route('a', '1000', { organisation_id: 'org_2' })]), 404)
  assert.is(winner('10', [route('a', '1000', { match_connection_id: 'conn_2' })]), 404)
  assert.is(winner('al', [route('a', 'alice')]), 404)
})

test('of the connections of one organisation the one that names the source most narrowly takes the call', () => {
  const wide = connection('conn_1')
  const narrow = connection('conn_2', { allowed_ips: '["192.0.2.5"]' })
  const taken = (host: string) => {
    const incoming = {
      to: party('1000'),
      from: party('alice'),
      source: { transport: 'udp' as const, host, port: 5060 },
    }
    const decision = routeInbound(incoming, [wide, narrow], [route('a', '1000')], () => 0)
    return 'accept' in decision ? decision.accept.connection.id : null
  }
  assert.equal([taken('192.0.2.5'), taken('192.0.2.6')], ['conn_2', 'conn_1'])
})

test('a route that names its caller sees the number that a trusted trunk asserts, and nobody who is private', () => {
  const trusted = connection('conn_1', { trust_identity: 1 })
  const routes = [route('any', '1000'), route('vip', '1000', { match_from: '+15550100100' })]
  const taken = (privacy: string[]) => {
    const asserted = [{ ...party('+15550100100'), displayName: null }]
    const identity = { displayName: null, asserted, privacy, redirects: [] }
    const incoming = { to: party('1000'), from: party('anonymous'), source: { host: '192.0.2.5' }, identity }
    const decision = routeInbound(incoming, [trusted], routes, () => 0)
    return 'accept' in decision ? decision.accept.route.id : null
  }
  assert.equal([taken([]), taken(['id'])], ['vip', 'any'])
})

test('the highest priority wins, among equals the most specific, then the oldest', () => {
  const routes = [route('b', '1000'), route('a', '10*'), route('c', '100*'), route('d', null), route('e', '1000')]
  assert.is(winner('1000', routes), 'b')
  assert.is(winner('1009', routes), 'c')
  assert.is(winner('1099', routes), 'a')
  assert.is(winner('2000', routes), 'd')
  assert.is(winner('1000', [...routes, route('z', null, { priority: 1 })]), 'z')
  assert.is(winner('1000', [...routes, route('y', '1000', { match_from: 'alice' })]), 'y')
  assert.is(winner('1000', [...routes, route('y', '1000', { match_from: 'bob' })]), 'b')
})

test('a route needs a connection of its own organisation and mode, and the one that it names', () => {
  assert.is(winner('1000', [route('a', '1000', { organisation_id: 'org_2' })]), 404)
  assert.is(winner('1000', [route('a', '1000', { livemode: 0 })]), 404)
  assert.is(winner('1000', [route('a', '1000', { match_connection_id: 'conn_2' })]), 404)
  assert.is(winner('1000', [route('a', '1000', { match_connection_id: 'conn_1' })]), 'a')
})

test('an organisation that lets everybody in, with a route of the highest priority, gets no calls of another', () => {
  const thief = { organisation_id: 'org_2' }
  const everybody = connection('conn_2', { ...thief, allowed_ips: '["0.0.0.0/0"]' })
  const catchAll = route('a', null, { ...thief, priority: 1000 })
  assert.is(winner('1000', [catchAll, route('b', null)], '192.0.2.5', [everybody, connection('conn_1')]), 'b')
  assert.is(winner('1000', [catchAll, route('b', null)], '198.51.100.9', [everybody, connection('conn_1')]), 'a')
  // They share a carrier: who names the number has it.
  const shared = connection('conn_3', thief)
  assert.is(winner('1000', [catchAll, route('b', '1000')], '192.0.2.5', [shared, connection('conn_1')]), 'b')
})

test('a number behind an address that organisations share is of the one that has it: nobody else gets its calls', () => {
  const theirs = { organisation_id: 'org_2' }
  const connections = [connection('conn_1'), connection('conn_2', theirs)]
  const source = { transport: 'udp' as const, host: '192.0.2.5', port: 5060 }
  const led = (routes: InboundRouteRow[], owners: string[], all = connections) => {
    const incoming = { to: party('+14155550100'), from: party('alice'), source }
    const decision = routeInbound(incoming, all, routes, () => 0, owners)
    return 'accept' in decision ? decision.accept.route.id : decision.reject.sipCode
  }
  const exact = route('a', '+14155550100', { priority: 9 })
  const any = route('b', null, theirs)
  assert.is(led([exact, any], []), 'a')
  assert.is(led([exact, any], ['org_2', 'org_1']), 'b')
  assert.is(led([exact], ['org_2']), 404)
  assert.is(led([exact, any], ['org_3']), 'a')
  // Who lets everybody in has no number of those who name the carrier.
  const everybody = connection('conn_2', { ...theirs, allowed_ips: '["0.0.0.0/0"]' })
  assert.is(led([exact, any], ['org_2'], [connections[0]!, everybody]), 'a')
})

test('a source that no enabled connection allows is refused with 403', () => {
  const routes = [route('a', '1000')]
  assert.is(winner('1000', routes, '198.51.100.1'), 403)
  assert.is(winner('1000', routes, '192.0.2.5', [connection('conn_1', { enabled: 0 })]), 403)
  assert.is(winner('1000', routes, '::ffff:192.0.2.9'), 'a', 'IPv4 in IPv6 form counts as IPv4')
  assert.is(winner('1000', routes, '2001:db8::1'), 'a')
  assert.is(winner('1000', routes, 'nonsense'), 403)
})

test('a connection that carries its max_calls refuses with 503', () => {
  const routes = [route('a', '1000')]
  assert.is(winner('1000', routes, '192.0.2.5', [connection('conn_1', { max_calls: 2 })]), 503)
  assert.is(winner('1000', routes, '192.0.2.5', [connection('conn_1', { max_calls: 3 })]), 'a')
})

test('a route with hours leads calls in them only, by the clock of its own time zone', () => {
  const hours = (timezone: string) =>
    JSON.stringify({ timezone, weekly: [{ day: 'saturday', open: '09:00', close: '12:00' }], holidays: ['2026-11-28'] })
  const at = new Date('2026-11-21T10:00:00.000Z')
  assert.is(isInHours({ hours: null }, at), true)
  assert.is(isInHours({ hours: hours('UTC') }, at), true)
  assert.is(isInHours({ hours: hours('Asia/Tokyo') }, at), false)
  assert.is(isInHours({ hours: hours('UTC') }, new Date('2026-11-21T12:00:00.000Z')), false)
  assert.is(isInHours({ hours: hours('UTC') }, new Date('2026-11-28T10:00:00.000Z')), false)
})

test('a number in E.164 is shown as it is, anything else as a SIP URI', () => {
  assert.is(addressOf(party('+15551234567')), '+15551234567')
  assert.is(addressOf(party('1000')), 'sip:1000@pbx.test')
})

test('a call to the contact of a registration is of that connection, and one from its registrar too', () => {
  const registration = connection('conn_reg', { kind: 'registration', host: '203.0.113.9', allowed_ips: '[]' })
  const all = [connection('conn_1'), registration]
  const decide = (host: string, more: object = {}) => {
    const source = { transport: 'udp' as const, host, port: 5060 }
    const decision = routeInbound(
      { to: party('200'), from: party('100'), source, ...more },
      all,
      [route('rte_1', '200')],
      () => 0,
    )
    return 'accept' in decision ? decision.accept.connection.id : decision.reject.sipCode
  }
  assert.is(decide('198.51.100.9', { connectionId: 'conn_reg' }), 'conn_reg')
  assert.is(decide('192.0.2.5', { connectionId: 'conn_reg' }), 'conn_reg')
  assert.is(decide('203.0.113.9'), 'conn_reg')
  assert.is(decide('198.51.100.9'), 403)
})

test.run()
