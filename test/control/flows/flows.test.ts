import * as assert from 'uvu/assert'
import { NO_CAPTURE } from '../../../control/capture-settings/settings.ts'
import { suite } from '../../harness.ts'
import { ask } from '../app-harness.ts'
import { makeWholeApp, refusal } from '../whole-app.ts'

const test = suite('control/flows/flows')

const world = await makeWholeApp()
const { live } = world
test.after(() => world.close())

const always = (next: string | null) => ({ condition: { kind: 'always' }, next })

const GRAPH = {
  nodes: [
    { key: 'start', type: 'start', transitions: [always('ask')] },
    {
      key: 'ask',
      type: 'question',
      script: 'Where to, {{name}}?',
      save_as: 'city',
      transitions: [always('bye')],
    },
    { key: 'bye', type: 'end', script: 'To {{city}} then.' },
  ],
  variables: [{ name: 'name', sample: 'Dana' }],
}

const create = async (body: object = {}) => (await live('POST /v1/flows', { name: 'Trip', graph: GRAPH, ...body })).body
const simulate = (id: string, body: object = {}) => live(`POST /v1/flows/${id}/simulate`, body)

test('a new flow is an unpublished draft of revision 1, linked to no assistant', async () => {
  const { status, body } = await live('POST /v1/flows', { name: 'Trip', graph: GRAPH })
  assert.is(status, 201)
  const { id, updated, graph, ...rest } = body
  assert.match(id, /^flow_/)
  assert.ok(updated)
  assert.is(graph.nodes.length, 3)
  assert.equal(rest, {
    object: 'flow',
    livemode: true,
    name: 'Trip',
    description: '',
    kind: 'voice',
    status: 'draft',
    published_version: null,
    latest_version: 0,
    draft_rev: 1,
    assistant_id: null,
    template_id: null,
    node_count: 3,
    ...NO_CAPTURE,
  })
})

test('a flow without a graph has a start and an end, and can be published', async () => {
  const { body } = await live('POST /v1/flows', { name: 'Empty', kind: 'ivr' })
  assert.equal(
    body.graph.nodes.map((node: { type: string }) => node.type),
    ['start', 'end'],
  )
  assert.is((await live(`POST /v1/flows/${body.id}/publish`)).status, 200)
})

test('the kind of the graph must equal the kind of the flow', async () => {
  const answer = await live('POST /v1/flows', { name: 'x', kind: 'ivr', graph: { ...GRAPH, kind: 'voice' } })
  assert.equal(refusal(answer), [400, 'graph.kind', undefined])
  const { id } = await create()
  const draft = await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: { ...GRAPH, kind: 'ivr' } })
  assert.equal(refusal(draft), [400, 'graph.kind', undefined])
})

test('writing the draft raises draft_rev; a stale base_rev answers 409 draft_stale and changes nothing', async () => {
  const { id } = await create()
  const graph = { ...GRAPH, nodes: GRAPH.nodes.slice(0, 1) }
  const written = await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph })
  assert.equal([written.status, written.body.draft_rev, written.body.node_count], [200, 2, 1])
  const stale = await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: GRAPH })
  assert.equal(refusal(stale), [409, null, 'draft_stale'])
  assert.is(stale.body.error.code, 'resource_conflict')
  assert.is((await live(`GET /v1/flows/${id}`)).body.node_count, 1)
})

test('of two writers of one revision exactly one wins', async () => {
  const { id } = await create()
  const answers = await Promise.all([1, 2].map(() => live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: GRAPH })))
  assert.equal(answers.map(answer => answer.status).sort(), [200, 409])
})

test('settings merge with stored settings; variables stay unless sent', async () => {
  const { id } = await create({ graph: { ...GRAPH, settings: { language: 'he' } } })
  const graph = { nodes: GRAPH.nodes, settings: { instructions: 'Be brief.' } }
  const { body } = await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph })
  assert.equal(body.graph.settings, { language: 'he', instructions: 'Be brief.' })
  assert.equal(body.graph.variables, GRAPH.variables)
})

test('nodes are matched to the stored draft by key: the recording of an unchanged script stays', async () => {
  const say = { key: 'start', type: 'start', label: 'Begin', script: 'Hello', asset_id: 'aud_x', transitions: [] }
  const { id } = await create({ graph: { nodes: [say] } })
  const put = async (base_rev: number, node: object) =>
    (await live(`PUT /v1/flows/${id}/draft`, { base_rev, graph: { nodes: [node] } })).body.graph.nodes[0]
  const same = await put(1, { key: 'start', type: 'start', script: 'Hello' })
  assert.equal([same.asset_id, same.label], ['aud_x', 'Begin'])
  const other = await put(2, { key: 'start', type: 'start', script: 'Good day' })
  assert.equal([other.asset_id, other.label], [undefined, 'Begin'])
})

test('publishing makes the next version, with an event in the same transaction', async () => {
  const { id } = await create()
  const first = await live(`POST /v1/flows/${id}/publish`)
  assert.equal(
    [first.status, first.body.status, first.body.published_version, first.body.latest_version],
    [200, 'published', 1, 1],
  )
  await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: { nodes: [...GRAPH.nodes] } })
  assert.is((await live(`POST /v1/flows/${id}/publish`, { base_rev: 2 })).body.published_version, 2)
  const { body } = await live(`GET /v1/flows/${id}/versions`)
  assert.equal(
    body.data.map((row: { version: number; node_count: number }) => [row.version, row.node_count]),
    [
      [2, 3],
      [1, 3],
    ],
  )
  assert.is(body.url, `/v1/flows/${id}/versions`)
  const mine = (await world.events('flow.published')).filter(event => event.object.id === id)
  assert.equal(
    mine.map(event => event.object.published_version),
    [1, 2],
  )
  const [once, again] = mine.map(({ previous_attributes: { updated: _, ...was } }) => was)
  assert.equal(once, { status: 'draft', published_version: null, latest_version: 0 })
  assert.equal(again, { published_version: 1, latest_version: 1 }, 'what has changed, no more')
})

test('a draft with errors is not published: 409 lists them', async () => {
  const { id } = await create({ graph: { nodes: [{ key: 'start', type: 'start', transitions: [always(null)] }] } })
  const answer = await live(`POST /v1/flows/${id}/publish`)
  assert.equal(refusal(answer), [409, null, 'graph_invalid'])
  assert.is(answer.body.error.details.issues[0].code, 'dead_end')
  assert.is((await live(`GET /v1/flows/${id}`)).body.published_version, null)
  assert.equal(refusal(await live(`POST /v1/flows/${id}/publish`, { base_rev: 9 })), [409, null, 'draft_stale'])
})

test('POST /flows/validate checks a graph without saving it', async () => {
  const before = (await live('GET /v1/flows?limit=100')).body.data.length
  const good = await live('POST /v1/flows/validate', { graph: GRAPH })
  assert.equal([good.status, good.body], [200, { object: 'flow_validation', livemode: true, valid: true, issues: [] }])
  const bad = await live('POST /v1/flows/validate', {
    graph: { nodes: [{ key: 'start', type: 'start', transitions: [always(null)] }] },
  })
  assert.equal(bad.body.valid, false)
  assert.equal(bad.body.issues[0], {
    code: 'dead_end',
    severity: 'error',
    message: 'This transition leads nowhere.',
    node_key: 'start',
    transition_key: 'start.0',
    field: 'next',
  })
  assert.is((await live('GET /v1/flows?limit=100')).body.data.length, before)
})

test('a malformed graph answers 400 graph_malformed with the path of the place', async () => {
  const start = GRAPH.nodes[0]!
  for (const [graph, param, code = 'graph_malformed'] of [
    ['text', 'graph'],
    [{}, 'graph.nodes'],
    [{ nodes: {} }, 'graph.nodes'],
    [{ nodes: [7] }, 'graph.nodes[0]'],
    [{ nodes: [{ type: 'start' }] }, 'graph.nodes[0].key'],
    [{ nodes: [{ ...start, transitions: [{ next: null }] }] }, 'graph.nodes[0].transitions[0].condition'],
    [
      { nodes: [{ ...start, transitions: [{ condition: {}, next: null }] }] },
      'graph.nodes[0].transitions[0].condition.kind',
    ],
    [{ nodes: [{ ...start, transitions: [{ condition: { kind: 'always' } }] }] }, 'graph.nodes[0].transitions[0].next'],
    [{ nodes: [], schema_version: 2 }, 'graph.schema_version'],
    [{ nodes: [], kind: 'song' }, 'graph.kind'],
    [{ nodes: [{ ...start, colour: 'red' }] }, 'graph.nodes[0].colour', 'parameter_unknown'],
  ] as const) {
    const answer = await live('POST /v1/flows/validate', { graph })
    assert.equal([answer.status, answer.body.error?.code, answer.body.error?.param], [400, code, param])
  }
  const missing = await live('POST /v1/flows/validate')
  assert.equal([missing.status, missing.body.error.code, missing.body.error.param], [400, 'parameter_missing', 'graph'])
})

test('validated as the draft of a flow, a graph takes the stored variables and must have its kind', async () => {
  const { id } = await create()
  const graph = { nodes: GRAPH.nodes }
  const alone = (await live('POST /v1/flows/validate', { graph })).body
  assert.equal(alone.issues[0].code, 'unknown_variable')
  assert.is((await live('POST /v1/flows/validate', { graph, flow_id: id })).body.valid, true)
  const other = await live('POST /v1/flows/validate', { graph: { ...graph, kind: 'ivr' }, flow_id: id })
  assert.ok(other.body.issues.some((issue: { code: string }) => issue.code === 'kind_mismatch'))
  assert.equal(refusal(await live('POST /v1/flows/validate', { graph, flow_id: 'flow_x' })), [
    400,
    'flow_id',
    undefined,
  ])
})

test('a duplicate is an unpublished draft of the same graph, linked to no assistant', async () => {
  const { id } = await create({ description: 'd' })
  await live(`POST /v1/flows/${id}/publish`)
  await live('POST /v1/assistants', { name: 'A', flow_id: id })
  const copy = await live(`POST /v1/flows/${id}/duplicate`)
  assert.is(copy.status, 201)
  const { name, description, status, published_version, assistant_id, node_count, draft_rev } = copy.body
  assert.equal(
    [name, description, status, published_version, assistant_id, node_count, draft_rev],
    ['Trip (copy)', 'd', 'draft', null, null, 3, 1],
  )
  assert.is((await live(`POST /v1/flows/${id}/duplicate`, { name: 'Other' })).body.name, 'Other')
  assert.equal((await live(`GET /v1/flows/${copy.body.id}`)).body.graph, (await live(`GET /v1/flows/${id}`)).body.graph)
})

test('deleting a flow answers 409 while an assistant or a copilot profile uses it; the details list them', async () => {
  const { id } = await create()
  await live(`POST /v1/flows/${id}/publish`)
  const assistant = (await live('POST /v1/assistants', { name: 'A', flow_id: id })).body
  assert.is((await live(`GET /v1/flows/${id}`)).body.assistant_id, assistant.id)
  const script = (await live('POST /v1/flows', { name: 'Script', kind: 'agent_script' })).body.id
  const profile = (await live('POST /v1/copilot_profiles', { name: 'C', script: { flow_id: script } })).body
  for (const [flow, user] of [
    [id, { object: 'assistant', id: assistant.id, name: 'A' }],
    [script, { object: 'copilot_profile', id: profile.id, name: 'C' }],
  ]) {
    const refused = await live(`DELETE /v1/flows/${flow}`)
    assert.equal(refusal(refused), [409, null, 'in_use'])
    assert.equal(refused.body.error.details.used_by, [user])
  }
  await live(`DELETE /v1/assistants/${assistant.id}`)
  await live(`DELETE /v1/copilot_profiles/${profile.id}`)
  assert.is((await live(`DELETE /v1/flows/${script}`)).status, 200)
  const gone = await live(`DELETE /v1/flows/${id}`)
  assert.equal(gone.body, { object: 'flow', id, deleted: true, livemode: true })
  assert.is((await live(`GET /v1/flows/${id}/versions`)).status, 404)
})

test('flows are listed newest first, without their graphs', async () => {
  const { id } = await create({ name: 'Newest' })
  const { body } = await live('GET /v1/flows?limit=1')
  assert.equal([body.data[0].id, body.data[0].graph, body.has_more, body.url], [id, undefined, true, '/v1/flows'])
})

test('a simulation begins at the start and stops where the caller is to speak', async () => {
  const { id } = await create()
  const { status, body } = await simulate(id)
  assert.is(status, 200)
  assert.match(body.id, /^sim_/)
  assert.equal(
    { ...body, id: '' },
    {
      object: 'flow_simulation',
      id: '',
      flow_id: id,
      livemode: true,
      resumed: false,
      turns: [{ node_key: 'ask', role: 'assistant', source: 'script', text: 'Where to, Dana?' }],
      path: [
        { from_node_key: null, node_key: 'start', node_type: 'start', transition_key: null, via: 'start' },
        { from_node_key: 'start', node_key: 'ask', node_type: 'question', transition_key: 'start.0', via: 'always' },
      ],
      actions: [],
      ended: false,
      end_reason: null,
      current_node_key: 'ask',
      variables: { name: 'Dana' },
      coverage: {
        node_pct: 66.7,
        transition_pct: 50,
        visited_node_keys: ['start', 'ask'],
        unvisited_node_keys: ['bye'],
        node_count: 3,
        transition_count: 2,
      },
    },
  )
})

test('a simulation is continued with sim_id; turns and path are those of this request, coverage of all', async () => {
  const { id } = await create()
  const { body: first } = await simulate(id)
  const { body } = await simulate(id, { sim_id: first.id, message: 'Haifa' })
  assert.equal([body.id, body.resumed, body.ended, body.end_reason], [first.id, true, true, 'end_node'])
  assert.equal(
    body.turns.map((turn: { role: string; text: string }) => [turn.role, turn.text]),
    [
      ['customer', 'Haifa'],
      ['assistant', 'To Haifa then.'],
    ],
  )
  assert.is(body.path.length, 1)
  assert.is(body.coverage.node_pct, 100)
  assert.equal(body.variables, { name: 'Dana', city: 'Haifa' })
})

test('an ended simulation answers 409; one of another flow, or an unknown one, 404', async () => {
  const [flow, other] = [await create(), await create()]
  const { body: ended } = await simulate(flow.id, { message: 'Haifa' })
  assert.equal(refusal(await simulate(flow.id, { sim_id: ended.id })), [409, null, 'not_running'])
  const { body: running } = await simulate(flow.id)
  assert.equal(refusal(await simulate(other.id, { sim_id: running.id })), [404, 'sim_id', undefined])
  assert.equal(refusal(await simulate(flow.id, { sim_id: 'sim_x' })), [404, 'sim_id', undefined])
})

test('a simulation can be continued for 15 minutes after its last turn', async () => {
  const flow = await create({
    graph: {
      nodes: [
        { key: 's', type: 'start', transitions: [always('q')] },
        { key: 'q', type: 'question', script: '?', transitions: [always('q')] },
      ],
    },
  })
  const { body } = await simulate(flow.id)
  for (let turn = 0; turn < 3; turn++) {
    world.clock.advance(14 * 60_000)
    assert.is((await simulate(flow.id, { sim_id: body.id, message: 'on' })).status, 200)
  }
  world.clock.advance(15 * 60_000)
  assert.equal(refusal(await simulate(flow.id, { sim_id: body.id })), [404, 'sim_id', undefined])
})

test('a simulation goes on with the graph that it began with', async () => {
  const { id } = await create()
  const { body } = await simulate(id)
  await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: { nodes: GRAPH.nodes.slice(0, 1) } })
  assert.is((await simulate(id, { sim_id: body.id, message: 'Haifa' })).body.end_reason, 'end_node')
})

test('the draft is simulated, or a published version', async () => {
  const { id } = await create()
  await live(`POST /v1/flows/${id}/publish`)
  await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: { nodes: GRAPH.nodes.slice(0, 1) } })
  assert.is((await simulate(id)).body.coverage.node_count, 1)
  assert.is((await simulate(id, { version: 1 })).body.coverage.node_count, 3)
  assert.equal(refusal(await simulate(id, { version: 2 })), [404, 'version', undefined])
  assert.equal(refusal(await simulate(id, { version: 0 })), [400, 'version', undefined])
})

test('variables merge over the sample values', async () => {
  const { id } = await create()
  const { body } = await simulate(id, { variables: { name: 'Omer', vip: true } })
  assert.is(body.turns[0].text, 'Where to, Omer?')
  assert.equal(body.variables, { name: 'Omer', vip: true })
  assert.equal(refusal(await simulate(id, { variables: { name: {} } })), [400, 'variables.name', undefined])
})

test('sensitive variables are redacted, in variables, turns and actions, and nowhere in the database', async () => {
  const { id } = await create({
    graph: {
      nodes: [
        { key: 's', type: 'start', transitions: [always('card')] },
        {
          key: 'card',
          type: 'collect',
          script: 'Your card?',
          save_as: 'card',
          input: { sensitive: true },
          transitions: [always('copy')],
        },
        { key: 'copy', type: 'set', set: { same: '{{card}}' }, transitions: [always('pay')] },
        {
          key: 'pay',
          type: 'action',
          action: { name: 'charge', input: { card: '{{same}}' } },
          transitions: [always('more')],
        },
        { key: 'more', type: 'question', script: 'You said {{card}} and {{pin}}', transitions: [always('more')] },
      ],
      variables: [{ name: 'pin', sensitive: true }],
    },
  })
  const { body, text } = await simulate(id, { dtmf: '4111222233334444', variables: { pin: '98765' } })
  assert.not.match(text, '4111222233334444')
  assert.not.match(text, '98765')
  assert.equal(body.variables, { pin: '[redacted]', card: '[redacted]', same: '[redacted]' })
  assert.equal(body.turns[1], { node_key: 'card', role: 'customer', source: 'dtmf', text: '****************' })
  assert.is(body.turns.at(-1).text, 'You said [redacted] and [redacted]')
  assert.equal(body.actions, [
    {
      node_key: 'pay',
      kind: 'tool',
      name: 'charge',
      input: { card: '[redacted]' },
      output: null,
      dry_run: true,
      status: 'succeeded',
    },
  ])
  const rows = JSON.stringify(await world.store.db.selectFrom('flow_simulations').selectAll().execute())
  assert.not.match(rows, '4111222233334444')
})

test('with a test key the models are mocks', async () => {
  const graph = {
    nodes: [
      { key: 's', type: 'start', transitions: [always('ai')] },
      { key: 'ai', type: 'ai', ai: { goal: 'Find the city.' }, transitions: [always('end')] },
      { key: 'end', type: 'end' },
    ],
  }
  const { body: flow } = await world.test('POST /v1/flows', { name: 'AI', graph })
  const { body } = await world.test(`POST /v1/flows/${flow.id}/simulate`, { messages: ['Haifa', 'thanks'] })
  assert.equal(
    body.turns.map((turn: { source: string; text: string }) => [turn.source, turn.text]),
    [
      ['ai', '(mock) Find the city.'],
      ['speech', 'Haifa'],
      ['ai', '(mock) Find the city. You said: Haifa'],
      ['speech', 'thanks'],
      ['ai', 'Thank you.'],
    ],
  )
  assert.is(body.end_reason, 'end_node')
})

/** The events of an event stream. */
const eventsIn = (text: string): { event: string; data: Record<string, unknown> }[] =>
  text
    .split('\n\n')
    .filter(block => block !== '')
    .map(block => {
      const [, event, data] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? []
      return { event: String(event), data: JSON.parse(String(data)) }
    })

const STREAM = { headers: { accept: 'text/event-stream' } }

test('JSON and event stream give the same content, sim.started first and sim.done with the JSON answer last', async () => {
  const { id } = await create()
  const body = { messages: ['Haifa'] }
  const json = (await simulate(id, body)).body
  const answer = await live(`POST /v1/flows/${id}/simulate`, body, STREAM)
  assert.is(answer.headers['content-type'], 'text/event-stream')
  const events = eventsIn(answer.text)
  const done = events.at(-1)!
  assert.equal(done, { event: 'sim.done', data: { ...json, id: done.data.id } })
  assert.equal(events[0], { event: 'sim.started', data: { sim_id: done.data.id, resumed: false, kind: 'voice' } })
  const of = (name: string) => events.filter(({ event }) => event === name).map(({ data }) => data)
  assert.equal(of('sim.node'), json.path)
  assert.equal(of('sim.turn'), json.turns)
  assert.equal(of('sim.action'), json.actions)
})

test('a streamed answer is not stored for idempotent replays; a JSON answer is', async () => {
  const { id } = await create()
  const asked = { headers: { ...STREAM.headers, 'idempotency-key': 'stream-1' } }
  const ids = []
  for (let n = 0; n < 2; n++) {
    const answer = await live(`POST /v1/flows/${id}/simulate`, {}, asked)
    assert.is(answer.headers['idempotent-replayed'], undefined)
    ids.push(eventsIn(answer.text)[0]!.data.sim_id)
  }
  assert.is.not(ids[0], ids[1])
  const json = { headers: { 'idempotency-key': 'json-1' } }
  const first = await live(`POST /v1/flows/${id}/simulate`, {}, json)
  const again = await live(`POST /v1/flows/${id}/simulate`, {}, json)
  assert.equal([again.body.id, again.headers['idempotent-replayed']], [first.body.id, 'true'])
})

test('a refusal of a streamed simulation is an ordinary error answer', async () => {
  const answer = await live('POST /v1/flows/flow_x/simulate', {}, STREAM)
  assert.equal([answer.status, answer.body.error.code], [404, 'resource_missing'])
})

test('the flow of another organisation cannot be simulated', async () => {
  const { id } = await create()
  const answer = await ask(world.app, `POST /v1/flows/${id}/simulate`, { key: world.theirs.keys.live, body: {} })
  assert.is(answer.status, 404)
})

test('an audio asset that a draft or the published version plays is not deleted', async () => {
  const aud = 'aud_01k90000000000000000000001'
  const row = { id: aud, name: 'P', kind: 'prompt', sample_rate: 8000, duration_ms: 1, text: '', created: 'x' } as const
  const tenant = { organisation_id: world.ours.organisationId, livemode: 1 }
  await world.store.db
    .insertInto('audio_assets')
    .values({ ...row, ...tenant })
    .execute()
  const nodes = [
    { key: 's', type: 'start', transitions: [always('p')] },
    { key: 'p', type: 'play', asset_id: aud, transitions: [always('e')] },
    { key: 'e', type: 'end' },
  ]
  const { id } = await create({ graph: { nodes } })
  assert.is((await live(`POST /v1/flows/${id}/publish`)).status, 200)
  await live(`PUT /v1/flows/${id}/draft`, { base_rev: 1, graph: GRAPH })
  const refused = await live(`DELETE /v1/audio_assets/${aud}`)
  assert.equal(refusal(refused), [409, null, 'in_use'])
  assert.equal(refused.body.error.details.used_by, [{ object: 'flow', id, name: 'Trip' }])
  await live(`POST /v1/flows/${id}/publish`)
  assert.is((await live(`DELETE /v1/audio_assets/${aud}`)).status, 200)
})

test.run()
