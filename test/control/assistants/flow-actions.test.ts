import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeFlow, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/flow-actions')

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })
const outcome = (value: string) => ({ kind: 'outcome', value })

/** A flow of one action, and an end for each of its outcomes. */
const acting = (node: object, outcomes: string[], more: object = {}) => ({
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('act')] },
    { key: 'act', ...node, transitions: [...outcomes.map(value => to(value, outcome(value))), to('other')] },
    ...outcomes.map(key => ({ key, type: 'end', script: `It was ${key}.` })),
    { key: 'other', type: 'end', script: 'It was something else.' },
  ],
  ...more,
})

interface Run {
  flow_id: string | null
  assistant_id: string | null
  status: string
  end_reason: string | null
}

/** The run of a call, once it has ended: a run that has not begun yet runs as little as one that is over. */
async function runOf(world: LiveWorld, callId: string) {
  await world.media.committed()
  const deadline = Date.now() + 15_000
  for (;;) {
    const { body } = await world.ask(`GET /v1/calls/${callId}/flow_run`)
    if (body.status === 'ended') return body
    if (Date.now() > deadline) throw new Error(`the run has not ended: ${JSON.stringify(body)}`)
    await sleep(10)
  }
}

const TRUNK = { name: 'Trunk', kind: 'trunk', host: '192.0.2.1' }

test('a transfer to a number rings it while the caller hears it ring, and how it went is its outcome', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.make('/connections', TRUNK)
  const target = { type: 'number', id: '+15550100123' }
  const graph = acting({ type: 'transfer', script: 'I put you through.', target }, ['busy', 'no_answer', 'rejected'])
  await makeFlow(world, graph)
  for (const [index, [reason, sipCode]] of [
    ['busy', 486],
    ['no_answer', 480],
    ['rejected', 603],
  ].entries() as ArrayIterator<[number, ['busy' | 'no_answer' | 'rejected', number]]>) {
    const legId = `part_${index}`
    media.dialIn(legId, '2000', legId)
    const callId = await callOf(world, legId)
    const { legId: rung } = await media.command('leg.dial', undefined, index + 1)
    const rings = () => media.sent('leg.play').filter(play => play.legId === legId && play.loop)
    await until(() => rings().length > 0)
    assert.equal(rings()[0]?.sources, [{ kind: 'tone', name: 'ringback' }])
    media.hangUp(rung, reason, sipCode)
    await until(() => !media.legs.has(legId))
    const run = await runOf(world, callId)
    assert.equal(
      run.path.map((entry: { node_key: string }) => entry.node_key),
      ['start', 'act', reason],
    )
    assert.is(run.actions[0].status, 'failed')
  }
  await world.close()
})

test('a far end that sends early media and refuses at once cuts off nothing that the flow says next', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.make('/connections', TRUNK)
  await makeFlow(world, acting({ type: 'transfer', target: { type: 'number', id: '+15550100123' } }, ['busy']))
  media.dialIn('part_1', '2000', 'part_1')
  await callOf(world, 'part_1')
  const { legId: rung } = await media.command('leg.dial')
  await until(() => media.sent('leg.play').some(({ loop }) => loop))
  // The refusal comes while the early media is being led to the caller.
  media.overrides.set('leg.move', ({ legId }) => {
    if (legId === rung) media.hangUp(rung, 'busy', 486)
    return undefined
  })
  media.emit('leg.early_media', { legId: rung, isHeard: true })
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  assert.ok(media.sent('leg.move').some(({ legId }) => legId === rung))
  assert.is(media.sent('leg.stop_play').length, 1, 'only the ringing tone is stopped')
  await world.close()
})

test('who answers a transfer talks with the caller; when either hangs up, so does the other', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.make('/connections', TRUNK)
  await makeFlow(world, acting({ type: 'transfer', target: { type: 'number', id: '+15550100123' } }, ['busy']))
  for (const [index, first] of ['caller', 'callee'].entries()) {
    const legId = `part_${index}`
    media.dialIn(legId, '2000', legId)
    const callId = await callOf(world, legId)
    const { legId: child } = await media.command('leg.dial', undefined, index + 1)
    media.pickUp(child)
    await until(() => media.legs.get(child)?.roomId === callId)
    await until(() => world.programs.running === 0)
    // The talk outlives the control process.
    await world.restart()
    media.hangUp(first === 'caller' ? legId : child)
    await until(() => media.legs.size === 0)
    const run = await runOf(world, callId)
    assert.is(run.end_reason, 'transfer')
    assert.is(run.status, 'ended')
  }
  await world.close()
})

/** A member, signed in with this many SIP phones. */
async function memberWith(world: LiveWorld, phones: number): Promise<string> {
  const at = world.clock.now().toISOString()
  const id = newId('user')
  const own = forTenant(world.store.db, { organisationId: world.ours.organisationId, livemode: true })
  await own.insert('users', {
    id,
    name: 'Ann',
    email: `${id}@example.com`,
    email_verified: 1,
    role: 'agent',
    status: 'active',
    team_id: null,
    extension: null,
    takes_seat: 1,
    last_login: null,
    created: at,
  })
  for (let port = 6001; port <= 6000 + phones; port++) {
    await own.insert('sip_registrations', {
      user_id: id,
      contact: `sip:desk@192.0.2.7:${port}`,
      node: nodeOf(world.store.db),
      call_id: `${id}-${port}`,
      cseq: 1,
      host: '192.0.2.7',
      port,
      transport: 'udp',
      registered_at: at,
      expires_at: '2099-01-01T00:00:00.000Z',
    })
  }
  return id
}

test('a transfer to a user rings all devices at once: the first to answer has the caller, the others ring no more', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const id = await memberWith(world, 2)
  await makeFlow(world, acting({ type: 'transfer', target: { type: 'user', id } }, ['busy', 'no_answer']))
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await media.command('leg.dial', undefined, 2)
  const [first, second] = media.sent('leg.dial').map(({ legId }) => legId) as [string, string]
  // Nobody is rung again by the process that comes after.
  await world.restart()
  media.pickUp(second)
  await until(() => !media.legs.has(first) && media.legs.get(second)?.roomId === callId)
  await until(() => world.programs.running === 0)
  assert.is((await world.ask(`GET /v1/agents/${id}/status`)).body.status, 'busy')
  // Who talks gets no second call.
  media.dialIn('part_2', '2000', 'bob')
  const other = await runOf(world, await callOf(world, 'part_2'))
  assert.is(other.path.at(-1).node_key, 'busy')
  media.hangUp('part_1')
  await until(() => media.legs.size === 0)
  await media.committed()
  // A command that was sent but not stored yet is sent again for the same leg: media refuses it.
  assert.is(new Set(media.sent('leg.dial').map(({ legId }) => legId)).size, 2)
  await world.close()
})

test('a user without a device does not answer; the flow goes on when whom it has put through is gone', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const ways = ['no_answer', 'completed']
  for (const [number, phones] of [
    ['2000', 0],
    ['2001', 1],
  ] as const) {
    const target = { type: 'user', id: await memberWith(world, phones) }
    await makeFlow(world, acting({ type: 'transfer', target }, ways), number)
  }
  media.dialIn('part_1', '2000')
  const alone = await runOf(world, await callOf(world, 'part_1'))
  assert.is(alone.path.at(-1).node_key, 'no_answer')
  media.dialIn('part_2', '2001')
  const callId = await callOf(world, 'part_2')
  const { legId: child } = await media.command('leg.dial')
  media.pickUp(child)
  await until(() => media.legs.get(child)?.roomId === callId)
  await media.committed()
  await world.restart()
  media.hangUp(child)
  await until(() => !media.legs.has('part_2'))
  assert.is((await runOf(world, callId)).path.at(-1).node_key, 'completed')
  await world.close()
})

test('a transfer to a conference room seats the caller in its session', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const id = await world.make('/conference_rooms', { name: 'Standup' })
  await makeFlow(world, acting({ type: 'transfer', target: { type: 'room', id } }, ['failed']))
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await until(() => (media.legs.get('part_1')?.roomId ?? callId) !== callId)
  await media.committed()
  const { body } = await world.ask(`GET /v1/conference_rooms/${id}/participants`)
  assert.equal(
    body.data.map((member: { id: string }) => member.id),
    ['part_1'],
  )
  await world.close()
})

test('of each flow and assistant that leads a call it is told when it begins and when it ends, also where another one follows it', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const assistant = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.' })
  const target = { type: 'assistant', id: assistant }
  const first = await makeFlow(world, acting({ type: 'transfer', target }, ['failed']))
  const last = await makeFlow(world, acting({ type: 'collect', script: 'Your number?', save_as: 'it' }, []), '2001')
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await media.command('leg.listen', 'part_1')
  const moved = await world.ask(`POST /v1/calls/${callId}/transfer`, { flow_id: last })
  assert.is(moved.status, 200, moved.text)
  await media.command('leg.collect', 'part_1')
  media.hangUp('part_1')
  await runOf(world, callId)
  const { body } = await world.ask(`GET /v1/calls/${callId}/events`)
  const told = body.data.reverse().flatMap(({ type, data }: { type: string; data: { object: Run } }) => {
    const { flow_id, assistant_id, status, end_reason } = data.object
    return /^call\.flow\.(started|ended)$/.test(type) ? [[type, flow_id ?? assistant_id, status, end_reason]] : []
  })
  assert.equal(told, [
    ['call.flow.started', first, 'running', null],
    ['call.flow.ended', first, 'ended', 'transfer'],
    ['call.flow.started', assistant, 'running', null],
    ['call.flow.ended', assistant, 'ended', 'transfer'],
    ['call.flow.started', last, 'running', null],
    ['call.flow.ended', last, 'ended', 'caller_hangup'],
  ])
  await world.close()
})

test('a caller who leaves a message makes a voicemail of the queue, and a callback where the queue wants one', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const queue = await world.make('/queues', { name: 'Sales', callbacks: { voicemail_to_callback: true } })
  await makeFlow(world, acting({ type: 'voicemail', target: { type: 'queue', id: queue } }, ['recorded']))
  media.dialIn('part_1', '2000', '+15550100199')
  const callId = await callOf(world, 'part_1')
  const collect = await media.command('leg.collect', 'part_1')
  assert.equal(collect.prompts, [{ kind: 'tone', name: 'beep' }])
  media.press('part_1', '1')
  await until(() => !media.legs.has('part_1'))
  const run = await runOf(world, callId)
  assert.equal(run.path.at(-1).node_key, 'recorded')
  const { body } = await world.ask('GET /v1/voicemails')
  assert.is(body.data.length, 1)
  const { status, queue_id, duration_ms, call_id } = body.data[0]
  assert.equal(
    { status, queue_id, duration_ms, call_id },
    {
      status: 'ready',
      queue_id: queue,
      duration_ms: 5000,
      call_id: callId,
    },
  )
  const { body: events } = await world.ask('GET /v1/events?limit=100')
  assert.ok(events.data.some(({ type }: { type: string }) => type === 'voicemail.created'))
  const { body: callbacks } = await world.ask('GET /v1/callbacks')
  assert.equal(
    callbacks.data.map(({ phone, source }: { phone: string; source: string }) => [phone, source]),
    [['+15550100199', 'voicemail']],
  )
  await world.close()
})

test('a message of a caller who hangs up while its recording is being started has failed: it was being recorded for good', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded']))
  media.overrides.set('recording.start', ({ target }: { target: { legId: string } }) => {
    media.hangUp(target.legId)
    return undefined
  })
  media.dialIn('part_1', '2000')
  await runOf(world, await callOf(world, 'part_1'))
  for (let status = ''; status !== 'failed'; await sleep(10)) {
    status = (await world.ask('GET /v1/voicemails')).body.data[0].status
  }
  await world.close()
})

test('a message is encrypted where recordings are, also when the next process is the one that starts its recording', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.ask('PATCH /v1/organisation', { encrypt_recordings: true })
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded']))
  media.overrides.set('recording.start', () => 'silence')
  media.dialIn('part_1', '2000')
  await media.command('recording.start')
  media.overrides.delete('recording.start')
  await world.restart()
  await media.command('recording.start', undefined, 2)
  assert.equal(
    media.sent('recording.start').map(({ encrypted }) => encrypted),
    [true, true],
  )
  await world.close()
})

test('a caller who is transferred while leaving a message is no longer recorded, and hears what leads it then', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const id = await world.make('/queues', { name: 'Sales' })
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded']))
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  const { recordingId } = await media.command('recording.start')
  await media.command('leg.collect', 'part_1')
  const moved = await world.ask(`POST /v1/calls/${callId}/transfer`, { type: 'blind', queue_id: id })
  assert.is(moved.status, 200, moved.text)
  assert.is((await media.command('recording.stop')).recordingId, recordingId)
  await until(() => media.sent('leg.play').at(-1)?.playId === 'hold')
  await until(() => world.programs.running === 0)
  await world.close()
})

test("a queue's voicemail.message is played before the beep, and voicemail.max_seconds is the longest message", async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const overflow = { when_no_agents: true, action: 'voicemail' }
  const voicemail = { message: 'The bakery is shut.', max_seconds: 45 }
  const id = await world.make('/queues', { name: 'Sales', overflow, voicemail })
  await world.make('/inbound_routes', { match: { to: '2000' }, target: { type: 'queue', id } })
  media.dialIn('part_1', '2000', '+15550100199')
  const { prompts, firstDigitTimeoutMs } = await media.command('leg.collect', 'part_1')
  assert.equal([prompts, firstDigitTimeoutMs], [[{ kind: 'tone', name: 'beep' }], 45_000])
  const said = media.sent('leg.play').flatMap(({ sources }) => sources.filter(({ kind }) => kind === 'speech'))
  assert.equal(
    said.map(source => (source as { text: string }).text),
    ['The bakery is shut.'],
  )
  await world.close()
})

test('where a consent to be recorded is demanded, a caller without one is told before the beep that the message is recorded', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.ask('PATCH /v1/organisation', { require_consent: ['record'] })
  await world.make('/consents', {
    phone: '+14155550142',
    purpose: 'record',
    evidence: { type: 'form', url: 'https://example.com/terms' },
  })
  const overflow = { when_no_agents: true, action: 'voicemail' }
  const voicemail = { message: 'The bakery is shut.' }
  const id = await world.make('/queues', { name: 'Sales', overflow, voicemail })
  await world.make('/inbound_routes', { match: { to: '2001' }, target: { type: 'queue', id } })
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded']))
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded'], { settings: { language: 'de-DE' } }), '2002')
  const saidTo = async (legId: string, to: string, from: string): Promise<string[]> => {
    media.dialIn(legId, to, from)
    const { prompts } = await media.command('leg.collect', legId)
    assert.equal(prompts, [{ kind: 'tone', name: 'beep' }])
    const plays = media.sent('leg.play').filter(play => play.legId === legId)
    return plays.flatMap(({ sources }) => sources.flatMap(source => ('text' in source ? [source.text] : [])))
  }
  const ask = 'Please leave a message after the tone. Press any key when you are done.'
  assert.equal(await saidTo('part_1', '2000', '+15550100199'), [ask, 'Your message is recorded.'])
  assert.equal(await saidTo('part_2', '2000', '+14155550142'), [ask], 'who has agreed knows it')
  assert.equal(await saidTo('part_3', '2001', '+15550100199'), ['The bakery is shut.', 'Your message is recorded.'])
  const german = await saidTo('part_4', '2002', '+15550100199')
  assert.is(german.at(-1), 'Ihre Nachricht wird aufgezeichnet.')
  await world.close()
})

test('a flow books a callback for its caller', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const queue = await world.make('/queues', { name: 'Sales' })
  await makeFlow(world, acting({ type: 'callback', target: { type: 'queue', id: queue } }, ['booked']))
  media.dialIn('part_1', '2000', '+15550100199')
  const callId = await callOf(world, 'part_1')
  await until(() => !media.legs.has('part_1'))
  const run = await runOf(world, callId)
  assert.is(run.path.at(-1).node_key, 'booked')
  const { body } = await world.ask('GET /v1/callbacks')
  const { phone, source, queue_id, origin_call_id } = body.data[0]
  assert.equal(
    { phone, source, queue_id, origin_call_id },
    {
      phone: '+15550100199',
      source: 'ivr',
      queue_id: queue,
      origin_call_id: callId,
    },
  )
  await world.close()
})

test('a callback says who booked it: a phone menu, another flow, or an assistant that a flow leads', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const queue = await world.make('/queues', { name: 'Sales' })
  const graph = acting({ type: 'callback', target: { type: 'queue', id: queue } }, ['booked'])
  await makeFlow(world, graph, '2000')
  await makeFlow(world, { ...graph, kind: 'voice' }, '2001')
  const led = await makeFlow(world, { ...graph, kind: 'voice' }, '2002')
  const assistant = await world.make('/assistants', { name: 'Desk', flow_id: led })
  await world.make('/inbound_routes', { match: { to: '2003' }, target: { type: 'assistant', id: assistant } })
  const sources: string[] = []
  for (const [index, number] of ['2000', '2001', '2003'].entries()) {
    media.dialIn(`part_${index}`, number, `+1555010019${index}`)
    await runOf(world, await callOf(world, `part_${index}`))
    sources.push((await world.ask('GET /v1/callbacks?limit=1')).body.data[0].source)
  }
  assert.equal(sources, ['ivr', 'flow', 'ai'])
  await world.close()
})

test("a flow's callback is returned by its target: a queue as that says, a member, an assistant", async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const assistant = await world.make('/assistants', { name: 'Desk' })
  const member = await memberWith(world, 0)
  const callbacks = { route: 'assistant', assistant_id: assistant, priority: 8 }
  const queue = await world.make('/queues', { name: 'Sales', callbacks })
  const targets = { queue, user: member, assistant }
  const shown = []
  for (const [index, [type, id]] of Object.entries(targets).entries()) {
    const number = `200${index}`
    await makeFlow(world, acting({ type: 'callback', target: { type, id } }, ['booked']), number)
    media.dialIn(`part_${index}`, number, `+1555010019${index}`)
    await runOf(world, await callOf(world, `part_${index}`))
    const { route, queue_id, agent_id, assistant_id, priority } = (await world.ask('GET /v1/callbacks?limit=1')).body
      .data[0]
    shown.push({ route, queue_id, agent_id, assistant_id, priority })
  }
  const nobody = { queue_id: null, agent_id: null, assistant_id: null, priority: 5 }
  assert.equal(shown, [
    { route: 'assistant', queue_id: queue, agent_id: null, assistant_id: assistant, priority: 8 },
    { ...nobody, route: 'agent', agent_id: member },
    { ...nobody, route: 'assistant', assistant_id: assistant },
  ])
  await world.close()
})

test('a callback for a queue that is no more fails, and is booked for nobody', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const queue = await world.make('/queues', { name: 'Sales' })
  await makeFlow(world, acting({ type: 'callback', target: { type: 'queue', id: queue } }, ['booked', 'failed']))
  assert.is((await world.ask(`DELETE /v1/queues/${queue}`)).status, 200)
  media.dialIn('part_1', '2000', '+15550100199')
  const run = await runOf(world, await callOf(world, 'part_1'))
  assert.is(run.path.at(-1).node_key, 'failed')
  assert.equal((await world.ask('GET /v1/callbacks')).body.data, [])
  await world.close()
})

test('a flow that leads to what is not there cannot be published; what goes afterwards is a failure of its node', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const lost = acting({ type: 'callback', target: { type: 'queue', id: 'q_none' } }, ['booked'])
  const draft = await world.make('/flows', { name: 'Lost', kind: 'ivr', graph: lost })
  const refused = await world.ask(`POST /v1/flows/${draft}/publish`, {})
  assert.is(refused.status, 409, refused.text)
  const { body } = await world.ask('POST /v1/flows/validate', { graph: lost, flow_id: draft })
  assert.equal(
    body.issues.map((issue: { code: string; field: string }) => [issue.code, issue.field]),
    [['missing_target', 'target.id']],
  )
  const room = await world.make('/conference_rooms', { name: 'Standup' })
  const other = await makeFlow(world, acting({ type: 'voicemail' }, ['recorded']), '2001')
  for (const [index, target] of [
    { type: 'room', id: room },
    { type: 'flow', id: other },
  ].entries()) {
    const number = `300${index}`
    await makeFlow(world, acting({ type: 'transfer', target }, ['failed']), number)
    if (target.type === 'room') await world.ask(`PATCH /v1/conference_rooms/${room}`, { active: false })
    else await world.store.db.updateTable('flows').set({ status: 'archived' }).where('id', '=', other).execute()
    media.dialIn(`part_${index}`, number, `part_${index}`)
    const run = await runOf(world, await callOf(world, `part_${index}`))
    assert.is(run.path.at(-1).node_key, 'failed', target.type)
  }
  await world.close()
})

test('an action asks the server that it names, and its answer is a variable; private servers are refused', async () => {
  const asked: { body: string; key: string | undefined }[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => (body += part))
    request.on('end', () => {
      asked.push({ body, key: request.headers['idempotency-key'] as string | undefined })
      response.end(JSON.stringify({ value: 'shipped' }))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const action = { kind: 'api', name: 'order', url: `http://127.0.0.1:${port}/`, input: { order: '42' } }
  const graph = acting({ type: 'action', action, save_as: 'state' }, ['success', 'failed'])
  const variables = [{ name: 'state' }]
  const world = await makeLiveWorld({ allowPrivateUrls: ['127.0.0.0/8'] })
  await makeFlow(world, { ...graph, variables })
  world.media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await until(() => !world.media.legs.has('part_1'))
  const run = await runOf(world, callId)
  assert.equal([run.path.at(-1).node_key, run.variables.state], ['success', 'shipped'])
  await world.close()
  assert.is(asked.length, 1)
  assert.equal(JSON.parse(asked[0]!.body), { order: '42' })
  assert.ok(asked[0]!.key)
  await new Promise(resolve => server.close(resolve))
})

test('a payment pauses capture by itself: a pause that is on already stays as it was, and whoever began it ends it', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const connection = await world.make('/connections', TRUNK)
  await world.make('/phone_numbers', { number: '+14155550142', connection_id: connection, payment_line: true })
  await world.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  const pay = { type: 'payment', script: 'One moment.', payment: { amount: '12.50' } }
  const graph = acting(pay, ['failed'])
  const asked = { key: 'paid', type: 'question', script: 'Anything else?', transitions: [to('other')] }
  const [start, act, ...ends] = graph.nodes as [object, { transitions: object[] }, ...object[]]
  const nodes = [start, { ...act, transitions: [to('paid', outcome('paid')), ...act.transitions] }, asked, ...ends]
  await makeFlow(world, { ...graph, nodes })
  const told = async (callId: string) => {
    const { body } = await world.ask(`GET /v1/calls/${callId}/events?limit=100`)
    const types = body.data.map(({ type }: { type: string }) => type).reverse()
    return types.filter((type: string) => type.startsWith('call.pci.'))
  }
  for (const [index, isPaused] of [false, true].entries()) {
    const legId = `part_${index}`
    media.dialIn(legId, '2000', legId)
    const callId = await callOf(world, legId)
    const { legId: line } = await media.command('leg.dial', undefined, index + 1)
    const pci = (action: string) => world.ask(`POST /v1/calls/${callId}/pci`, { action })
    if (isPaused) assert.is((await pci('pause')).status, 200)
    media.pickUp(line)
    await until(() => media.pauses.has(JSON.stringify({ legId: line })))
    await media.committed()
    assert.is((await pci('pause')).body.error.details.reason, 'already_paused')
    media.hangUp(line)
    await media.command('leg.collect', legId)
    await media.committed()
    assert.equal(await told(callId), ['call.pci.paused', ...(isPaused ? [] : ['call.pci.resumed'])])
    if (isPaused) assert.is((await pci('resume')).status, 200)
    else assert.is((await pci('resume')).body.error.details.reason, 'not_paused')
    media.press(legId, '1')
    await runOf(world, callId)
    assert.equal(await told(callId), ['call.pci.paused', 'call.pci.resumed'])
  }
  await world.close()
})

test("a voicemail that says nothing of its own asks for the message in the flow's language", async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded'], { settings: { language: 'de-DE' } }))
  media.dialIn('part_1', '2000')
  const asked = await media.command('leg.play', 'part_1')
  assert.match(JSON.stringify(asked.sources), 'Bitte hinterlassen Sie eine Nachricht')
  await world.close()
})

test('a message that cannot be recorded fails, and so does its node', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await makeFlow(world, acting({ type: 'voicemail' }, ['recorded', 'failed']))
  media.overrides.set('recording.start', () => ({ failure: 'invalid', message: 'the disk is full' }))
  media.dialIn('part_1', '2000', '+15550100199')
  const run = await runOf(world, await callOf(world, 'part_1'))
  assert.is(run.path.at(-1).node_key, 'failed')
  const { body } = await world.ask('GET /v1/voicemails')
  assert.equal(
    body.data.map(({ status }: { status: string }) => status),
    ['failed'],
  )
  await world.close()
})

test('a transcript that nobody can write has failed, and says why', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  media.overrides.set('transcript.start', () => ({ failure: 'invalid', message: 'no engine understands it' }))
  const callId = await world.make('/calls', { to: 'sip:bob@192.0.2.9', transcribe: true })
  media.pickUp((await media.command('leg.dial')).legId)
  await media.command('transcript.start')
  const told = async () => (await world.ask('GET /v1/events?type=call.transcript.failed')).body.data
  while ((await told()).length === 0) await sleep(10)
  const { body } = await world.ask(`GET /v1/calls/${callId}/transcript`)
  assert.equal([body.status, body.failed_reason], ['failed', 'no engine understands it'])
  assert.equal((await told())[0].data.object, body)
  await world.close()
})

test('a transcript whose beginning was lost with its process is begun by the next one', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const callId = await world.make('/calls', { to: 'sip:bob@192.0.2.9', transcribe: true })
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.command('transcript.start')
  await media.committed()
  await world.restart()
  await until(() => media.sent('transcript.start').length === 2)
  const again = { transcriptId: callId, target: { roomId: callId }, language: null }
  assert.equal(media.sent('transcript.start')[1], again)
  await world.close()
})

test('a session whose media process died has its notes written from what was transcribed by then', async () => {
  const world = await makeLiveWorld()
  const { media, store } = world
  const settings = { transcribe: true, ai_note_taker: true }
  const id = await world.make('/conference_rooms', { name: 'Standup', settings })
  await world.make('/inbound_routes', { match: { to: '2000' }, target: { type: 'room', id } })
  media.dialIn('part_1', '2000')
  const { transcriptId } = await media.command('transcript.start')
  await media.committed()
  await media.die('boot-2')
  await media.listen()
  const jobs = () => store.db.selectFrom('jobs').select('key').where('kind', '=', 'conference.notes').execute()
  while ((await jobs()).length === 0) await sleep(10)
  assert.equal(await jobs(), [{ key: transcriptId }])
  assert.is((await world.ask(`GET /v1/calls/${transcriptId}/transcript`)).body.status, 'ready')
  await world.close()
})

test('a transcript has who said what and when, and is told when it is whole', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const callId = await world.make('/calls', { to: 'sip:bob@192.0.2.9', transcribe: true })
  const { legId } = await media.command('leg.dial')
  assert.is((await world.ask(`GET /v1/calls/${callId}/transcript`)).body.status, 'wanted')
  media.pickUp(legId)
  const started = await media.command('transcript.start')
  assert.equal(started.target, { roomId: callId })
  const segment = {
    transcriptId: callId,
    legId,
    speaker: 'party' as const,
    text: 'Hello there.',
    startMs: 1200,
    endMs: 1900,
  }
  media.emit('transcript.segment', segment)
  media.hangUp(legId)
  media.emit('transcript.ready', { transcriptId: callId, durationMs: 4000 })
  await media.committed()
  const { body } = await world.ask(`GET /v1/calls/${callId}/transcript`)
  assert.is(body.status, 'ready')
  assert.equal(body.segments, [
    { participant_id: legId, speaker: 'participant', text: 'Hello there.', start_ms: 1200, end_ms: 1900 },
  ])
  const { body: events } = await world.ask(`GET /v1/calls/${callId}/events?limit=100`)
  assert.ok(events.data.some(({ type }: { type: string }) => type === 'call.transcript.ready'))
  await world.close()
})

test('a transcript of a call that nobody answers, or that cannot be placed, has failed, and says why', async () => {
  const world = await makeLiveWorld()
  const { media, store } = world
  const callId = await world.make('/calls', { to: 'sip:bob@192.0.2.9', transcribe: true })
  const { legId } = await media.command('leg.dial')
  media.hangUp(legId, 'busy', 486)
  await media.committed()
  media.overrides.set('leg.dial', () => ({ failure: 'capacity', message: 'full' }))
  assert.is((await world.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.9', transcribe: true })).status, 429)
  const rows = await store.db.selectFrom('transcripts').select(['status', 'failed_reason']).execute()
  const failed = { status: 'failed', failed_reason: 'The call was not answered.' }
  assert.equal(rows, [failed, failed])
  const { body: events } = await world.ask(`GET /v1/calls/${callId}/events?limit=100`)
  assert.ok(events.data.some(({ type }: { type: string }) => type === 'call.transcript.failed'))
  await world.close()
})

test.run()
