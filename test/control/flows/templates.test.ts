import * as assert from 'uvu/assert'
import { mockModel } from '../../../control/flows/engine/mock-model.ts'
import { type SimulatedCaller, sampleVariables, simulate } from '../../../control/flows/engine/simulation.ts'
import { newState } from '../../../control/flows/engine/state.ts'
import type { FlowVariables } from '../../../control/flows/engine/template.ts'
import { FLOW_TEMPLATES } from '../../../control/flows/templates/routes.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/flows/templates')

const world = await makeWholeApp()
const { live } = world
test.after(() => world.close())

type Trial = SimulatedCaller & { variables?: FlowVariables }
const CALLBACK_FAILS = { outcomes: { callback: 'failed' } }
const DESK = { variables: { desk_number: '+14155550100' } }

/** Calls that together pass every node of a template. */
const TRIALS: Record<string, Trial[]> = {
  reception: [
    { dtmf: '1', variables: { sales_number: '+14155550100' }, outcomes: { to_sales: 'busy' } },
    { message: 'I need help', variables: { support_number: '+14155550101' }, outcomes: { to_support: 'no_answer' } },
    { dtmf: '3', ...CALLBACK_FAILS },
  ],
  opening_hours: [
    { dtmf: '1129', variables: { address: 'twelve Harbour Street' } },
    { dtmf: '29', open: false },
    { dtmf: '0', ...DESK, outcomes: { to_desk: 'busy' } },
    { dtmf: '0', open: false },
  ],
  appointment: [
    { messages: ['A haircut', 'Friday at ten', 'Ann'], dtmf: '1' },
    { messages: ['A haircut', 'Friday at ten', 'Ann'], dtmf: '1', outcomes: { book: 'failed' } },
    { messages: ['A haircut', 'Friday', 'Ann', 'no', 'A shave', 'Monday', 'Ann'], dtmf: '999', ...CALLBACK_FAILS },
  ],
  order_status: [
    { messages: ['4711'], dtmf: '9' },
    { messages: ['4711', 'please call me'] },
    { messages: ['4711', 'please call me'], outcomes: { look_up: 'failed', callback: 'failed' } },
  ],
  survey: [{ dtmf: '154', message: 'Nothing' }, { message: 'no' }],
  payment: [
    { messages: ['4711'], dtmf: '1' },
    { dtmf: '1', variables: { amount: '12' }, outcomes: { pay: 'busy' } },
    { messages: ['4711'], outcomes: { look_up: 'timeout', callback: 'failed' } },
  ],
  after_hours_voicemail: [
    { ...DESK, outcomes: { to_desk: 'busy' } },
    { open: false, outcomes: { message: 'failed' } },
  ],
  outbound_reminder: [
    { dtmf: '1' },
    { dtmf: '2', ...DESK, outcomes: { to_desk: 'busy', tell: 'failed' } },
    { dtmf: '3' },
    { dtmf: '99' },
  ],
}

test('the flow templates are the eight that callers need most', () => {
  assert.equal(FLOW_TEMPLATES.map(({ id }) => id).sort(), Object.keys(TRIALS).sort())
})

for (const { id, kind } of FLOW_TEMPLATES) {
  test(`${id}: a flow made from it validates without a warning, is published as it is, and every node can be reached`, async () => {
    const { status, body } = await live('POST /v1/flows', { name: 'Mine', template_id: id })
    assert.equal([status, body.template_id, body.kind], [201, id, kind])
    const { graph } = (await live(`GET /v1/flow_templates/${id}`)).body
    assert.equal(body.graph, graph)
    const { issues } = (await live('POST /v1/flows/validate', { graph })).body
    assert.equal(
      issues.filter(({ severity }: { severity: string }) => severity !== 'task'),
      [],
    )
    assert.is((await live(`POST /v1/flows/${body.id}/publish`)).status, 200)
    const left = new Set<string>(graph.nodes.map(({ key }: { key: string }) => key))
    for (const { variables = {}, ...caller } of TRIALS[id] ?? []) {
      const steps = simulate(graph, newState({ ...sampleVariables(graph), ...variables }), caller, mockModel)
      let next = await steps.next()
      while (next.done !== true) next = await steps.next()
      assert.ok(next.value.ended, `${id}: ${JSON.stringify(caller)} ends at ${next.value.current_node_key}`)
      assert.is.not(next.value.end_reason, 'error')
      for (const key of next.value.coverage.visited_node_keys) left.delete(key)
    }
    assert.equal([...left], [], 'nodes that no trial has seen')
  })
}

test('a simulation over REST takes the hours and the outcomes that it is told', async () => {
  const { id } = (await live('POST /v1/flows', { name: 'Night', template_id: 'after_hours_voicemail' })).body
  const run = async (body: object) => (await live(`POST /v1/flows/${id}/simulate`, body)).body
  const closed = await run({ open: false })
  assert.equal(
    closed.path.map(({ node_key }: { node_key: string }) => node_key),
    ['start', 'is_open', 'closed', 'message', 'thanks'],
  )
  const failed = await run({ outcomes: { message: 'failed' } })
  assert.is(failed.current_node_key, 'failed')
  assert.equal(failed.actions[0].status, 'failed')
})

test('a template fits its kind and no graph besides, and must be there; a copy keeps it', async () => {
  const post = (body: object) => live('POST /v1/flows', { name: 'x', ...body })
  assert.equal(refusal(await post({ template_id: 'nothing' })), [400, 'template_id', undefined])
  assert.equal(refusal(await post({ template_id: 'survey', kind: 'ivr' })), [400, 'kind', undefined])
  assert.equal(refusal(await post({ template_id: 'survey', graph: { nodes: [] } })), [400, 'template_id', undefined])
  const { id } = (await post({ template_id: 'survey' })).body
  assert.is((await live(`POST /v1/flows/${id}/duplicate`, {})).body.template_id, 'survey')
  assert.is((await live('GET /v1/flow_templates/nothing')).status, 404)
})

test('a copilot profile made from a template has what it says, but for what is sent', async () => {
  const { data } = (await live('GET /v1/copilot_templates')).body
  assert.ok(data.length >= 4)
  for (const { id, settings } of data) {
    const { status, body } = await live('POST /v1/copilot_profiles', { name: 'Mine', template_id: id, tone: 'Brief.' })
    assert.equal([status, body.template_id, body.tone], [201, id, 'Brief.'])
    assert.equal(body.stages, settings.stages)
    assert.equal(body.compliance, settings.compliance)
    const changed = await live(`PATCH /v1/copilot_profiles/${body.id}`, { stages: body.stages, fields: body.fields })
    assert.is(changed.status, 200, 'what a template says is what clients may say')
  }
  const wrong = await live('POST /v1/copilot_profiles', { name: 'x', template_id: 'nothing' })
  assert.equal(refusal(wrong), [400, 'template_id', undefined])
})

test.run()
