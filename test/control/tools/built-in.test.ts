import * as assert from 'uvu/assert'
import { type ChatAnswer, type ChatAsked, ChatProvider } from '../../fakes/chat-provider.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { callOf, type LiveWorld, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { refusal } from '../whole-app.ts'

const test = suite('control/tools/built-in')

const WELL = { text: 'Well.' }
const CALLER = '+15557654321'
const LINE = '+14155550142'

/** What the model was offered. */
type Offered = ChatAsked & { tools?: { function: { name: string; description: string } }[] }

/** An assistant whose model answers so, one after the other, and then that that is all. */
async function makeDesk(rounds: ChatAnswer[]) {
  const provider = await ChatProvider.listen(() => rounds.shift() ?? { text: 'That is all.' })
  const config = { modelUrl: provider.url, modelKey: 'key', modelName: 'first', allowPrivateUrls: ['127.0.0.0/8'] }
  const world = await makeLiveWorld(config)
  const assist = async (tools: object[], settings: object = {}) => {
    const tool_ids: string[] = []
    for (const tool of tools) tool_ids.push(await world.make('/tools', tool))
    const id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', tool_ids, ...settings })
    await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
    return { id, tool_ids }
  }
  const close = async () => {
    await world.close()
    await provider.close()
  }
  return { world, provider, assist, close }
}

/** Somebody calls the assistant, is greeted, and says something; the call's ID. */
async function talk({ media, ...world }: LiveWorld, text = 'Hello?') {
  media.dialIn('part_1', '3000', CALLER)
  const callId = await callOf({ ...world, media }, 'part_1')
  await until(() => media.sent('leg.play').length === 1)
  media.utter('part_1', text)
  return callId
}

const told = (provider: ChatProvider) =>
  provider.asked
    .at(-1)!
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content))

const offered = (provider: ChatProvider) =>
  new Map((provider.asked[0] as Offered).tools!.map(({ function: one }) => [one.name, one.description]))

test('transfer: the model sees transfer_to_NAME, and the call goes to its target, which is not deleted while a tool names it', async () => {
  const { world, provider, assist, close } = await makeDesk([{ tool: 'transfer_to_billing', input: {} }])
  const queue = await world.make('/queues', { name: 'Billing', overflow: { when_no_agents: false } })
  const target = { type: 'queue', id: queue }
  const { tool_ids } = await assist([{ kind: 'transfer', name: 'billing', target, description: 'About money.' }])
  const callId = await talk(world)
  await until(() => provider.asked.length === 1 && world.programs.running === 0)
  await world.media.committed()
  const { data: waiting } = (await world.ask(`GET /v1/queues/${queue}/calls`)).body
  assert.equal([waiting[0]?.call_id, waiting.length], [callId, 1])
  assert.match(offered(provider).get('transfer_to_billing')!, 'About money.')
  const refused = await world.ask(`DELETE /v1/queues/${queue}`)
  const { used_by } = refused.body.error.details
  assert.equal(refusal(refused), [409, null, 'in_use'])
  assert.equal(used_by, [{ object: 'tool', id: tool_ids[0], name: 'billing' }])
  await close()
})

test('end_call: its description says when, and the call ends by the assistant', async () => {
  const { world, provider, assist, close } = await makeDesk([{ tool: 'end_call', input: {} }])
  await assist([{ kind: 'end_call', description: 'When all is said.' }])
  const callId = await talk(world)
  await until(() => !world.media.legs.has('part_1'))
  await world.media.committed()
  assert.is((await world.ask(`GET /v1/calls/${callId}`)).body.ended_reason, 'assistant_ended')
  assert.is(offered(provider).get('end_call'), 'When all is said.')
  await close()
})

test('book_callback: the tool allows it where callbacks.enabled does not, and books what the model says', async () => {
  const rounds: ChatAnswer[] = [{ tool: 'book_callback', input: { note: 'About the bill.' } }, { text: 'Booked.' }]
  const { world, provider, assist, close } = await makeDesk(rounds)
  await assist([{ kind: 'book_callback' }], { callbacks: { enabled: false } })
  const callId = await talk(world)
  await until(() => provider.asked.length === 2)
  const [callback, ...others] = (await world.ask('GET /v1/callbacks')).body.data
  assert.equal([callback.phone, callback.source, callback.origin_call_id, others], [CALLER, 'ai', callId, []])
  assert.match(callback.notes, 'About the bill.')
  assert.equal(told(provider), [`booked: ${CALLER} will be called back`])
  await close()
})

test('book_callback is not offered where neither the assistant nor a tool allows it', async () => {
  const { world, provider, assist, close } = await makeDesk([])
  await assist([], { callbacks: { enabled: false } })
  await talk(world)
  await until(() => provider.asked.length === 1)
  assert.not(offered(provider).has('book_callback'))
  await close()
})

test('search_knowledge: it looks into the documents of the tool, else into those of the assistant', async () => {
  const look = { tool: 'search_knowledge', input: { query: 'delivery time' } }
  const { world, provider, assist, close } = await makeDesk([look])
  await world.make('/kb/documents', { text: 'The delivery time is three days.' })
  const other = await world.make('/kb/documents', { text: 'The delivery time of spare parts is nine weeks.' })
  await assist([{ kind: 'search_knowledge', knowledge: { document_ids: [other] } }])
  await talk(world)
  await until(() => provider.asked.length === 2)
  assert.equal(told(provider), ['The delivery time of spare parts is nine weeks.'])
  await close()
})

test('take_payment: the model knows the currency, the line of the tool is called, and it is told whether it was paid', async () => {
  const rounds: ChatAnswer[] = [{ tool: 'take_payment', input: { amount: '12.50' } }, { text: 'Thank you.' }]
  const { world, provider, assist, close } = await makeDesk(rounds)
  const { media } = world
  const connection_id = await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' })
  for (const number of ['+14155550141', LINE]) {
    await world.make('/phone_numbers', { number, connection_id, payment_line: true })
  }
  await world.ask('PATCH /v1/organisation', { pci: { enabled: true, max_seconds: 90 } })
  await assist([{ kind: 'take_payment', payment: { currency: 'USD', number: LINE } }])
  const callId = await talk(world, 'I want to pay.')
  const dialled = await media.command('leg.dial')
  assert.match(JSON.stringify(dialled.target), LINE)
  media.pickUp(dialled.legId)
  await until(() => media.legs.get(dialled.legId)?.roomId === callId)
  assert.ok(media.pauses.has(JSON.stringify({ legId: dialled.legId })), 'capture is paused meanwhile')
  media.hangUp(dialled.legId)
  await until(() => provider.asked.length === 2)
  assert.match(told(provider)[0]!, 'paid')
  assert.match(offered(provider).get('take_payment')!, 'Amounts are in USD.')
  const { actions } = (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body
  assert.equal([actions[0].kind, actions[0].input.amount, actions[0].input.currency], ['payment', '12.50', 'USD'])
  await close()
})

test('take_payment: a model that gives an amount in another form is told which one is asked for', async () => {
  const { world, provider, assist, close } = await makeDesk([{ tool: 'take_payment', input: { amount: '12,50' } }])
  await assist([{ kind: 'take_payment' }])
  await talk(world, 'I want to pay.')
  await until(() => provider.asked.length === 2)
  assert.match(told(provider)[0]!, /^failed: amount must match/)
  await close()
})

test('a call uses the tools as they were when its assistant took it; the next one has the new version', async () => {
  const server = await new WebhookReceiver().listen()
  server.say(200)
  const state = { tool: 'state', input: {} }
  const { world, provider, assist, close } = await makeDesk([state, WELL, state, WELL, state])
  const { tool_ids } = await assist([{ name: 'state', http: { url: `${server.url}/one` } }])
  const { media } = world
  await talk(world)
  await until(() => provider.asked.length === 2 && media.sent('leg.play').length === 2)
  const changed = await world.ask(`PATCH /v1/tools/${tool_ids[0]}`, { http: { url: `${server.url}/two` } })
  assert.is(changed.body.version, 2)
  media.utter('part_1', 'And now?')
  await until(() => provider.asked.length === 4 && media.sent('leg.play').length === 3)
  assert.equal(
    server.received.map(({ path }) => path),
    ['/one', '/one'],
  )
  media.hangUp('part_1')
  await until(() => world.programs.running === 0)
  media.dialIn('part_2', '3000', CALLER)
  await callOf(world, 'part_2')
  await until(() => media.sent('leg.play').length === 4)
  media.utter('part_2', 'Hello?')
  await until(() => provider.asked.length === 6)
  assert.is(server.received.at(-1)!.path, '/two')
  await close()
  await server.close()
})

test.run()
