import * as assert from 'uvu/assert'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/flows/flow-archive')

const world = await makeWholeApp()
const { live } = world
test.after(() => world.close())

async function makeFlow(published = true, kind = 'voice'): Promise<string> {
  const { body } = await live('POST /v1/flows', { name: 'Front desk', kind })
  if (published) await live(`POST /v1/flows/${body.id}/publish`)
  return body.id
}
const archive = (id: string) => live(`POST /v1/flows/${id}/archive`)

test('an archived flow has the status archived, and comes back as it was, each with its event', async () => {
  for (const [published, before] of [
    [true, 'published'],
    [false, 'draft'],
  ] as const) {
    const id = await makeFlow(published)
    const archived = await archive(id)
    assert.equal([archived.status, archived.body.status, archived.body.object], [200, 'archived', 'flow'])
    const back = await live(`POST /v1/flows/${id}/unarchive`)
    assert.equal([back.status, back.body.status], [200, before])
    const told = [...(await world.events('flow.archived')), ...(await world.events('flow.unarchived'))]
    assert.equal(
      told.filter(data => data.object.id === id).map(data => [data.object.status, data.previous_attributes.status]),
      [
        ['archived', before],
        [before, 'archived'],
      ],
    )
  }
})

test('archiving an archived flow, and unarchiving one that is not, answer 409', async () => {
  const id = await makeFlow()
  assert.equal(refusal(await live(`POST /v1/flows/${id}/unarchive`)), [409, null, 'not_archived'])
  await archive(id)
  assert.equal(refusal(await archive(id)), [409, null, 'archived'])
})

test('a flow in use is not archived: 409 lists its users', async () => {
  const id = await makeFlow()
  const { body: assistant } = await live('POST /v1/assistants', { name: 'Ann', flow_id: id })
  const { body: route } = await live('POST /v1/inbound_routes', { match: { to: '7' }, target: { type: 'flow', id } })
  const script = await makeFlow(true, 'agent_script')
  const { body: profile } = await live('POST /v1/copilot_profiles', { name: 'Sales', script: { flow_id: script } })
  for (const [flow, users] of [
    [id, [assistant.id, route.id]],
    [script, [profile.id]],
  ] as const) {
    const answer = await archive(flow)
    assert.equal(refusal(answer), [409, null, 'in_use'])
    assert.equal(
      answer.body.error.details.used_by.map((user: { id: string }) => user.id),
      users,
    )
    assert.is((await live(`GET /v1/flows/${flow}`)).body.status, 'published')
  }
})

test('an archived flow is neither changed nor published', async () => {
  const id = await makeFlow()
  await archive(id)
  const draft = await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: { nodes: [] } })
  assert.equal(refusal(draft), [409, null, 'archived'])
  assert.equal(refusal(await live(`POST /v1/flows/${id}/publish`)), [409, null, 'archived'])
})

test('an archived flow cannot be named by an assistant, a copilot profile or an inbound route, nor be called', async () => {
  const id = await makeFlow()
  await archive(id)
  const assistant = await live('POST /v1/assistants', { name: 'Ann', flow_id: id })
  assert.equal(refusal(assistant), [400, 'flow_id', undefined])
  assert.match(assistant.body.error.message, 'archived')
  const profile = await live('POST /v1/copilot_profiles', { name: 'Sales', script: { flow_id: id } })
  assert.equal(refusal(profile), [400, 'script.flow_id', undefined])
  const route = await live('POST /v1/inbound_routes', { match: { to: '7' }, target: { type: 'flow', id } })
  assert.equal(refusal(route), [400, 'target.id', undefined])
  const call = await live('POST /v1/calls', { to: 'sip:a@127.0.0.1', flow_id: id })
  assert.equal(refusal(call), [409, null, 'archived'])
})

test('an archived flow can be read, simulated, duplicated and deleted', async () => {
  const id = await makeFlow()
  await archive(id)
  assert.is((await live(`GET /v1/flows/${id}/versions`)).body.data.length, 1)
  assert.is((await live(`POST /v1/flows/${id}/simulate`, {})).status, 200)
  assert.is((await live(`POST /v1/flows/${id}/duplicate`, {})).body.status, 'draft')
  assert.is((await live(`DELETE /v1/flows/${id}`)).status, 200)
})

test('GET /flows answers only those of a status or a kind', async () => {
  const id = await makeFlow()
  await archive(id)
  const { body } = await live('GET /v1/flows?status=archived&kind=voice')
  assert.is(body.data[0].id, id)
  assert.ok(body.data.every((flow: { status: string }) => flow.status === 'archived'))
  assert.is((await live('GET /v1/flows?status=archived&kind=ivr')).body.data.length, 0)
  const ours = { organisationId: world.ours.organisationId, livemode: true }
  const rows = await forTenant(world.store.db, ours)
    .select('flows')
    .select('id')
    .where('status', '=', 'archived')
    .execute()
  assert.is((await live('GET /v1/flows?status=archived&limit=100')).body.data.length, rows.length)
})

test.run()
