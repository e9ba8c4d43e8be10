import * as assert from 'uvu/assert'
import { type SoftphoneDeps, Softphones } from '../../../control/browsers/softphone.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import type { MediaPort } from '../../../control/media-link/events.ts'
import { organisationSettings } from '../../../control/organisation/routes.ts'
import { holdLine } from '../../../control/queues/ringing/rings.ts'
import { suite } from '../../harness.ts'
import { makeWorld } from '../app-harness.ts'
import { makeCallsWorld } from '../calls-world.ts'
import { VAULT } from '../whole-app.ts'

const test = suite('control/browsers/softphone')

test('an agent transfers to whom it could dial: a number or an extension, and no SIP address of a stranger', async () => {
  const { store, ours, clock } = await makeWorld()
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const session = { id: 'brw_1', user_id: 'user_1', node: nodeOf(store.db), connected_at: clock.now().toISOString() }
  await forTenant(store.db, tenant).insert('browser_sessions', session)
  const told: unknown[] = []
  const media = {
    request: async (_name: string, { body }: { body: unknown }) => told.push(body),
  } as unknown as MediaPort
  const softphones = new Softphones({ store, now: clock.now, log: { warn: () => {} } } as unknown as SoftphoneDeps)
  for (const to of ['sip:anybody@example.com', '2000', '0301234567', '+15550100123', '0049301234567']) {
    await softphones.handle({ browserId: 'brw_1', body: { type: 'transfer', to } }, media)
  }
  const refused = (message: string) => ({ type: 'refused', message })
  const somebody = refused('You are not in a call.')
  assert.equal(told, [
    refused('No person has the address sip:anybody@example.com.'),
    refused('No person has the address 2000.'),
    refused('National numbers need a `country` of the organisation.'),
    somebody,
    somebody,
  ])
  await store.close()
})

test('an agent books a callback to whom it talks with: its source is manual, and its note has the agent as author', async () => {
  const world = await makeCallsWorld()
  const { store, ours, clock, media } = world
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const at = clock.now().toISOString()
  const own = forTenant(store.db, tenant)
  const user = { id: 'usr_1', name: 'Ann', email: 'ann@example.com', email_verified: 1, role: 'agent' as const }
  const seat = {
    status: 'active' as const,
    team_id: null,
    extension: null,
    takes_seat: 1,
    last_login: null,
    created: at,
  }
  await own.insert('users', { ...user, ...seat })
  await own.insert('browser_sessions', { id: 'brw_1', user_id: 'usr_1', node: nodeOf(store.db), connected_at: at })
  media.dialIn('part_1', '1001', '+15550100199')
  const callId = (await media.command('leg.answer', 'part_1')).room.roomId
  const told: unknown[] = []
  const port = {
    request: async (_name: string, { body }: { body: unknown }) => told.push(body),
  } as unknown as MediaPort
  const booking = { now: clock.now, settings: organisationSettings }
  const deps = { store, now: clock.now, booking, log: { warn: (fields: object) => told.push(fields) } }
  const softphones = new Softphones(deps as unknown as SoftphoneDeps)
  const wish = { browserId: 'brw_1', body: { type: 'callback', note: ' Wants an offer. ' } }
  await softphones.handle(wish, port)
  assert.equal(told.pop(), { type: 'refused', message: 'You are not in a call.' })
  await store.transaction(trx => holdLine(trx, tenant, { userId: 'usr_1', callId, legId: 'part_1', at }))
  await softphones.handle(wish, port)
  assert.equal(told, [{ type: 'done', message: 'A callback to +15550100199 is booked.' }])
  for (const note of ['a\0b', 'a\ud83d']) {
    await softphones.handle({ browserId: 'brw_1', body: { type: 'callback', note } }, port)
    assert.match((told.pop() as { message: string }).message, /^note holds /, 'as in a request of the API')
  }
  const row = await own.select('callbacks').selectAll().executeTakeFirstOrThrow()
  const { source, phone, notes, origin_call_id } = row
  assert.equal([source, phone, origin_call_id], ['manual', '+15550100199', callId])
  assert.match(notes, /, Ann\] Wants an offer\.$/)
  await world.close()
})

test('an agent who dials while there is no capacity for a call is told so, and no page is rung', async () => {
  const { store, ours, clock } = await makeWorld()
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const own = forTenant(store.db, tenant)
  const at = clock.now().toISOString()
  const user = { id: 'usr_1', name: 'Ann', email: 'ann@example.com', email_verified: 1, role: 'agent' as const }
  const seat = { status: 'active' as const, team_id: null, extension: null, takes_seat: 1, last_login: null }
  await own.insert('users', { ...user, ...seat, created: at })
  await own.insert('browser_sessions', { id: 'brw_1', user_id: 'usr_1', node: nodeOf(store.db), connected_at: at })
  const told: unknown[] = []
  const media = {
    request: async (name: string, { body }: { body: unknown }) =>
      name === 'leg.reserve' ? { failure: 'capacity', message: 'full' } : told.push(body),
  } as unknown as MediaPort
  const deps = { store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, log: { warn: () => {} } }
  const softphones = new Softphones(deps as unknown as SoftphoneDeps)
  await softphones.handle({ browserId: 'brw_1', body: { type: 'dial', to: '+14155550100' } }, media)
  assert.equal(told, [{ type: 'refused', message: 'No call capacity right now.' }])
  assert.is(await own.select('rings').selectAll().executeTakeFirst(), undefined)
  await store.close()
})

test('a softphone renews its token twenty times at once, then every 15 s; another member is not held up by it', async () => {
  const { store, ours, clock } = await makeWorld()
  const own = forTenant(store.db, { organisationId: ours.organisationId, livemode: true })
  const connected_at = clock.now().toISOString()
  for (const [id, user_id] of [
    ['brw_1', 'usr_1'],
    ['brw_2', 'usr_2'],
  ] as const)
    await own.insert('browser_sessions', { id, user_id, node: nodeOf(store.db), connected_at })
  const told: { type: string }[] = []
  const media = {
    request: async (_name: string, { body }: { body: { type: string } }) => told.push(body),
  } as unknown as MediaPort
  const deps = { store, vault: VAULT, now: clock.now, log: { warn: () => {} } }
  const softphones = new Softphones(deps as unknown as SoftphoneDeps)
  const renew = async (browserId = 'brw_1'): Promise<string | undefined> => {
    await softphones.handle({ browserId, body: { type: 'renew' } }, media)
    return told.pop()?.type
  }
  for (let i = 0; i < 20; i++) assert.is(await renew(), 'token')
  assert.equal([await renew(), await renew('brw_2')], ['refused', 'token'])
  clock.advance(15_000)
  assert.equal([await renew(), await renew()], ['token', 'refused'])
  await store.close()
})

test.run()
