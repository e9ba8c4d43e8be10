import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/assistant-call')

const HOURS = 'We are open from nine to six, from Monday to Friday.'
const DELIVERY = 'Delivery takes three working days and costs five euros.'

/** An assistant with a knowledge base, and a number that leads to it. */
async function makeAssistant(world: LiveWorld, more: object = {}): Promise<string> {
  const documents = []
  for (const text of [HOURS, DELIVERY]) documents.push(await world.make('/kb/documents', { text }))
  const body = { name: 'Desk', greeting: 'Hello. How can I help?', kb_document_ids: documents, ...more }
  const id = await world.make('/assistants', body)
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  return id
}

/** What has been sent to be said to a leg so far. */
const saidTo = (world: LiveWorld, legId: string): string[] =>
  world.media
    .sent('leg.play')
    .filter(body => body.legId === legId)
    .flatMap(body => body.sources.map(source => ('text' in source ? source.text : source.kind)))

/** The turns of a call, oldest first, once there are so many. */
async function turnsOf(world: LiveWorld, callId: string, count = 0) {
  const stored = world.store.db.selectFrom('call_steps').select('id').where('kind', '=', 'turn')
  for (let rows = await stored.execute(); rows.length < count; rows = await stored.execute()) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  return (await world.ask(`GET /v1/calls/${callId}/turns`)).body.data.reverse()
}

test('an assistant greets, answers from its knowledge base, and says goodbye, with no network', async () => {
  const world = await makeLiveWorld()
  await makeAssistant(world)
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  const { listen } = await media.command('leg.listen', 'part_1')
  assert.is(listen.bargeIn?.resume, true)
  await until(() => saidTo(world, 'part_1').length === 1)
  // The time of day says nothing about how long an answer took: an operator may have set it.
  media.clockMs = 6300
  media.utter('part_1', 'When are you open on Monday?', { endedClockMs: 5000 })
  await until(() => saidTo(world, 'part_1').length === 2)
  media.utter('part_1', 'How long does the delivery take?')
  await until(() => saidTo(world, 'part_1').length === 3)
  media.utter('part_1', 'No thank you, goodbye.')
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  assert.equal(saidTo(world, 'part_1'), [
    'Hello. How can I help?',
    HOURS,
    DELIVERY,
    'Thank you for calling.',
    'Goodbye.',
  ])
  const turns = await turnsOf(world, callId)
  assert.equal(
    turns.map(({ turn }: { turn: { role: string; source: string } }) => [turn.role, turn.source]),
    [
      ['assistant', 'script'],
      ['customer', 'speech'],
      ['assistant', 'ai'],
      ['customer', 'speech'],
      ['assistant', 'ai'],
      ['customer', 'speech'],
      ['assistant', 'ai'],
    ],
  )
  const answer = turns[2].timing
  assert.is(answer.endpoint_ms, 700)
  assert.is(answer.transcribe_ms, 120)
  assert.type(answer.first_token_ms, 'number')
  assert.is(answer.first_audio_ms, 1300)
  assert.is(answer.model, 'offline')
  const { body: call } = await world.ask(`GET /v1/calls/${callId}`)
  assert.is(call.ended_reason, 'assistant_ended')
  await world.close()
})

test('without a model: "are you open now?" goes by the time zone of the organisation, and the offer of somebody leads to the queue', async () => {
  const world = await makeLiveWorld()
  // Saturday, 10:00 UTC.
  const zone = await world.ask('PATCH /v1/organisation', { timezone: 'Pacific/Auckland' })
  assert.is(zone.status, 200)
  const queue = await world.make('/queues', { name: 'Support', overflow: { when_no_agents: false } })
  const document = await world.make('/kb/documents', { text: 'We are open on Saturday from ten to two.' })
  await makeAssistant(world, {
    kb_document_ids: [document],
    hand_overs: [
      { name: 'phone', description: '', target: { type: 'number', id: '+15550100' } },
      { name: 'support', description: '', target: { type: 'queue', id: queue } },
    ],
  })
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  media.utter('part_1', 'Are you open now?')
  await until(() => saidTo(world, 'part_1').length >= 2)
  assert.match(saidTo(world, 'part_1')[1]!, /^No, we are closed now/)
  media.utter('part_1', 'Do you repair violins?')
  await until(() => saidTo(world, 'part_1').some(text => text.startsWith('Shall I put you through')))
  media.utter('part_1', 'Yes please.')
  await until(() => saidTo(world, 'part_1').includes('One moment, I will put you through.'))
  await media.command('leg.stop_listen', 'part_1')
  await until(() => world.programs.running === 0)
  const { body: waiting } = await world.ask(`GET /v1/queues/${queue}/calls`)
  assert.is(waiting.data[0].call_id, callId)
  await world.close()
})

test('who talks over the assistant stops it, and the history keeps only what was heard', async () => {
  const world = await makeLiveWorld()
  await makeAssistant(world)
  const { media } = world
  media.playsAtOnce = false
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  const greeting = await media.command('leg.play', 'part_1')
  media.emit('leg.speech_started', { legId: 'part_1', listenId: callId, bargedIn: true })
  media.heard('part_1', greeting.playId, 'interrupted', 500)
  media.utter('part_1', 'What does delivery cost?', { bargedIn: true })
  const answer = await media.command('leg.play', 'part_1', 2)
  assert.is(answer.append ?? false, false)
  media.heard('part_1', answer.playId)
  const turns = await turnsOf(world, callId, 3)
  const seen = turns.map(({ turn, timing }: { turn: { text: string }; timing: { interrupted: boolean } }) => [
    turn.text,
    timing.interrupted,
  ])
  assert.equal(seen, [
    ['Hello.', true],
    ['What does delivery cost?', false],
    [DELIVERY, false],
  ])
  await world.close()
})

test('a false alarm is no turn: what was being said goes on', async () => {
  const world = await makeLiveWorld()
  await makeAssistant(world)
  const { media } = world
  media.playsAtOnce = false
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  const greeting = await media.command('leg.play', 'part_1')
  media.emit('leg.speech_started', { legId: 'part_1', listenId: callId, bargedIn: true })
  media.utter('part_1', 'mm-hm', { bargedIn: true, resumed: true })
  media.heard('part_1', greeting.playId)
  media.utter('part_1', 'Hello')
  const next = await media.command('leg.play', 'part_1', 2)
  assert.equal(media.sent('leg.stop_play'), [])
  assert.ok('text' in next.sources[0]!)
  assert.is(saidTo(world, 'part_1')[1], 'Hello.')
  await world.close()
})

test('a talk goes on after control was killed: nothing is said again, and the next line is answered', async () => {
  const world = await makeLiveWorld()
  await makeAssistant(world)
  const { media } = world
  media.dialIn('part_1', '3000')
  await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  await media.committed()
  await world.restart()
  media.utter('part_1', 'When are you open?')
  await until(() => saidTo(world, 'part_1').length === 2)
  assert.equal(saidTo(world, 'part_1'), ['Hello. How can I help?', HOURS])
  await world.close()
})

test('a line that was stored and never reached media is said by the next process, a greeting as it was', async () => {
  const world = await makeLiveWorld()
  await makeAssistant(world)
  const { media } = world
  media.playsAtOnce = false
  media.dialIn('part_1', '3000')
  await media.command('leg.play', 'part_1')
  /** Control dies between the commit and its command: media knows of nothing. */
  const dieBefore = async () => {
    Object.assign(media.legs.get('part_1')!, { playing: false, playId: null })
    await world.restart()
  }
  await dieBefore()
  const again = await media.command('leg.play', 'part_1', 2)
  assert.equal(saidTo(world, 'part_1'), ['Hello. How can I help?', 'Hello. How can I help?'])
  media.heard('part_1', again.playId)
  media.utter('part_1', 'When are you open?')
  await media.command('leg.play', 'part_1', 3)
  await dieBefore()
  await media.command('leg.play', 'part_1', 4)
  assert.equal(saidTo(world, 'part_1').slice(2), [HOURS, HOURS])
  await world.close()
})

test('an assistant whose language nobody here understands hands its caller over, and without a queue ends the call', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  media.overrides.set('leg.listen', () => ({ failure: 'invalid', message: 'no engine here understands fr' }))
  const queue = await world.make('/queues', { name: 'Support', overflow: { when_no_agents: false } })
  const hand_overs = [{ name: 'support', description: 'a person', target: { type: 'queue', id: queue } }]
  await makeAssistant(world, { language: 'fr', hand_overs })
  const alone = await world.make('/assistants', { name: 'Alone', greeting: 'Bonjour.', language: 'fr' })
  await world.make('/inbound_routes', { match: { to: '3001' }, target: { type: 'assistant', id: alone } })
  for (const [legId, number, ending] of [
    ['part_1', '3000', 'transfer'],
    ['part_2', '3001', 'error'],
  ] as const) {
    media.dialIn(legId, number)
    const callId = await callOf(world, legId)
    await media.command('leg.listen', legId)
    await until(() => world.programs.running === 0)
    assert.is((await world.ask(`GET /v1/calls/${callId}/flow_run`)).body.end_reason, ending)
  }
  await until(() => !media.legs.has('part_2'))
  assert.is(media.legs.has('part_1'), true)
  await world.close()
})

test('who asks for a person is handed over to the queue that the assistant may use', async () => {
  const world = await makeLiveWorld()
  const queue = await world.make('/queues', { name: 'Support', overflow: { when_no_agents: false } })
  await makeAssistant(world, {
    hand_overs: [{ name: 'support', description: 'a person', target: { type: 'queue', id: queue } }],
  })
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  media.utter('part_1', 'I want to speak to a human')
  await media.command('leg.stop_listen', 'part_1')
  await until(() => world.programs.running === 0)
  const { body: run } = await world.ask(`GET /v1/calls/${callId}/flow_run`)
  assert.is(run.end_reason, 'transfer')
  assert.is(run.actions[0].output, 'completed')
  const { body: waiting } = await world.ask(`GET /v1/queues/${queue}/calls`)
  assert.is(waiting.data[0].call_id, callId)
  assert.is(media.legs.has('part_1'), true)
  await world.close()
})

test('who asks for a person is put through to a number; where nobody answers there, the assistant goes on', async () => {
  const world = await makeLiveWorld()
  await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' })
  const target = { type: 'number', id: '+15550100123' }
  await makeAssistant(world, { hand_overs: [{ name: 'desk', description: 'a person', target }] })
  const { media } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  media.utter('part_1', 'I want to speak to a human')
  const { legId: busy } = await media.command('leg.dial', undefined, 1)
  media.hangUp(busy, 'busy', 486)
  await until(() => saidTo(world, 'part_1').length > 2)
  media.utter('part_1', 'When are you open?')
  await until(() => saidTo(world, 'part_1').includes(HOURS))
  media.utter('part_1', 'I want to speak to a human')
  const { legId: person } = await media.command('leg.dial', undefined, 2)
  media.pickUp(person)
  await until(() => media.legs.get(person)?.roomId === callId && world.programs.running === 0)
  media.hangUp(person)
  await until(() => media.legs.size === 0)
  await world.close()
})

test('nobody listens for an assistant any more whose call was transferred over the API', async () => {
  const world = await makeLiveWorld()
  const queue = await world.make('/queues', { name: 'Support', overflow: { when_no_agents: false } })
  const id = await makeAssistant(world)
  const { media } = world
  for (const [legId, target] of [
    ['part_1', { queue_id: queue }],
    ['part_2', { assistant_id: id }],
  ] as const) {
    media.dialIn(legId, '3000')
    const callId = await callOf(world, legId)
    await until(() => saidTo(world, legId).length === 1)
    assert.is((await world.ask(`POST /v1/calls/${callId}/transfer`, target)).status, 200)
    // What is heard of him first, before anybody has understood it.
    if (legId === 'part_1') media.emit('leg.speech_started', { legId, listenId: callId, bargedIn: true })
    await media.command('leg.stop_listen', legId)
  }
  await media.command('leg.listen', 'part_2', 2)
  await world.close()
})

test('a call that another node gives to an assistant is led by the node that has it', async () => {
  const world = await makeLiveWorld()
  const id = await makeAssistant(world)
  const { media, store } = world
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  const livesOn = (node_id: string) => store.db.updateTable('participants').set({ node_id }).execute()
  const [leg] = await store.db.selectFrom('participants').select('node_id').execute()
  // As if the request came to a node that has not got the call.
  await livesOn('another')
  assert.is((await world.ask(`POST /v1/calls/${callId}/transfer`, { assistant_id: id })).status, 200)
  const status = async () => (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body.status
  assert.is(await status(), 'waiting')
  assert.is(media.sent('leg.listen').length, 1)
  await livesOn(leg?.node_id ?? '')
  while (media.sent('leg.listen').length < 2) {
    await world.programs.takeGiven()
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  assert.is(await status(), 'running')
  await world.close()
})

test('an assistant speaks as fast as its voice says, its answers and what the product says for it', async () => {
  const world = await makeLiveWorld()
  await makeAssistant(world, { voice: { voice: 'rms', speed: 1.5 } })
  const { media } = world
  media.dialIn('part_1', '3000')
  await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  media.utter('part_1', 'When are you open on Monday?')
  await until(() => saidTo(world, 'part_1').length === 2)
  const manners = media
    .sent('leg.play')
    .flatMap(({ sources }) => sources.map(one => (one.kind === 'speech' ? [one.voice, one.speed] : null)))
  assert.equal(manners, [
    ['rms', 1.5],
    ['rms', 1.5],
  ])
  await world.close()
})

const CALLER = '+15550100199'

/** Somebody whom an assistant with these settings has greeted. */
async function greeted(settings: object) {
  const world = await makeLiveWorld()
  await makeAssistant(world, settings)
  world.media.dialIn('part_1', '3000', CALLER)
  const callId = await callOf(world, 'part_1')
  await until(() => saidTo(world, 'part_1').length === 1)
  const callbacks = async () => (await world.ask('GET /v1/callbacks')).body.data
  return { world, callId, callbacks, hears: (text: string) => until(() => saidTo(world, 'part_1').includes(text)) }
}

test("an assistant books the callback that its caller asks for, with its queue's route and priority, and says so", async () => {
  const { world, callId, callbacks, hears } = await greeted({})
  const queue = await world.make('/queues', { name: 'Support', callbacks: { priority: 9 } })
  const [{ id }] = (await world.ask('GET /v1/assistants')).body.data
  const changed = await world.ask(`PATCH /v1/assistants/${id}`, { callbacks: { queue_id: queue } })
  assert.equal(changed.body.callbacks, { enabled: true, queue_id: queue })
  // The settings of a call are those of its beginning.
  world.media.dialIn('part_2', '3000', '+15550100198')
  const second = await callOf(world, 'part_2')
  await until(() => saidTo(world, 'part_2').length === 1)
  world.media.utter('part_2', 'Could you call me back tomorrow?')
  await until(() => saidTo(world, 'part_2').includes('We will call you back.'))
  world.media.utter('part_1', 'Please call me back.')
  await hears('We will call you back.')
  const shown = (await callbacks()).map((one: Record<string, unknown>) => [
    one.phone,
    one.source,
    one.queue_id,
    one.priority,
    one.origin_call_id,
  ])
  assert.equal(shown, [
    [CALLER, 'ai', null, 5, callId],
    ['+15550100198', 'ai', queue, 9, second],
  ])
  const { body: run } = await world.ask(`GET /v1/calls/${second}/events?limit=100`)
  const action = run.data.find(({ type }: { type: string }) => type === 'call.flow.action')
  assert.is(action.data.object.action.kind, 'callback')
  await world.close()
})

test('where nobody can be had, an assistant offers to call back, and books it on a yes', async () => {
  const { world, callbacks, hears } = await greeted({})
  world.media.utter('part_1', 'I want to speak to a person.')
  await hears('Shall we call you back?')
  assert.equal(await callbacks(), [])
  world.media.utter('part_1', 'Yes please.')
  await hears('We will call you back.')
  assert.equal(
    (await callbacks()).map(({ phone, source }: { phone: string; source: string }) => [phone, source]),
    [[CALLER, 'ai']],
  )
  await world.close()
})

test('an assistant that may book no callbacks neither offers nor books one', async () => {
  const { world, callbacks, hears } = await greeted({ callbacks: { enabled: false } })
  world.media.utter('part_1', 'Please call me back.')
  await hears('I am sorry, nobody can take your call at the moment.')
  assert.equal(await callbacks(), [])
  await world.close()
})

test('a callback that cannot be booked is not promised: the caller is told', async () => {
  const { world, callbacks, hears } = await greeted({})
  await world.make('/do_not_call', { phone: CALLER })
  world.media.utter('part_1', 'Please call me back.')
  await hears('I am sorry, I cannot book a call back to your number.')
  assert.equal(await callbacks(), [])
  await world.close()
})

test.run()
