import * as assert from 'uvu/assert'
import { endedCall, queuedCall } from '../../../control/calls/events.ts'
import { LEG_ENDED } from '../../../control/calls/legs.ts'
import { turnStep } from '../../../control/calls/programs/events.ts'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import { helpOf } from '../../../control/kernel/metrics/help.ts'
import { noteFact } from '../../../control/kernel/store/after-commit.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { queueEvents } from '../../../control/queues/events.ts'
import { suite } from '../../harness.ts'
import { ask } from '../app-harness.ts'
import { addMember, makeWholeApp } from '../whole-app.ts'

const test = suite('control/wiring/call-metrics')

const world = await makeWholeApp()
const { app, store, ours, live, clock } = world
const tenant = { organisationId: ours.organisationId, livemode: true }
test.after(() => world.close())

const metrics = async (): Promise<string[]> => (await ask(app, 'GET /metrics')).text.split('\n')
const tell = (
  type: 'call.created' | 'call.answered' | 'call.ended' | 'call.turn' | 'queue.call.left',
  object: object,
) => store.transaction(trx => appendEvent(trx, tenant, { type, at: clock.now().toISOString(), object }))

test('a call that has ended is counted by direction, outcome and reason, with its set-up time and the quality of its legs', async () => {
  const call = { ...queuedCall, direction: 'inbound', created: '2026-11-21T10:00:00.000Z' }
  await tell('call.created', call)
  await tell('call.answered', { ...call, answered_at: '2026-11-21T10:00:04.000Z' })
  await tell('call.ended', {
    ...endedCall,
    direction: 'inbound',
    status: 'completed',
    ended_reason: 'caller_hangup',
    created: '2026-11-21T10:00:00.000Z',
    answered_at: '2026-11-21T10:00:04.000Z',
    duration_ms: 60_000,
  })
  const ended = { lossPct: 0, packetsLost: 0, packetsLate: 0, concealedPct: 0, roundTripMs: null, driftPpm: null }
  const legs = [
    {
      ...{ ...ended, packetsReceived: 98, packetsLost: 2, jitterMs: 4, lossPct: 2, mos: 4.1 },
      ...{ packetsLate: 5, concealedPct: 7, roundTripMs: 80, driftPpm: -40 },
    },
    { ...ended, packetsReceived: 0, jitterMs: 0, mos: null },
    { ...ended, packetsReceived: 9, jitterMs: 0, mos: null },
  ]
  for (const object of legs)
    await store.transaction(trx => noteFact(trx, { type: LEG_ENDED, object, tenant, at: clock.now().toISOString() }))
  const lines = await metrics()
  for (const line of [
    'tandem_calls_ended_total{direction="inbound",outcome="completed",reason="caller_hangup"} 1',
    'tandem_call_setup_seconds_sum{direction="inbound"} 4',
    'tandem_call_duration_seconds_sum{direction="inbound"} 60',
    'tandem_leg_jitter_seconds_sum 0.004',
    'tandem_leg_loss_ratio_sum 0.02',
    'tandem_leg_mos_sum 4.1',
    'tandem_leg_mos_count 1',
    'tandem_leg_jitter_seconds_count 2',
    'tandem_leg_late_ratio_sum 0.05',
    'tandem_leg_concealed_ratio_sum 0.07',
    'tandem_leg_round_trip_seconds_sum 0.08',
    'tandem_leg_clock_drift_ratio_sum 0.00004',
  ])
    assert.ok(lines.includes(line), line)
})

test('how long a call was set up is told by a clock that no operator sets', async () => {
  const call = { ...queuedCall, id: 'call_set', direction: 'outbound', created: clock.now().toISOString() }
  await tell('call.created', call)
  clock.advance(3000)
  clock.set(3_600_000)
  await tell('call.answered', { ...call, answered_at: clock.now().toISOString() })
  clock.set(-3_600_000)
  assert.ok((await metrics()).includes('tandem_call_setup_seconds_sum{direction="outbound"} 3'))
})

test('queue wait and turn latency are measured where a queue is left and a turn is answered', async () => {
  await tell('queue.call.left', { ...queueEvents['queue.call.left'].sample, outcome: 'abandoned', wait_ms: 7000 })
  const timing = { ...turnStep.timing, first_audio_ms: 900 }
  await tell('call.turn', { ...turnStep, timing })
  await tell('call.turn', { ...turnStep, timing: null })
  const lines = await metrics()
  for (const line of [
    'tandem_queue_wait_seconds_sum{outcome="abandoned"} 7',
    'tandem_turn_latency_seconds_sum 0.9',
    'tandem_turn_latency_seconds_count 1',
  ])
    assert.ok(lines.includes(line), line)
})

test('what is rolled back is not counted', async () => {
  const before = (await metrics()).filter(line => line.startsWith('tandem_calls_ended_total{'))
  await store
    .transaction(async trx => {
      await appendEvent(trx, tenant, {
        type: 'call.ended',
        at: clock.now().toISOString(),
        object: endedCall,
      })
      throw new Error('never mind')
    })
    .catch(() => {})
  assert.equal(
    (await metrics()).filter(line => line.startsWith('tandem_calls_ended_total{')),
    before,
  )
})

test('agents by state, who waits, calls and trunks are read as they are now', async () => {
  const ann = await addMember(live, 'ann@example.com')
  await addMember(live, 'bob@example.com')
  await live(`PUT /v1/agents/${ann}/status`, { status: 'available' })
  const trunk = (await live('POST /v1/connections', { name: 'Trunk', kind: 'trunk', host: '192.0.2.7' })).body.id
  const connections = forTenant(store.db, tenant).update('connections')
  await connections.set({ status: 'unreachable' }).where('id', '=', trunk).execute()
  clock.advance(5000)
  let lines = await metrics()
  for (const line of [
    'tandem_agents{state="available"} 1',
    'tandem_agents{state="offline"} 1',
    'tandem_agents{state="busy"} 0',
    'tandem_queue_waiting 0',
    'tandem_calls_running{direction="inbound"} 0',
    `tandem_trunk_up{connection_id="${trunk}"} 0`,
  ])
    assert.ok(lines.includes(line), line)
  await connections.set({ status: 'reachable' }).where('id', '=', trunk).execute()
  assert.ok((await metrics()).includes(`tandem_trunk_up{connection_id="${trunk}"} 0`), 'read every five seconds')
  clock.advance(5000)
  lines = await metrics()
  assert.ok(lines.includes(`tandem_trunk_up{connection_id="${trunk}"} 1`))
})

test('what a metric means is told by its own process, and nothing is made up of its name', () => {
  assert.is(helpOf('tandem_media_speech_restarts_total'), 'Restarts of the speech process')
  assert.is(helpOf('tandem_media_odd_things_total'), '')
})

test.run()
