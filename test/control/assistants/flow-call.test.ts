import * as assert from 'uvu/assert'
import { insertProgram } from '../../../control/calls/programs/records.ts'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeFlow, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/flow-call')

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })

/** A front desk: a menu by keys and words, an account number, and an end. */
const DESK = {
  kind: 'ivr',
  variables: [{ name: 'account', sample: null }],
  nodes: [
    { key: 'start', type: 'start', transitions: [to('hello')] },
    { key: 'hello', type: 'say', script: 'Welcome.', transitions: [to('menu')] },
    {
      key: 'menu',
      type: 'menu',
      script: 'Press one for sales, two for your account.',
      input: { max_retries: 1 },
      transitions: [
        to('sales', { kind: 'dtmf', digits: '1' }),
        to('account', { kind: 'dtmf', digits: '2' }),
        to('sales', { kind: 'match', phrases: ['sales'] }),
        to('bye', { kind: 'no_response' }),
        to('bye', { kind: 'else' }),
      ],
    },
    { key: 'sales', type: 'say', script: 'Sales is closed.', transitions: [to('bye')] },
    {
      key: 'account',
      type: 'collect',
      script: 'Your account number, please.',
      save_as: 'account',
      input: { modes: ['dtmf'] },
      transitions: [to('thanks')],
    },
    { key: 'thanks', type: 'say', script: 'Thank you, {{account}}.', transitions: [to('bye')] },
    { key: 'bye', type: 'end', script: 'Goodbye.' },
  ],
}

const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

type Did = { digits: string } | { said: string } | { silent: true }

/** What a live call shows of its flow. */
async function lived(world: LiveWorld, legId: string, does: Did[], number = '2000') {
  const { media } = world
  media.dialIn(legId, number)
  const callId = await callOf(world, legId)
  for (const [at, did] of does.entries()) {
    await media.command('leg.collect', legId, at + 1)
    if ('digits' in did) media.press(legId, did.digits)
    else if ('said' in did) media.say(legId, did.said)
    else media.press(legId, '', 'timeout')
  }
  await until(() => !media.legs.has(legId))
  await media.committed()
  return (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body
}

const shown = (run: Record<string, unknown>) => {
  const actions = (run.actions as object[]).map(action => ({ ...action, dry_run: true }))
  const { path, turns, ended, end_reason, current_node_key, variables } = run
  const { call_id, caller, called, ...own } = variables as Record<string, unknown>
  return { path, turns, actions, ended, end_reason, current_node_key, variables: own }
}

test('the live path of a call equals its simulation for the same inputs', async () => {
  const world = await makeLiveWorld()
  const id = await makeFlow(world, DESK)
  const cases: [object, Did[]][] = [
    [{ dtmf: '1' }, [{ digits: '1' }]],
    [{ message: 'I want sales, please' }, [{ said: 'I want sales, please' }]],
    [{ messages: ['what?'], dtmf: '2' }, [{ said: 'what?' }, { digits: '2' }]],
  ]
  for (const [index, [caller, does]] of cases.entries()) {
    const simulated = await world.ask(`POST /v1/flows/${id}/simulate`, { ...caller, version: 1 })
    assert.is(simulated.status, 200, simulated.text)
    const legId = `part_${index}`
    if (simulated.body.ended) assert.equal(shown(await lived(world, legId, does)), shown(simulated.body))
  }
  const keys = await world.ask(`POST /v1/flows/${id}/simulate`, { messages: ['two'], dtmf: '2', version: 1 })
  const more = await world.ask(`POST /v1/flows/${id}/simulate`, { sim_id: keys.body.id, dtmf: '4711#', version: 1 })
  const all = {
    ...more.body,
    path: [...keys.body.path, ...more.body.path],
    turns: [...keys.body.turns, ...more.body.turns],
  }
  const run = await lived(world, 'part_9', [{ said: 'two' }, { digits: '2' }, { digits: '4711' }])
  assert.equal(shown(run), shown(all))
  assert.is(run.variables.account, '4711')
  const silent = await world.ask(`POST /v1/flows/${id}/simulate`, { no_response: true, version: 1 })
  const again = await world.ask(`POST /v1/flows/${id}/simulate`, { sim_id: silent.body.id, no_response: true })
  assert.is(again.body.end_reason, 'end_node')
  const quiet = await lived(world, 'part_10', [{ silent: true }, { silent: true }])
  assert.equal(quiet.path, [...silent.body.path, ...again.body.path])
  assert.is(world.programs.running, 0)
  await world.close()
})

test('of several assistants with one flow, the one that the flow shows speaks in its calls', async () => {
  const world = await makeLiveWorld()
  const flow_id = await makeFlow(world, DESK)
  for (const name of ['Older', 'Newer']) await world.ask('POST /v1/assistants', { name, flow_id })
  const { assistant_id } = (await world.ask(`GET /v1/flows/${flow_id}`)).body
  world.media.dialIn('part_0', '2000')
  const callId = await callOf(world, 'part_0')
  const run = await world.store.db.selectFrom('call_programs').selectAll().where('id', '=', callId).executeTakeFirst()
  assert.is(run?.assistant_id, assistant_id)
  assert.is(run?.flow_id, flow_id)
  await world.close()
})

test('a question in a language that no engine understands is asked for keys alone; one that cannot be asked has no response', async () => {
  const world = await makeLiveWorld()
  await makeFlow(world, DESK)
  const { media } = world
  const refused = { failure: 'invalid' as const, message: 'no engine here understands it' }
  media.overrides.set('leg.collect', body => ((body as { speech: unknown }).speech === null ? undefined : refused))
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  const isForKeys = () => media.sent('leg.collect').some(body => body.legId === 'part_1' && body.speech === null)
  await until(isForKeys)
  media.press('part_1', '1')
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  const path = (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body.path as { node_key: string }[]
  assert.ok(path.some(({ node_key }) => node_key === 'sales'))
  media.overrides.set('leg.collect', () => refused)
  const quiet = await lived(world, 'part_2', [])
  assert.is(quiet.end_reason, 'end_node')
  await world.close()
})

test('a schedule leads a caller one way while the organisation is open, another way while it is closed; a simulation is always in business hours', async () => {
  const world = await makeLiveWorld()
  const graph = {
    kind: 'ivr',
    nodes: [
      { key: 'start', type: 'start', transitions: [to('hours')] },
      {
        key: 'hours',
        type: 'branch',
        transitions: [to('open', { kind: 'schedule', open: true }), to('closed', { kind: 'else' })],
      },
      { key: 'open', type: 'end', script: 'We are here.' },
      { key: 'closed', type: 'end', script: 'We are closed.' },
    ],
  }
  const id = await makeFlow(world, graph)
  const day = world.clock.now().toISOString().slice(0, 10)
  for (const [index, [holidays, last]] of [[[], 'open'] as const, [[day], 'closed'] as const].entries()) {
    const weekly = DAYS.map(name => ({ day: name, open: '00:00', close: '24:00' }))
    const set = await world.ask('PATCH /v1/organisation', { timezone: 'UTC', business_hours: { weekly, holidays } })
    assert.is(set.status, 200, set.text)
    const live = await lived(world, `part_${index}`, [])
    const simulated = (await world.ask(`POST /v1/flows/${id}/simulate`, { version: 1 })).body
    assert.is(live.current_node_key ?? live.path.at(-1).node_key, last)
    assert.is(simulated.path.at(-1).node_key, 'open')
    if (last === 'open') assert.equal(shown(live).path, shown(simulated).path)
  }
  await world.close()
})

test('a call that was stored and not dialled when control was killed is dialled by the next one, and led by its flow', async () => {
  const world = await makeLiveWorld()
  await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '192.0.2.1' })
  const flowId = await makeFlow(world, DESK)
  const { media, store } = world
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const [callId, legId] = [newId('call'), newId('participant')]
  const at = world.clock.now().toISOString()
  const to = '+15550100123'
  // It dies between the commit and the command.
  store.followUps.performedBy(async () => {})
  await store.transaction(async trx => {
    await insertParty(
      trx,
      tenant,
      {
        ...{ callId, legId, direction: 'outbound', to, from: '', target: 'flow', roomId: null, connectionId: null },
        dial: JSON.stringify({ kind: 'address', to, from: null, timeoutS: 30 }),
        ...{ program: { flowId }, metadata: {}, role: 'member', muted: false },
      },
      at,
    )
    await insertProgram(trx, tenant, { callId, legId }, { flowId }, at)
  })
  await world.restart()
  await media.command('leg.dial', legId)
  media.pickUp(legId)
  await media.command('leg.collect', legId)
  await world.close()
})

test('a flow that is killed at any point goes on where it was, and says nothing twice', async () => {
  const world = await makeLiveWorld()
  await makeFlow(world, DESK)
  const { media } = world
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await media.command('leg.collect', 'part_1')
  await world.restart()
  media.press('part_1', '2')
  const second = await media.command('leg.collect', 'part_1', 2)
  assert.equal(
    second.prompts.map(prompt => ('text' in prompt ? prompt.text : prompt.kind)),
    ['Your account number, please.'],
  )
  // It is answered while no control process is there to hear it.
  await world.restart()
  media.press('part_1', '99')
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  assert.is(media.sent('leg.collect').length, 2, 'nobody is asked twice')
  const { body: run } = await world.ask(`GET /v1/calls/${callId}/flow_run`)
  assert.equal(
    run.turns.map((turn: { text: string }) => turn.text),
    [
      'Welcome.',
      'Press one for sales, two for your account.',
      '2',
      'Your account number, please.',
      '99',
      'Thank you, 99.',
      'Goodbye.',
    ],
  )
  assert.is(run.end_reason, 'end_node')
  await world.close()
})

test('a caller who hangs up ends the flow at any point, and nothing of it is left', async () => {
  const world = await makeLiveWorld()
  await makeFlow(world, DESK)
  const { media, store } = world
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  await media.command('leg.collect', 'part_1')
  assert.is(world.programs.running, 1)
  media.hangUp('part_1')
  await media.committed()
  await until(() => world.programs.running === 0)
  const { body: run } = await world.ask(`GET /v1/calls/${callId}/flow_run`)
  assert.is(run.end_reason, 'caller_hangup')
  assert.is(run.status, 'ended')
  assert.equal(await store.db.selectFrom('call_inputs').select('id').execute(), [])
  await world.close()
})

test('digits that are sensitive stand nowhere: not in events, steps or rows', async () => {
  const world = await makeLiveWorld()
  const nodes = DESK.nodes.map(node =>
    node.key === 'account' ? { ...node, input: { modes: ['dtmf'], sensitive: true } } : node,
  )
  await makeFlow(world, { ...DESK, nodes })
  const run = await lived(world, 'part_1', [{ digits: '2' }, { digits: '8675309' }])
  assert.is(world.media.sent('leg.collect').at(-1)?.sensitive, true)
  const asked = world.media.sent('leg.collect').map(({ options, ahead, hidesAhead }) => [options, ahead, hidesAhead])
  assert.equal(asked, [
    [['1', '2'], 'take', true],
    [[], 'take', true],
  ])
  assert.is(run.variables.account, '[redacted]')
  const tables = ['events', 'call_steps', 'call_programs', 'call_inputs', 'calls', 'participants'] as const
  for (const table of tables) {
    const rows = await world.store.db.selectFrom(table).selectAll().execute()
    assert.not.match(JSON.stringify(rows), '8675309', table)
  }
  await world.close()
})

test.run()
