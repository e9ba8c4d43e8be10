import * as assert from 'uvu/assert'
import { columnsOf } from '../../../control/calls/programs/records.ts'
import { insertParty, type NewParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal, type WholeApp } from '../whole-app.ts'

const test = suite('control/flows/flow-kinds')

const GRAPH = {
  nodes: [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'bye' }] },
    { key: 'bye', type: 'end', transitions: [] },
  ],
}

/** A published flow of a kind; its ID. */
async function published({ live }: WholeApp, kind: 'voice' | 'ivr' | 'agent_script'): Promise<string> {
  const { id } = (await live('POST /v1/flows', { name: kind, kind, graph: GRAPH })).body
  assert.is((await live(`POST /v1/flows/${id}/publish`, {})).status, 200)
  return id
}

/** A call that is being had. */
async function running({ store, ours: { organisationId } }: WholeApp) {
  const tenant = { organisationId, livemode: true }
  const [callId, legId] = [newId('call'), newId('participant')]
  const party: NewParty = {
    ...{ callId, legId, direction: 'inbound', to: '1002', from: '2001', target: 'park', roomId: null },
    ...{ connectionId: null, metadata: {}, role: 'member', muted: false },
  }
  const at = '2026-11-22T10:00:00.000Z'
  await store.transaction(trx => insertParty(trx, tenant, party, at))
  const calls = forTenant(store.db, tenant)
  await calls.update('calls').set({ status: 'in_progress', answered_at: at }).where('id', '=', callId).execute()
  return { callId, calls }
}

test('an agent script leads no caller: calls, transfers, inbound routes and assistants refuse it, naming the field', async () => {
  const app = await makeWholeApp()
  const { live } = app
  const script = await published(app, 'agent_script')
  const to = 'sip:bob@192.0.2.1'
  for (const [line, body] of [
    ['POST /v1/calls', { to, flow_id: script }],
    ['POST /v1/assistants', { name: 'a', flow_id: script }],
  ] as const)
    assert.equal(refusal(await live(line, body)).slice(0, 2), [400, 'flow_id'])
  const route = { match: { to: '7' }, target: { type: 'flow', id: script } }
  assert.equal(refusal(await live('POST /v1/inbound_routes', route)).slice(0, 2), [400, 'target.id'])
  const refused = await live('POST /v1/assistants', { name: 'a', flow_id: script })
  assert.equal(refusal(refused).slice(0, 2), [400, 'flow_id'])
  assert.match(refused.body.error.message, /agent_script/)
  for (const kind of ['voice', 'ivr'] as const) {
    const flow = await published(app, kind)
    assert.is((await live('POST /v1/assistants', { name: 'a', flow_id: flow })).status, 201)
    assert.is((await live('POST /v1/inbound_routes', { ...route, target: { type: 'flow', id: flow } })).status, 201)
  }
  await app.close()
})

test('a call that runs is transferred to no agent script, and goes on as it was', async () => {
  const app = await makeWholeApp()
  const script = await published(app, 'agent_script')
  const { callId, calls } = await running(app)
  const answer = await app.live(`POST /v1/calls/${callId}/transfer`, { flow_id: script })
  assert.equal(refusal(answer).slice(0, 2), [400, 'flow_id'])
  assert.match(answer.body.error.message, /agent_script/)
  assert.is((await calls.find('calls', callId))?.status, 'in_progress')
  await app.close()
})

test('a flow that has not been published leads no caller: inbound routes, campaigns and transfers refuse it until it is', async () => {
  const app = await makeWholeApp()
  const { live } = app
  const { callId } = await running(app)
  const id = (await live('POST /v1/flows', { name: 'new', kind: 'ivr', graph: GRAPH })).body.id
  const routed = await live('POST /v1/inbound_routes', { match: { to: '7' }, target: { type: 'echo' } })
  const path = `PATCH /v1/inbound_routes/${routed.body.id}`
  const target = { type: 'flow', id }
  for (const [line, body, param] of [
    ['POST /v1/inbound_routes', { match: { to: '8' }, target }, 'target.id'],
    [path, { target }, 'target.id'],
    ['POST /v1/campaigns', { name: 'c', flow_id: id }, 'flow_id'],
    [`POST /v1/calls/${callId}/transfer`, { flow_id: id }, 'flow_id'],
  ] as const) {
    const refused = await live(line, body)
    assert.equal(refusal(refused).slice(0, 2), [400, param], line)
    assert.match(refused.body.error.message, 'has not been published')
  }
  await live(`POST /v1/flows/${id}/publish`, {})
  assert.equal((await live(path, { target })).body.target, target)
  await app.close()
})

test('a route to a flow that has not been published, or to a member who is deactivated, is changed in all but that', async () => {
  const app = await makeWholeApp()
  const { live } = app
  const flow = (await live('POST /v1/flows', { name: 'new', kind: 'ivr', graph: GRAPH })).body.id
  const member = (await live('POST /v1/invitations', { email: 'ann@example.com' })).body.user_id
  const routes = forTenant(app.store.db, { organisationId: app.ours.organisationId, livemode: true })
  for (const target of [
    { type: 'flow', id: flow },
    { type: 'user', id: member },
  ]) {
    const { id } = (await live('POST /v1/inbound_routes', { match: { to: '7' }, target: { type: 'echo' } })).body
    // As it may have become.
    await routes.change('inbound_routes', id, { target: target.type as 'flow', target_id: target.id })
    if (target.type === 'user') await live(`PATCH /v1/users/${member}`, { status: 'deactivated' })
    const path = `PATCH /v1/inbound_routes/${id}`
    assert.equal((await live(path, { priority: 5, target })).body.priority, 5)
    const fresh = await live('POST /v1/inbound_routes', { match: { to: '8' }, target })
    assert.equal(refusal(fresh).slice(0, 2), [400, 'target.id'])
    assert.match(fresh.body.error.message, target.type === 'flow' ? 'has not been published' : 'is deactivated')
  }
  await app.close()
})

test('a flow cannot hand its caller to an agent script', async () => {
  const app = await makeWholeApp()
  const nodes = [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'on' }] },
    {
      key: 'on',
      type: 'transfer',
      target: { type: 'flow', id: await published(app, 'agent_script') },
      transitions: [],
    },
  ]
  const { body } = await app.live('POST /v1/flows/validate', { graph: { kind: 'voice', nodes } })
  assert.ok(
    body.issues.some((issue: { node_key: string; severity: string }) => issue.node_key === 'on'),
    JSON.stringify(body.issues),
  )
  await app.close()
})

test('an agent script that was chosen before it was refused leads no call', async () => {
  const app = await makeWholeApp()
  const script = await published(app, 'agent_script')
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const program = await columnsOf(app.store.db, tenant, { flowId: script })
  assert.is(program.flow_version, null)
  const id = (await app.live('POST /v1/assistants', { name: 'a' })).body.id
  await forTenant(app.store.db, tenant).update('assistants').set({ flow_id: script }).where('id', '=', id).execute()
  assert.is((await columnsOf(app.store.db, tenant, { assistantId: id })).kind, 'assistant')
  await app.close()
})

test("a copilot profile's script is an agent script, in a version that there is", async () => {
  const app = await makeWholeApp()
  const { live } = app
  const script = await published(app, 'agent_script')
  const draft = (await live('POST /v1/flows', { name: 'draft', kind: 'agent_script' })).body.id
  const make = (sent: object) => live('POST /v1/copilot_profiles', { name: 'Sales', script: sent })
  for (const [sent, param] of [
    [{ flow_id: await published(app, 'voice') }, 'script.flow_id'],
    [{ flow_id: await published(app, 'ivr') }, 'script.flow_id'],
    [{ flow_id: script, version: 2 }, 'script.version'],
    [{ flow_id: draft, version: 1 }, 'script.version'],
    [{ version: 1 }, 'script.version'],
  ] as const) {
    assert.equal(refusal(await make(sent)).slice(0, 2), [400, param], JSON.stringify(sent))
  }
  const made = await make({ flow_id: script, version: 1 })
  assert.equal(made.body.script, { flow_id: script, version: 1 })
  const path = `PATCH /v1/copilot_profiles/${made.body.id}`
  assert.equal(refusal(await live(path, { script: { version: 9 } })).slice(0, 2), [400, 'script.version'])
  const other = await live(path, { script: { flow_id: draft } })
  assert.equal(
    refusal(other).slice(0, 2),
    [400, 'script.version'],
    'the version that is kept is not one of the new flow',
  )
  assert.is((await live(path, { script: { flow_id: draft, version: 'published' } })).status, 200)
  assert.is((await live(path, { name: 'Renamed' })).status, 200)
  await app.close()
})

test.run()
