import * as assert from 'uvu/assert'
import { type ChatAnswer, ChatProvider } from '../../fakes/chat-provider.ts'
import { suite } from '../../harness.ts'
import { callOf, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/tools/tools')

const URL = 'https://93.184.216.34/orders/{{order}}'
const PARAMETERS = { type: 'object', properties: { order: { type: 'integer' } } }

test('a change is a version, an old one can be tested and restored; what could not work is refused with the place of it', async () => {
  const world = await makeWholeApp()
  const { live } = world
  const tool = { name: 'orders', parameters: PARAMETERS, http: { method: 'GET', url: URL } }
  const { body: made } = await live('POST /v1/tools', tool)
  const path = `/v1/tools/${made.id}`
  const changed = await live(`PATCH ${path}`, { http: { url: `${URL}/state`, headers: { 'x-caller': '{{caller}}' } } })
  assert.equal([changed.body.version, changed.body.http.method], [2, 'GET'])
  assert.is((await live(`PATCH ${path}`, { metadata: { a: '1' } })).body.version, 2, 'no other definition')
  const dry = async (body: object) =>
    (await live(`POST ${path}/test`, { arguments: { order: 7 }, call: { caller: '+15550100' }, ...body })).body
  assert.equal((await dry({})).request, {
    method: 'GET',
    url: 'https://93.184.216.34/orders/7/state',
    headers: { 'x-caller': '+15550100' },
    body: null,
  })
  assert.is((await dry({ version: 1 })).request.url, 'https://93.184.216.34/orders/7')
  assert.match((await dry({ arguments: { order: 'seven' } })).output, 'order must be an integer')
  const restored = await live(`POST ${path}/restore`, { version: 1 })
  assert.equal([restored.body.version, restored.body.http.url], [3, URL])
  const versions = (await live(`GET ${path}/versions`)).body.data
  assert.equal(
    versions.map(({ version }: { version: number }) => version),
    [3, 2, 1],
  )
  const updated = await world.events('tool.updated')
  assert.is(updated.length, 2)
  assert.equal(updated[0].previous_attributes.http, made.http, 'the event tells what the tool was before')

  const http = { url: URL }
  for (const [param, body] of [
    ['http.url', { ...tool, http: { url: `${URL}?key={{secret:KEY}}` } }],
    ['http.url', { ...tool, http: { url: 'https://93.184.216.34/{{customer}}' } }],
    ['http.url', { ...tool, http: { url: 'http://10.0.0.1/' } }],
    ['http', { ...tool, http: { ...http, headers: { 'x-key': '{{secret:KEY}}' } } }],
    ['http.headers', { ...tool, http: { ...http, headers: { Host: 'inside' } } }],
    ['http.headers', { ...tool, http: { ...http, headers: { 'x-shop': 'Магазин' } } }],
    ['http.headers', { ...tool, http: { ...http, headers: { 'x-shop': 'a\nb' } } }],
    ['http.headers', { ...tool, http: { ...http, headers: { 'x-order': '{{order.id}}' } } }],
    ['http', { ...tool, http: { ...http, headers: { 'x-key': '{{secret:SHOP-KEY}}' } } }],
    ['http.response.state', { ...tool, http: { ...http, response: { state: '$..a..b' } } }],
    ['parameters', { ...tool, parameters: { $async: true } }],
    ['parameters', { ...tool, parameters: { properties: { caller: {} } } }],
    ['target', { ...tool, target: { type: 'user', id: 'usr_1' } }],
    ['target.id', { name: 'desk', kind: 'transfer', target: { type: 'queue', id: 'q_1' } }],
    ['name', { name: 'bye', kind: 'end_call' }],
  ] as const) {
    const refused = await live('POST /v1/tools', body)
    assert.equal([refused.status, refused.body.error?.param], [400, param], JSON.stringify(body))
  }
  const dashed = { properties: { 'order-id': { type: 'integer' } } }
  const { body: named } = await live('POST /v1/tools', {
    ...{ name: 'dashed', parameters: dashed, http: { method: 'GET', url: `${URL.slice(0, -9)}{{order-id}}` } },
  })
  const shown = await live(`POST /v1/tools/${named.id}/test`, { arguments: { 'order-id': 7 } })
  assert.is(shown.body.request.url, 'https://93.184.216.34/orders/7')

  const own = { name: 'orders', url: 'https://93.184.216.34/' }
  const clash = await live('POST /v1/assistants', { name: 'A', tools: [own], tool_ids: [made.id] })
  assert.is(clash.body.error.param, 'tool_ids[0]')
  await live('POST /v1/assistants', { name: 'A', tool_ids: [made.id] })
  assert.is((await live(`DELETE ${path}`)).body.error.details.used_by[0].object, 'assistant')
  await world.close()
})

test('a model looks things up, presses keys and asks for a payment, each a step of the call with what came of it', async () => {
  const rounds: ChatAnswer[] = [
    { tool: 'search_knowledge', input: { query: 'delivery' } },
    { tool: 'press_keys', input: { keys: '1#' } },
    { tool: 'press_keys', input: { keys: 'one' } },
    { tool: 'take_payment', input: { amount: '12.50' } },
    { text: 'That did not work.' },
  ]
  const provider = await ChatProvider.listen(() => rounds.shift() ?? { text: 'Yes.' })
  const config = { modelUrl: provider.url, modelKey: 'key', modelName: 'first', allowPrivateUrls: ['127.0.0.0/8'] }
  const world = await makeLiveWorld(config)
  await world.make('/kb/documents', { text: 'Delivery takes three days.' })
  const tool_ids: string[] = []
  for (const kind of ['search_knowledge', 'press_keys', 'take_payment']) {
    tool_ids.push(await world.make('/tools', { kind }))
  }
  const id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', tool_ids })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  await until(() => media.sent('leg.play').length === 1)
  media.utter('part_1', 'I want to pay.')
  await until(() => provider.asked.length === 5)
  assert.equal(
    media.sent('leg.send_dtmf').map(({ digits }) => digits),
    ['1#'],
  )
  let actions: { kind: string; output: string }[] = []
  while (actions.length < 4) actions = (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body.actions
  assert.equal(
    actions.map(({ kind, output }) => [kind, output.slice(0, 30)]),
    [
      ['tool', 'Delivery takes three days.'],
      ['tool', 'pressed'],
      ['tool', 'failed: keys must be 1 to 32 k'],
      ['payment', 'failed'],
    ],
  )
  const told = provider.asked.at(-1)!.messages.filter(({ role }) => role === 'tool')
  assert.is(told.at(-1)?.content, 'failed: failed', 'no payment line: the talk goes on with that')
  await world.close()
  await provider.close()
})

test.run()
