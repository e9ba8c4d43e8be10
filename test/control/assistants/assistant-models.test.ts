// One database: it is about what is asked of models, and of which of them.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { type ChatAnswer, type ChatAsked, ChatProvider } from '../../fakes/chat-provider.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/assistant-models')

const SLOWER_THAN_PATIENCE_MS = 1300

interface Scene {
  world: LiveWorld
  provider: ChatProvider
  callId: string
  said: () => string[]
  close: () => Promise<void>
}

/** A caller who asks "Where is my order?" of an assistant with these models. */
async function scene(
  answer: (asked: ChatAsked) => ChatAnswer | Promise<ChatAnswer>,
  settings: (world: LiveWorld) => Promise<object>,
  before: (world: LiveWorld) => Promise<unknown> = async () => {},
): Promise<Scene> {
  const provider = await ChatProvider.listen(answer)
  const world = await makeLiveWorld({
    modelUrl: provider.url,
    modelKey: 'key',
    modelName: 'first',
    modelNames: ['second'],
    allowPrivateUrls: ['127.0.0.0/8'],
  })
  const id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', ...(await settings(world)) })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  await before(world)
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  const said = () =>
    media
      .sent('leg.play')
      .flatMap(({ sources }) => sources.map(source => ('text' in source ? source.text : source.kind)))
  await until(() => said().length === 1)
  media.utter('part_1', 'Where is my order?')
  const close = async () => {
    await world.close()
    await provider.close()
  }
  return { world, provider, callId, said, close }
}

const PARAMETERS = { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] }

test('a tool that takes its time is not waited for in silence; input that does not fit its schema goes back to the model', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    request.on('data', part => asked.push(String(part)))
    request.on('end', () => setTimeout(() => response.end('{"state":"shipped"}'), SLOWER_THAN_PATIENCE_MS))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const tool = { name: 'order_state', description: 'Where an order is.', url, parameters: PARAMETERS }
  const rounds: ChatAnswer[] = [
    { tool: 'order_state', input: { order: 42 } },
    { tool: 'order_state', input: { order: 'forty-two' } },
    { text: 'It was shipped.' },
  ]
  const { world, provider, callId, said, close } = await scene(
    () => rounds.shift() ?? { text: 'Yes.' },
    async () => ({ tools: [tool] }),
  )
  await until(() => said().includes('It was shipped.'))
  assert.equal(said(), ['Hello.', 'One moment, please.', 'It was shipped.'])
  assert.equal(
    asked.map(body => JSON.parse(body)),
    [{ order: 42 }],
    'what does not fit is not sent',
  )
  const results = provider.asked
    .at(-1)!
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content))
  assert.match(results[0]!, 'shipped')
  assert.match(results[1]!, /^failed: order must be an integer/)
  await world.media.committed()
  let actions: { status: string }[] = []
  while (actions.length < 2) actions = (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body.actions
  assert.equal(
    actions.map(({ status }) => status),
    ['succeeded', 'failed'],
  )
  await close()
  await new Promise(resolve => server.close(resolve))
})

test('a caller who speaks before the answer comes interrupts no memory: what a tool has done is known, and not done again', async () => {
  const server = await new WebhookReceiver().listen()
  server.answer = response => response.end('booked')
  const tool = { name: 'book', description: 'Books a table.', url: `${server.url}/`, parameters: {} }
  const rounds: (ChatAnswer | Promise<ChatAnswer>)[] = [{ tool: 'book', input: { seats: 4 } }, new Promise(() => {})]
  const { world, provider, said, close } = await scene(
    () => rounds.shift() ?? { text: 'It is booked.' },
    async () => ({ tools: [tool] }),
  )
  await until(() => provider.asked.length === 2)
  world.media.utter('part_1', 'Are you still there?')
  await until(() => said().includes('It is booked.'))
  assert.equal(
    provider.asked
      .at(-1)!
      .messages.slice(2)
      .map(({ role, content }) => [role, content]),
    [
      ['user', 'Where is my order?'],
      ['assistant', null],
      ['tool', 'booked'],
      ['user', 'Are you still there?'],
    ],
  )
  assert.is(server.received.length, 1)
  await close()
  await server.close()
})

test('a tool that another process uses once more, since the first one died, has the same Idempotency-Key', async () => {
  const server = await new WebhookReceiver().listen()
  server.answer = response => void (server.received.length === 1 || response.end('booked'))
  const tool = { name: 'book', description: 'Books a table.', url: `${server.url}/`, parameters: {} }
  const { world, said, close } = await scene(
    ({ messages }) => {
      const isBooked = messages.some(({ role }) => role === 'tool')
      return isBooked ? { text: 'It is booked.' } : { tool: 'book', input: { seats: 4 } }
    },
    async () => ({ tools: [tool] }),
  )
  await until(() => said().includes('One moment, please.'))
  await world.media.committed()
  await world.restart()
  await until(() => said().includes('It is booked.'))
  const keys = server.received.map(({ headers }) => headers['idempotency-key'])
  assert.equal([keys.length, new Set(keys).size], [2, 1])
  await close()
  await server.close()
})

test('the fallback model answers when the first fails', async () => {
  const { provider, said, close } = await scene(
    ({ model }) => (model === 'second' ? { text: 'On its way.' } : { status: 503 }),
    async () => ({ model: { fallback_model: 'second' } }),
  )
  await until(() => said().length === 2)
  assert.is(said()[1], 'On its way.')
  assert.equal(
    provider.asked.map(({ model }) => model),
    ['first', 'second'],
  )
  await close()
})

test('a model that breaks off in the arguments of a tool, or has nothing to say, calls no tool: the fallback model answers', async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end('booked')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/book`
  const tool = { name: 'book', description: 'Books a table.', url, parameters: { properties: { seats: {} } } }
  const call = { tool: 'book', input: { seats: 4 } }
  for (const first of [
    { ...call, breaks: 'error' },
    { ...call, breaks: 'cut' },
    { ...call, breaks: 'length' },
    { text: '' },
  ] as const) {
    const { said, close } = await scene(
      ({ model }) => (model === 'second' ? { text: 'For how many?' } : first),
      async () => ({ tools: [tool], model: { fallback_model: 'second' } }),
    )
    await until(() => said().length === 2)
    assert.equal([said()[1], asked], ['For how many?', []], JSON.stringify(first))
    await close()
  }
  await new Promise(resolve => server.close(resolve))
})

test('when no model answers the assistant apologises, and gives the call to a queue that it may use, or ends it', async () => {
  for (const hasQueue of [true, false]) {
    let queue = ''
    const { world, callId, said, close } = await scene(
      () => ({ status: 500 }),
      async world => {
        queue = await world.make('/queues', { name: 'Support', overflow: { when_no_agents: false } })
        const target = { type: 'queue', id: queue }
        return hasQueue ? { hand_overs: [{ name: 'support', description: 'a person', target }] } : {}
      },
    )
    await until(() => world.programs.running === 0 && said().length > 1)
    assert.is(said()[1], 'I am sorry, I cannot help you right now.')
    const { body: waiting } = await world.ask(`GET /v1/queues/${queue}/calls`)
    assert.equal(
      waiting.data.map((call: { call_id: string }) => call.call_id),
      hasQueue ? [callId] : [],
    )
    if (!hasQueue) await until(() => !world.media.legs.has('part_1'))
    await close()
  }
})

test('a model that rings in vain again and again ends the call: one line of the caller costs four rings at most', async () => {
  const { world, callId, close } = await scene(
    () => ({ tool: 'transfer_to_ann', input: {} }),
    async world => {
      const id = await world.make('/conference_rooms', { name: 'Shut' })
      return { hand_overs: [{ name: 'ann', description: 'Ann', target: { type: 'room', id } }] }
    },
    ({ store }) => store.db.updateTable('conference_rooms').set({ active: 0 }).execute(),
  )
  await until(() => !world.media.legs.has('part_1'))
  await world.media.committed()
  const { body: run } = await world.ask(`GET /v1/calls/${callId}/flow_run`)
  assert.equal([run.end_reason, run.actions.length], ['loop_limit', 4])
  await close()
})

test.run()
