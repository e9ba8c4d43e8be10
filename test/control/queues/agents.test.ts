import * as assert from 'uvu/assert'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { insertApiKey } from '../../../control/organisation/api-key-routes.ts'
import { findRing, startRing } from '../../../control/queues/ringing/rings.ts'
import { suite } from '../../harness.ts'
import { START } from '../app-harness.ts'
import { addMember, makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/queues/agents')

test('a member who has never signed in is offline since the member exists', async () => {
  const { live, close } = await makeWholeApp()
  const ann = await addMember(live, 'ann@example.com')
  assert.equal((await live(`GET /v1/agents/${ann}/status`)).body, {
    object: 'agent_status',
    livemode: true,
    user_id: ann,
    status: 'offline',
    since: '2026-11-21T10:00:00.000Z',
    ringing: false,
    queue_ids: [],
    call: null,
    wrap_up_until: null,
  })
  await close()
})

test('available, away and offline can be set; each change emits agent.status.changed, the same again does not', async () => {
  const { live, clock, events, close } = await makeWholeApp()
  const ann = await addMember(live, 'ann@example.com')
  const set = (status: string) => live(`PUT /v1/agents/${ann}/status`, { status })
  clock.advance(60_000)
  assert.equal((await set('available')).body.since, '2026-11-21T10:01:00.000Z')
  // Less than presence waits for a device.
  clock.advance(10_000)
  assert.equal((await set('available')).body.since, '2026-11-21T10:01:00.000Z')
  assert.is((await set('away')).body.status, 'away')
  assert.is((await live(`GET /v1/agents/${ann}/status`)).body.status, 'away')
  for (const status of ['busy', 'wrap_up', 'asleep'])
    assert.equal(refusal(await set(status)), [400, 'status', undefined])
  assert.equal(
    (await events('agent.status.changed')).map(data => [data.previous_attributes.status, data.object.status]),
    [
      ['offline', 'available'],
      ['available', 'away'],
    ],
  )
  await close()
})

test('a member who is not active has no status to set, and one who is deactivated goes offline', async () => {
  const { live, events, close } = await makeWholeApp()
  const invited = (await live('POST /v1/invitations', { email: 'new@example.com' })).body.user_id
  const refused = await live(`PUT /v1/agents/${invited}/status`, { status: 'available' })
  assert.equal(refusal(refused), [409, null, 'not_active'])
  const ann = await addMember(live, 'ann@example.com')
  await live(`PUT /v1/agents/${ann}/status`, { status: 'available' })
  await live(`PATCH /v1/users/${ann}`, { status: 'deactivated' })
  assert.is((await live(`GET /v1/agents/${ann}/status`)).body.status, 'offline')
  assert.is((await events('agent.status.changed')).length, 2)
  await close()
})

test('whoever leaves a queue, a team of it, or the desk, while its phone rings: the time of that ring is over', async () => {
  const { live, store, ours, close } = await makeWholeApp()
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const ringing = { purpose: 'queue' as const, callbackId: null, mode: null, targets: [], role: 'agent' as const }
  const ways: ((user: string, team: string, queue: string) => Promise<unknown>)[] = [
    (_user, _team, queue) => live(`PATCH /v1/queues/${queue}`, { member_team_ids: [] }),
    user => live(`PATCH /v1/users/${user}`, { team_id: null }),
    (_user, team) => live(`DELETE /v1/teams/${team}`),
    user => live(`PUT /v1/agents/${user}/status`, { status: 'away' }),
  ]
  for (const [i, leave] of ways.entries()) {
    const team = (await live('POST /v1/teams', { name: `Team ${i}` })).body.id
    const user = await addMember(live, `${i}@example.com`, { team_id: team })
    await live(`PUT /v1/agents/${user}/status`, { status: 'available' })
    const queue = (await live('POST /v1/queues', { name: 'Help', member_team_ids: [team] })).body.id
    const ring = { ...ringing, callId: `call_${i}`, userId: user, queueId: queue, address: user, timeoutS: 20 }
    const at = new Date().toISOString()
    const { id } = (await store.transaction(trx => startRing(trx, tenant, ring, at)))!
    const isDue = async () => ((await findRing(store.db, tenant, id))?.deadline ?? '') <= at
    await live(`PATCH /v1/queues/${queue}`, { name: 'Helpdesk' })
    assert.not.ok(await isDue(), String(leave))
    await leave(user, team, queue)
    assert.ok(await isDue(), String(leave))
  }
  await close()
})

test('the path takes usr_ followed by letters and digits, at most 200 characters', async () => {
  const { live, close } = await makeWholeApp()
  for (const id of ['team_1', 'usr_', 'usr_a-b', `usr_${'a'.repeat(197)}`]) {
    const { status } = await live(`GET /v1/agents/${id}/status`)
    assert.ok(status === 400 || (id.length > 200 && status === 404), `${id}: ${status}`)
  }
  assert.is((await live(`GET /v1/agents/usr_${'a'.repeat(196)}/status`)).status, 404)
  await close()
})

test('GET /agents/{id}/status needs the scope agents:read', async () => {
  const { live, store, ours, close } = await makeWholeApp()
  const ann = await addMember(live, 'ann@example.com')
  const withScope = async (scope: 'agents:read' | 'users:read') => {
    const secret = `sk_live_${scope.replace(':', '_')}_0123456789`
    const tenant = { organisationId: ours.organisationId, livemode: true }
    await insertApiKey(store.db, tenant, { name: '', secret, scopes: [scope], expiresAt: null, now: START })
    return (await live(`GET /v1/agents/${ann}/status`, undefined, { key: secret })).status
  }
  assert.is(await withScope('agents:read'), 200)
  assert.is(await withScope('users:read'), 403)
  await close()
})

test('an agent whom a waiting call is offered is ringing', async () => {
  const { live, store, ours, close } = await makeWholeApp()
  const ann = await addMember(live, 'ann@example.com')
  const tables = forTenant(store.db, { organisationId: ours.organisationId, livemode: true })
  await tables.insert('rings', {
    id: 'ring_1',
    call_id: 'call_1',
    open_call: 'call_1',
    user_id: ann,
    open_user: ann,
    queue_id: 'q_1',
    callback_id: null,
    purpose: 'queue',
    state: 'ringing',
    started_at: START.toISOString(),
    deadline: START.toISOString(),
    leg_id: null,
    mode: null,
    node_id: 'node',
  })
  assert.is((await live(`GET /v1/agents/${ann}/status`)).body.ringing, true)
  await close()
})

test.run()
