import * as assert from 'uvu/assert'
import { wayTo } from '../../../control/calls/dial.ts'
import { callerOf, NOT_JUDGED } from '../../../control/trunks/caller-identity.ts'
import type { OutgoingCall } from '../../../control/trunks/outbound.ts'
import { ANONYMOUS, type ClaimedIdentity, type SipParty } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/trunks/caller-identity')

const party = (user: string, host = 'pbx.test'): SipParty => ({ uri: `sip:${user}@${host}`, user, host })
const NOBODY = party('Anonymous', 'anonymous.invalid')
const ANN = '+15550100100'
const said = (more: Partial<ClaimedIdentity> = {}): ClaimedIdentity => ({
  displayName: null,
  asserted: [],
  privacy: [],
  redirects: [],
  ...more,
})
const asserted = [
  { ...party('ann', 'carrier.test'), displayName: 'Ann Smith' },
  { ...party(ANN, ''), displayName: null },
]

const shown = (from: SipParty, identity?: ClaimedIdentity, more: { trusted?: boolean; mayShow?: boolean } = {}) => {
  const { trusted = true, mayShow = false } = more
  const connection = { trust_identity: trusted ? 1 : 0, show_private_callers: mayShow ? 1 : 0, number_country: null }
  const caller = callerOf(identity === undefined ? { from } : { from, identity }, connection)
  return { ...caller, from: caller.from.user }
}

test('an anonymous From is replaced by what a trusted far end asserts, and by nothing of another', () => {
  const { from, identity } = shown(NOBODY, said({ asserted }))
  assert.is(from, ANN, 'a number goes before an address')
  assert.equal(identity, { anonymous: false, name: null, asserted: ANN, ...NOT_JUDGED })
  const distrusted = shown(NOBODY, said({ asserted }), { trusted: false })
  assert.is(distrusted.from.toLowerCase(), 'anonymous')
  assert.equal(distrusted.identity, { anonymous: true, name: null, asserted: null, ...NOT_JUDGED })
})

test('a From that names somebody stays, beside what is asserted', () => {
  const { from, identity } = shown(party('+15550100200'), said({ asserted, displayName: 'Sales' }))
  assert.is(from, '+15550100200')
  assert.equal(identity, { anonymous: false, name: 'Sales', asserted: ANN, ...NOT_JUDGED })
  assert.is(shown(party('+15550100200')).identity, null)
})

test('who asks for privacy is neither named nor asserted, nor known by From', () => {
  for (const word of ['id', 'header', 'user']) {
    const hidden = shown(party(ANN), said({ asserted, privacy: [word], displayName: 'Ann' }))
    assert.is(hidden.from, 'anonymous')
    assert.equal(hidden.identity, { anonymous: true, name: null, asserted: null, ...NOT_JUDGED })
  }
  assert.is(shown(party(ANN), said({ privacy: ['none'] })).from, ANN)
})

test('a connection that may see private callers shows them, and that they asked not to be', () => {
  const { from, identity } = shown(NOBODY, said({ asserted, privacy: ['id'] }), { mayShow: true })
  assert.is(from, ANN)
  assert.equal(identity, { anonymous: true, name: null, asserted: ANN, ...NOT_JUDGED })
})

test('whom the call was for is shown, unless that one does not wish to be', () => {
  const redirects = [
    { party: party('+15550100300'), reason: 'no-answer' as const, count: 2, isPrivate: false },
    { party: party('secret'), reason: 'unknown' as const, count: 1, isPrivate: true },
  ]
  assert.equal(shown(party(ANN), said({ redirects })).redirectedFrom, [
    { address: '+15550100300', reason: 'no-answer', count: 2 },
    { address: ANONYMOUS, reason: 'unknown', count: 1 },
  ])
  const [first] = shown(party(ANN), said({ redirects, privacy: ['history'] })).redirectedFrom
  assert.is(first?.address, ANONYMOUS)
})

let app: WholeApp
test.before(async () => {
  app = await makeWholeApp()
})
test.after(() => app.close())

/** How a call goes out over a connection with these fields. */
async function target(fields: object, call: Partial<OutgoingCall> = {}) {
  const body = { name: 'Carrier', kind: 'trunk', host: 'carrier.example.com', ...fields }
  const made = await app.live('POST /v1/connections', body)
  assert.is(made.status, 201, JSON.stringify(made.body))
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const wanted = { to: '+442071838750', from: ANN, ...call }
  const way = await wayTo(app.store.db, tenant, wanted, { sipHost: '192.0.2.1', vault: VAULT })
  await app.live(`DELETE /v1/connections/${made.body.id}`)
  if ('problem' in way) throw new Error(way.message)
  return way.target
}

test('a connection says in which header the caller goes out, and numbers stand there as it wants them', async () => {
  const fields = { identity: 'asserted', redirect_headers: 'history_info', number_format: 'national' }
  const { identity, from } = await target({ ...fields, number_country: 'US' }, { from: '+12125550142' })
  assert.is(from.uri, 'sip:2125550142@carrier.example.com')
  assert.equal(identity, {
    form: 'asserted',
    caller: 'sip:2125550142@carrier.example.com',
    isPrivate: false,
    redirects: [],
    redirectForm: 'history_info',
  })
})

test('whom a call was for goes with it when it is sent on, as the connection writes numbers', async () => {
  const redirectedFrom = [
    { address: '+15550100300', reason: 'unconditional' as const, count: 1 },
    { address: ANONYMOUS, reason: 'user-busy' as const, count: 2 },
    { address: 'rubbish', reason: 'unknown' as const, count: 1 },
  ]
  const { identity } = await target({ number_format: 'digits' }, { redirectedFrom })
  assert.equal(identity?.redirects, [
    { uri: 'sip:15550100300@carrier.example.com', reason: 'unconditional', count: 1, isPrivate: false },
    { uri: ANONYMOUS, reason: 'user-busy', count: 2, isPrivate: true },
  ])
  assert.is(identity?.redirectForm, 'diversion')
})

test('who called anonymously stays so when the call is sent on: the far end is told the number of ours that was called', async () => {
  const redirectedFrom = [{ address: '+15550100300', reason: 'unconditional' as const, count: 1 }]
  const { identity } = await target({ identity: 'asserted' }, { from: ANONYMOUS, redirectedFrom })
  assert.equal([identity?.isPrivate, identity?.caller], [true, 'sip:+15550100300@carrier.example.com'])
  const alone = await target({ identity: 'asserted' }, { from: ANONYMOUS })
  assert.equal([alone.identity?.isPrivate, alone.identity?.caller], [true, null])
})

test('what is wrong with these fields is refused', async () => {
  for (const [field, value] of [
    ['identity', 'rpid'],
    ['redirect_headers', 'both'],
    ['trust_identity', 'yes'],
  ] as const) {
    const body = { name: 'Carrier', kind: 'trunk', host: 'carrier.example.com', [field]: value }
    const { status, body: refusal } = await app.live('POST /v1/connections', body)
    assert.equal([status, refusal.error?.param], [400, field], JSON.stringify(refusal))
  }
})

test.run()
