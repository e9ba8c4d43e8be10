import * as assert from 'uvu/assert'
import { type ChatAnswer, type ChatAsked, ChatProvider } from '../../fakes/chat-provider.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeFlow, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/ai-node')

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })

/** A model finds out what the call is about; a key leads to a person at any time. */
const RECEPTION = {
  kind: 'voice',
  variables: [{ name: 'topic' }],
  nodes: [
    { key: 'start', type: 'start', transitions: [to('hello')] },
    { key: 'hello', type: 'say', script: 'Welcome.', transitions: [to('ask')] },
    {
      key: 'ask',
      type: 'ai',
      ai: { goal: 'Find out what the call is about.' },
      save_as: 'topic',
      transitions: [
        to('person', { kind: 'dtmf', digits: '0' }),
        to('thanks', { kind: 'outcome', value: 'done' }),
        to('bye', { kind: 'no_response' }),
      ],
    },
    { key: 'thanks', type: 'end', script: 'Thank you for {{topic}}.' },
    { key: 'person', type: 'end', script: 'You are put through.' },
    { key: 'bye', type: 'end', script: 'Goodbye.' },
  ],
}

/** Asks twice, and knows then. */
function receptionist({ messages }: ChatAsked): ChatAnswer {
  const said = messages.filter(({ role }) => role === 'user')
  if (said.length === 0) return { text: 'Hello there. What is it about?' }
  if (said.length === 1) return { text: 'I see. Which invoice?' }
  return { tool: 'goal_reached', input: { value: 'invoice 42' } }
}

async function reception(answer: (asked: ChatAsked) => ChatAnswer | Promise<ChatAnswer> = receptionist) {
  const provider = await ChatProvider.listen(answer)
  const config = { modelUrl: provider.url, modelKey: 'key', modelName: 'first', allowPrivateUrls: ['127.0.0.0/8'] }
  const world = await makeLiveWorld(config)
  const flow = await makeFlow(world, RECEPTION)
  const close = async () => {
    await world.close()
    await provider.close()
  }
  return { world, media: world.media, provider, flow, close }
}

const saidTo = (world: LiveWorld, legId: string): string[] =>
  world.media
    .sent('leg.play')
    .filter(body => body.legId === legId)
    .flatMap(body => body.sources.map(source => ('text' in source ? source.text : source.kind)))

const runOf = async (world: LiveWorld, callId: string) => (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body

test('an ai node speaks sentence by sentence, leaves by its conditions, and its call equals its simulation', async () => {
  const { world, media, flow, close } = await reception()
  const cases: [object, string, string[]][] = [
    [{ messages: ['An invoice', 'Number 42'] }, 'thanks', ['An invoice', 'Number 42']],
    [{ messages: ['An invoice'], dtmf: '0' }, 'person', ['An invoice', '0']],
  ]
  for (const [index, [caller, end, does]] of cases.entries()) {
    const { body: simulated } = await world.ask(`POST /v1/flows/${flow}/simulate`, { ...caller, version: 1 })
    assert.is(simulated.current_node_key, end)
    const legId = `part_${index}`
    media.dialIn(legId, '2000', legId)
    const callId = await callOf(world, legId)
    await until(() => saidTo(world, legId).length === 3)
    assert.equal(saidTo(world, legId), ['Welcome.', 'Hello there.', 'What is it about?'])
    for (const [at, did] of does.entries()) {
      if (at > 0) await until(() => saidTo(world, legId).includes('Which invoice?'))
      if (/^\d$/.test(did)) media.press(legId, did)
      else media.say(legId, did)
    }
    await until(() => !media.legs.has(legId))
    await media.committed()
    const run = await runOf(world, callId)
    for (const part of ['path', 'turns', 'actions', 'end_reason', 'current_node_key']) {
      assert.equal(run[part], simulated[part], part)
    }
    assert.is(run.variables.topic, simulated.variables.topic)
  }
  const collect = await media.command('leg.collect', 'part_0')
  assert.equal([collect.prompts, collect.speech?.bargeIn?.resume], [[], true])
  await close()
})

test('who talks over an ai node cancels the rest of its line, and the model knows what was heard of it', async () => {
  const { world, media, provider, close } = await reception()
  media.playsAtOnce = false
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  const plays = async (count: number) => (await media.command('leg.play', 'part_1', count)).playId
  const ids = [await plays(1), await plays(2), await plays(3)] as const
  media.heard('part_1', ids[0])
  media.heard('part_1', ids[1])
  media.heard('part_1', ids[2], 'interrupted', 200)
  media.say('part_1', 'An invoice')
  await plays(4)
  const told = provider.asked.at(-1)!.messages.filter(({ role }) => role !== 'system')
  assert.equal(
    told.map(({ role, content }) => [role, content]),
    [
      ['assistant', 'Welcome.'],
      ['assistant', 'Hello there.'],
      ['user', 'An invoice'],
    ],
  )
  const { body } = await world.ask(`GET /v1/calls/${callId}/turns`)
  const cut = body.data.find(({ turn }: { turn: { source: string } }) => turn.source === 'ai')
  assert.equal([cut.turn.text, cut.timing.interrupted, cut.timing.model], ['Hello there.', true, 'first'])
  await close()
})

test('an ai node outlives a kill of control: what was heard is not said again, and the next line is answered', async () => {
  const { world, media, provider, close } = await reception()
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 3)
  await media.committed()
  await world.restart()
  media.say('part_1', 'An invoice')
  await until(() => saidTo(world, 'part_1').length === 5)
  // Media may be heard to the end of a line while no control process is there.
  await world.restart()
  media.say('part_1', 'Number 42')
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  const run = await runOf(world, callId)
  assert.equal(
    run.turns.map(({ text }: { text: string }) => text),
    [
      'Welcome.',
      'Hello there. What is it about?',
      'An invoice',
      'I see. Which invoice?',
      'Number 42',
      'Thank you for invoice 42.',
    ],
  )
  assert.is(provider.asked.length, 3, 'nothing is made twice')
  assert.is(media.sent('leg.collect').length, 3)
  await close()
})

test('a tool of an ai node that another process uses once more, since the first one died, has the same Idempotency-Key', async () => {
  const server = await new WebhookReceiver().listen()
  server.answer = response => void (server.received.length === 1 || response.end('booked'))
  const { world, media, flow, close } = await reception(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? { text: 'It is booked.' } : { tool: 'book', input: { seats: 4 } },
  )
  const tools = [{ name: 'book', description: 'Books a table.', url: `${server.url}/` }]
  const id = await world.make('/assistants', { name: 'Desk', tools, flow_id: flow })
  await world.make('/inbound_routes', { match: { to: '2001' }, target: { type: 'assistant', id } })
  media.dialIn('part_1', '2001')
  await until(() => server.received.length === 1)
  await media.committed()
  await world.restart()
  await until(() => saidTo(world, 'part_1').includes('It is booked.'))
  const keys = server.received.map(({ headers }) => headers['idempotency-key'])
  assert.equal([keys.length, new Set(keys).size], [2, 1])
  assert.equal(
    saidTo(world, 'part_1').slice(0, 2),
    ['Welcome.', 'It is booked.'],
    'nor is the prompt before it said again',
  )
  await close()
  await server.close()
})

test('a judgement under way when control stops is no failed one: the next process asks again, and the caller goes the way that was meant', async () => {
  const asks = { modes: ['speech'], timeout_ms: 60_000 }
  const graph = {
    kind: 'voice',
    nodes: [
      { key: 'start', type: 'start', transitions: [to('ask')] },
      {
        key: 'ask',
        type: 'collect',
        script: 'How can I help you?',
        save_as: 'wish',
        input: asks,
        transitions: [
          to('bills', { kind: 'intent', description: 'The caller has a question about a bill.', examples: [] }),
          to('other', { kind: 'else' }),
        ],
      },
      { key: 'bills', type: 'end', script: 'About your bill.' },
      { key: 'other', type: 'end', script: 'Something else.' },
    ],
    variables: [{ name: 'wish' }],
  }
  const hanging = new Promise<ChatAnswer>(() => {})
  const { world, media, provider, close } = await reception(() =>
    provider.asked.length === 1 ? hanging : { text: '{"intent": 0}' },
  )
  await makeFlow(world, graph, '2002')
  media.dialIn('part_1', '2002')
  await media.command('leg.collect', 'part_1')
  media.say('part_1', 'You charge me for things that I never had')
  await until(() => provider.asked.length === 1)
  await media.committed()
  await world.restart()
  await until(() => saidTo(world, 'part_1').length > 0)
  assert.equal(saidTo(world, 'part_1'), ['About your bill.'])
  assert.is(provider.asked.length, 2)
  await close()
})

test('an ai node whose models fail leaves by its error; without a way out the caller hears why before the end', async () => {
  const { world, media, close } = await reception(() => ({ status: 500 }))
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  assert.is((await runOf(world, callId)).end_reason, 'error')
  assert.equal(saidTo(world, 'part_1'), ['Welcome.', 'I am sorry, I cannot help you right now.'])
  await close()
})

test('"do not call me again" at an ai node is confirmed by no model, in a call and in its simulation, and the node goes on', async () => {
  const { world, media, flow, provider, close } = await reception()
  const refusal = 'Please do not call me again.'
  const { body: simulated } = await world.ask(`POST /v1/flows/${flow}/simulate`, { messages: [refusal], version: 1 })
  assert.match(JSON.stringify(simulated), /You will not be called again\./)
  const legId = 'part_refuses'
  media.dialIn(legId, '2000', '+15557654321')
  await callOf(world, legId)
  await until(() => saidTo(world, legId).includes('What is it about?'))
  const asked = provider.asked.length
  media.say(legId, refusal)
  await until(() => saidTo(world, legId).includes('You will not be called again.'))
  assert.is(provider.asked.length, asked, 'no model was asked')
  const { data } = (await world.ask('GET /v1/do_not_call')).body
  assert.equal(
    data.map(({ phone }: { phone: string }) => phone),
    ['+15557654321'],
  )
  media.say(legId, 'And now an invoice')
  await until(() => provider.asked.length > asked)
  await close()
})

test.run()
