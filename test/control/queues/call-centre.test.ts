import { Registry } from 'prom-client'
import * as assert from 'uvu/assert'
import type { Call } from '../../../control/calls/call-schema.ts'
import { endAll } from '../../../control/calls/conductor/end-all.ts'
import { merge } from '../../../control/http/merge.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { phrasesOf } from '../../../control/kernel/phrases.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { agentStatusOf } from '../../../control/queues/agent-status.ts'
import { DEFAULT_SETTINGS } from '../../../control/queues/settings/queue.ts'
import { queueStatsOf } from '../../../control/queues/settings/stats.ts'
import { saveSettings, settingsOf } from '../../../control/queues/settings/store.ts'
import { applyToWaiting } from '../../../control/queues/waiting-calls.ts'
import { CallMetrics } from '../../../control/wiring/call-metrics.ts'
import { suite } from '../../harness.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/call-centre')

async function withAgents(
  settings: object,
  ...names: string[]
): Promise<{ world: QueueWorld; queue: string; agents: string[] }> {
  const world = await makeQueueWorld()
  const agents = []
  for (const name of names) agents.push(await world.addAgent(name))
  const queue = await world.addQueue({ member_user_ids: agents, ...settings })
  for (const id of agents) {
    world.clock.advance(1000)
    await world.setStatus(id, 'available')
  }
  return { world, queue, agents }
}
/** An assistant who speaks German. */
async function klara(world: QueueWorld): Promise<string> {
  const id = newId('assistant')
  const settings = JSON.stringify({ language: 'de', voice: { voice: 'klara' } })
  const times = { created: world.clock.now().toISOString(), updated: world.clock.now().toISOString() }
  await forTenant(world.store.db, world.tenant).insert('assistants', { id, name: 'Klara', settings, ...times })
  return id
}

/** As a PATCH of the queue does. */
const change = ({ store, tenant, clock }: QueueWorld, id: string, sent: object): Promise<void> =>
  store.transaction(async trx => {
    const before = settingsOf((await forTenant(trx, tenant).find('queues', id))!)
    const after = merge(before, sent)
    await saveSettings(trx, tenant, id, { settings: JSON.stringify(after) })
    await applyToWaiting(trx, tenant, id, { before, after, at: clock.now().toISOString() })
  })

const types = async (world: QueueWorld, prefix: string): Promise<string[]> =>
  (await world.events()).map(event => event.type).filter(type => type.startsWith(prefix))

test('a caller waits with hold music until an agent answers; then both are in one room, and the agent is busy', async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 30 }, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  assert.is(world.media.legs.get(caller)!.playId, 'hold')
  const [ring] = world.ringing(ann)
  world.media.pickUp(ring!.legId)
  await world.settle()
  assert.is(world.legOf(ann)!.roomId, world.media.legs.get(caller)!.roomId)
  assert.is(world.media.legs.get(caller)!.playId, null)
  assert.is(await world.status(ann), 'busy')
  world.media.hangUp(caller)
  await world.settle()
  assert.is(world.legOf(ann), undefined)
  assert.is(await world.status(ann), 'wrap_up')
  await world.later(30_000)
  assert.is(await world.status(ann), 'available')
  assert.equal(await types(world, 'queue.'), ['queue.call.joined', 'queue.call.offered', 'queue.call.left'])
  assert.equal(
    (await world.events('agent.status.changed')).map(event => event.object.status),
    ['available', 'busy', 'wrap_up', 'available'],
  )
  assert.is((await world.events('queue.call.left'))[0]!.object.outcome, 'answered')
  await world.close()
})

test('an agent who is free is left to who has waited longer at another node, and rings for the next if that node has not taken her in two seconds', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann')
  const [ann] = agents as [string]
  await world.setStatus(ann, 'away')
  const first = await world.call(queue)
  await world.settle()
  const legs = forTenant(world.store.db, world.tenant).update('participants')
  await legs.set({ node_id: 'elsewhere' }).where('id', '=', first).execute()
  await world.later(1000)
  const second = await world.call(queue)
  await world.settle()
  await world.setStatus(ann, 'available')
  await world.later(1999)
  assert.is(world.ringing(ann).length, 0)
  await world.later(1)
  const [ring] = world.ringing(ann)
  world.media.pickUp(ring!.legId)
  await world.settle()
  assert.is(world.legOf(ann)!.roomId, world.media.legs.get(second)!.roomId)
  await world.close()
})

test("the figures count each leg of a call once, and `call.ended` shows every leg's that has ended, as GET /calls/{id} does", async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 0 }, 'ann')
  const [ann] = agents as [string]
  const registry = new Registry()
  new CallMetrics(registry, () => ({ wallMs: 0, steadyMs: 0 })).watch(world.store)
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const phone = world.legOf(ann)!.legId
  // Nobody is rung for the call any more.
  await world.setStatus(ann, 'offline')
  world.media.hangUp(phone, 'rtp_timeout')
  await world.settle()
  world.media.hangUp(caller)
  await world.settle()
  const [ended] = (await world.events('call.ended')).map(({ object }) => object as Call)
  assert.equal(
    ended?.quality.map(({ participant_id }) => participant_id),
    [caller, phone],
  )
  assert.match(await registry.metrics(), /^tandem_leg_mos_count 2$/m)
  await world.close()
})

test("a caller who hangs up first ends the call with the agent's figures too, although the agent's leg ends later", async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 0 }, 'ann')
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(agents[0]!)[0]!.legId)
  await world.settle()
  const phone = world.legOf(agents[0]!)!.legId
  world.media.hangUp(caller)
  await world.settle()
  const [ended] = (await world.events('call.ended')).map(({ object }) => object as Call)
  assert.equal(
    ended?.quality.map(({ participant_id }) => participant_id),
    [caller, phone],
  )
  await world.close()
})

test('an agent whose phone is gone leaves the caller in the queue, which offers the call again; nobody is on hold', async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 0 }, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const phone = world.legOf(ann)!.legId
  world.media.emit('leg.held', { legId: phone })
  await world.settle()
  world.media.hangUp(phone, 'rtp_timeout')
  await world.settle()
  assert.is(world.media.legs.get(caller)!.onHold, false)
  assert.is(world.media.legs.get(caller)!.playId, 'hold')
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.is(world.legOf(ann)!.roomId, world.media.legs.get(caller)!.roomId)
  assert.equal((await types(world, 'call.')).slice(-2), ['call.held', 'call.resumed'])
  world.media.hangUp(world.legOf(ann)!.legId, 'caller_hangup')
  await world.settle()
  assert.is(world.media.legs.get(caller), undefined)
  await world.close()
})

test('a caller whose agent is gone has its place in line still: before who has come since, and its wait may last as long as any', async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 0, max_wait_seconds: 60 }, 'ann')
  const [ann] = agents as [string]
  const first = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  await world.later(40_000)
  await world.call(queue)
  await world.settle()
  await world.later(40_000)
  world.media.hangUp(world.legOf(ann)!.legId, 'rtp_timeout')
  await world.settle()
  const joined = (await world.events('queue.call.joined')).map(({ object }) => object)
  assert.equal(
    joined.map(({ position }) => position),
    [1, 1, 1],
  )
  assert.equal(joined[2].joined_at, joined[0].joined_at)
  assert.is(world.media.legs.get(first)!.playId, 'hold')
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.is(world.legOf(ann)!.roomId, world.media.legs.get(first)!.roomId)
  await world.close()
})

test('how long a caller had talked to the agent who is gone is no waiting, and it keeps its place if the next device is gone too', async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 0 }, 'ann')
  const [ann] = agents as [string]
  const stats = async () => {
    const queues = [(await forTenant(world.store.db, world.tenant).find('queues', queue))!]
    const from = new Date(world.clock.now().getTime() - 3_600_000).toISOString()
    return (await queueStatsOf(world.store.db, world.tenant, queues, { from, serviceS: 20 }))[0]!
  }
  await world.call(queue)
  await world.settle()
  for (const isLast of [false, false, true]) {
    await world.later(3000)
    world.media.pickUp(world.ringing(ann)[0]!.legId)
    await world.settle()
    if (isLast) break
    await world.later(600_000)
    world.media.hangUp(world.legOf(ann)!.legId, 'rtp_timeout')
    await world.settle()
    assert.is((await stats()).longest_wait_since, world.clock.now().toISOString())
  }
  const left = (await world.events('queue.call.left')).map(({ object }) => object)
  assert.equal(
    left.map(({ outcome, wait_ms }) => [outcome, wait_ms]),
    [
      ['answered', 3000],
      ['answered', 3000],
      ['answered', 3000],
    ],
  )
  const joined = (await world.events('queue.call.joined')).map(({ object }) => object)
  assert.equal(
    joined.map(({ joined_at, wait_ms }) => [joined_at, wait_ms]),
    [0, 1, 2].map(() => [joined[0].joined_at, 0]),
  )
  const { answered, average_wait_ms, service_level_pct } = await stats()
  assert.equal([answered, average_wait_ms, service_level_pct], [3, 3000, 100])
  await world.close()
})

/** An agent whose caller has just hung up, and who has 30 s for it. */
async function wrappingUp() {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 30 }, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  world.media.hangUp(caller)
  await world.settle()
  return { world, ann }
}

for (const [name, hours] of [
  ['back', -1],
  ['forward', 1],
] as const) {
  test(`an agent's wrap-up lasts as long as it should when the clock is set ${name} by an hour`, async () => {
    const { world, ann } = await wrappingUp()
    world.clock.set(hours * 3_600_000)
    await world.later(29_000)
    assert.is(await world.status(ann), 'wrap_up')
    await world.later(1000)
    assert.is(await world.status(ann), 'available')
    await world.close()
  })
}

test('a wrap-up of a node that is there is ended by no other, whose clock may be set; one of a lost node is', async () => {
  const { world, ann } = await wrappingUp()
  const { db } = world.store
  const seen = { id: 'other', seen_at: world.clock.now().toISOString() }
  await db
    .insertInto('nodes')
    .values({ ...seen, lost_at: null })
    .execute()
  await db.updateTable('agent_statuses').set({ since_on: 'other' }).where('id', '=', ann).execute()
  world.clock.set(3_600_000)
  await world.later(1000)
  assert.is(await world.status(ann), 'wrap_up')
  await db.updateTable('nodes').set({ lost_at: seen.seen_at }).where('id', '=', 'other').execute()
  await world.later(1000)
  assert.is(await world.status(ann), 'available')
  await world.close()
})

test('an agent who missed a call is rung again soon when the clock is set back by an hour', async () => {
  const { world, queue, agents } = await withAgents({ away_on_missed: false, ring_timeout_seconds: 15 }, 'ann')
  const [ann] = agents as [string]
  await world.call(queue)
  await world.settle()
  world.media.hangUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.is(world.ringing(ann).length, 0)
  world.clock.set(-3_600_000)
  await world.call(queue)
  await world.later(6000)
  assert.is(world.ringing(ann).length, 1)
  await world.close()
})

test("an agent's status tells whether the phone rings, which call is talked on, and until when the wrap-up lasts", async () => {
  const { world, queue, agents } = await withAgents({ wrap_up_seconds: 30 }, 'ann')
  const [ann] = agents as [string]
  const { db } = world.store
  const status = async () => agentStatusOf(db, world.tenant, (await forTenant(db, world.tenant).find('users', ann))!)
  const caller = await world.call(queue)
  await world.settle()
  const rung = await status()
  assert.equal([rung.status, rung.ringing, rung.call, rung.queue_ids], ['available', true, null, [queue]])
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const talking = await status()
  const { call_id, direction, queue_id } = talking.call!
  const [created] = await world.events('call.created')
  assert.equal([talking.status, talking.ringing], ['busy', false])
  assert.equal([call_id, direction, queue_id], [created!.object.id, 'inbound', queue])
  world.media.hangUp(caller)
  await world.settle()
  const { since, call, wrap_up_until } = await status()
  assert.equal([call, Date.parse(wrap_up_until!) - Date.parse(since)], [null, 30_000])
  await world.later(30_000)
  assert.is((await status()).wrap_up_until, null)
  await world.close()
})

test('a leg that cannot be driven ends alone, and keeps no other from being driven', async () => {
  const world = await makeQueueWorld({
    assetFile: () => {
      throw new Error('the asset is broken')
    },
  })
  const hold = { ...DEFAULT_SETTINGS.hold, type: 'audio', audio_asset_id: 'aud_broken' }
  const broken = await world.call(await world.addQueue({ hold }))
  const whole = await world.call(await world.addQueue())
  assert.ok(broken < whole, 'the broken one comes first')
  await world.settle()
  assert.is(world.media.legs.has(broken), false)
  assert.is(world.centre().faults.count, 1, 'one call, however often it was tried')
  assert.is(world.media.legs.get(whole)!.playId, 'hold')
  await world.close()
})

test('an agent rings on all devices at once; the first that answers is it, and the others stop', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann')
  const [ann] = agents as [string]
  world.devices.get(ann)!.push({ kind: 'browser', browserId: `b-${ann}` })
  await world.call(queue)
  await world.settle()
  const [desk, browser] = world.ringing(ann)
  world.media.pickUp(browser!.legId)
  await world.settle()
  assert.is(world.media.legs.has(desk!.legId), false)
  assert.is(world.legOf(ann)!.legId, browser!.legId)
  await world.close()
})

test('two devices that answer in the same moment: one gets the caller, the other is hung up', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann')
  const [ann] = agents as [string]
  world.devices.get(ann)!.push({ kind: 'browser', browserId: `b-${ann}` })
  const caller = await world.call(queue)
  await world.settle()
  for (const leg of world.ringing(ann)) world.media.pickUp(leg.legId)
  await world.settle()
  assert.is([...world.media.legs.keys()].length, 2)
  assert.is(world.legOf(ann)!.roomId, world.media.legs.get(caller)!.roomId)
  await world.close()
})

test("how long an agent's phone rings before the next agent: a miss sets to away, where the queue says so", async () => {
  const { world, queue, agents } = await withAgents({ ring_timeout_seconds: 15, away_on_missed: true }, 'ann', 'bob')
  const [ann, bob] = agents as [string, string]
  await world.call(queue)
  await world.settle()
  const [first] = world.ringing(ann)
  assert.is(first!.timeoutS, 15)
  world.media.hangUp(first!.legId, 'no_answer')
  await world.settle()
  assert.is(await world.status(ann), 'away')
  assert.is(world.ringing(bob).length, 1)
  await world.close()
})

test('an agent who declines stays available, and the call goes to the next one', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann', 'bob')
  const [ann, bob] = agents as [string, string]
  world.devices.get(ann)!.push({ kind: 'browser', browserId: `b-${ann}` })
  await world.call(queue)
  await world.settle()
  world.media.hangUp(world.ringing(ann)[0]!.legId, 'rejected')
  await world.settle()
  assert.is(await world.status(ann), 'available')
  assert.is(world.ringing(ann).length, 0)
  assert.is(world.ringing(bob).length, 1)
  await world.close()
})

test('either end that hangs up ends the call: the caller is told agent_hangup', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  world.media.hangUp(world.legOf(ann)!.legId)
  await world.settle()
  assert.is(world.media.legs.has(caller), false)
  assert.is((await world.events('call.ended'))[0]!.object.ended_reason, 'agent_hangup')
  assert.is(await world.status(ann), 'available')
  await world.close()
})

const TO_ASSISTANT = {
  when_no_agents: false,
  action: 'assistant',
  assistant_id: 'asst_1',
  user_id: null,
  queue_id: null,
  number: '',
}

test('max_wait_seconds: wait before the overflow action', async () => {
  const { world, queue } = await withAgents({ max_wait_seconds: 60, overflow: TO_ASSISTANT })
  const caller = await world.call(queue)
  await world.settle()
  await world.later(59_000)
  assert.equal(world.handed, [])
  await world.later(1000)
  assert.equal(
    world.handed.map(given => [given.legId, given.program]),
    [[caller, { type: 'assistant', id: 'asst_1' }]],
  )
  assert.is((await world.events('queue.call.overflowed'))[0]!.object.outcome, 'max_wait')
  await world.close()
})

test('max_wait_seconds is that of the queue now, also for who waits already', async () => {
  const { world, queue } = await withAgents({ max_wait_seconds: 60, overflow: TO_ASSISTANT })
  await world.call(queue)
  await world.settle()
  await world.later(20_000)
  await change(world, queue, { max_wait_seconds: 0 })
  await world.later(600_000)
  assert.equal(world.handed, [])
  await change(world, queue, { max_wait_seconds: 630 })
  await world.later(9000)
  assert.equal(world.handed, [])
  await world.later(1000)
  assert.is((await world.events('queue.call.overflowed'))[0]!.object.wait_ms, 630_000)
  const short = await world.call(queue)
  await world.settle()
  await world.later(30_000)
  await change(world, queue, { max_wait_seconds: 10 })
  await world.settle()
  assert.is(world.handed.at(-1)!.legId, short, 'who has waited longer overflows at once')
  await world.close()
})

test('a limit of max_wait_seconds that is new counts no time of talking for who is back from an agent whose device is gone', async () => {
  const { world, queue, agents } = await withAgents({ overflow: TO_ASSISTANT }, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  await world.later(600_000)
  await world.setStatus(ann, 'away')
  world.media.hangUp(world.legOf(ann)!.legId, 'rtp_timeout')
  await world.settle()
  await change(world, queue, { max_wait_seconds: 60 })
  await world.later(59_000)
  assert.equal(world.handed, [])
  await world.later(1000)
  assert.is(world.handed[0]?.legId, caller)
  await world.close()
})

test('max_wait_seconds ends the wait while a phone rings, too: it falls silent, and its agent has missed nothing', async () => {
  const { world, queue, agents } = await withAgents({ max_wait_seconds: 15, overflow: TO_ASSISTANT }, 'ann')
  const caller = await world.call(queue)
  await world.settle()
  await world.later(14_000)
  assert.equal([world.ringing(agents[0]!).length, world.handed.length], [1, 0])
  await world.later(1000)
  assert.equal([world.ringing(agents[0]!).length, world.handed.map(given => given.legId)], [0, [caller]])
  assert.is(await world.status(agents[0]!), 'available')
  assert.is((await world.events('queue.call.overflowed'))[0]!.object.outcome, 'max_wait')
  await world.call(queue)
  await world.settle()
  assert.is(world.ringing(agents[0]!).length, 1)
  await world.close()
})

test('max_wait_seconds is what a caller has waited, though the time of day was set back or forward meanwhile', async () => {
  for (const setMs of [-3_600_000, 3_600_000]) {
    const { world, queue } = await withAgents({ max_wait_seconds: 60, overflow: TO_ASSISTANT })
    await world.call(queue)
    await world.settle()
    world.clock.set(setMs)
    await world.later(59_000)
    assert.equal(await world.events('queue.call.overflowed'), [], `${setMs} ms`)
    await world.later(1000)
    assert.equal((await world.events('queue.call.overflowed')).length, 1, `${setMs} ms`)
    await world.close()
  }
})

test('a disabled queue takes no calls: they overflow, into another queue where that is the action', async () => {
  const { world, agents } = await withAgents({}, 'ann')
  const second = await world.addQueue({ member_user_ids: agents })
  const overflow = {
    when_no_agents: false,
    action: 'queue',
    assistant_id: null,
    user_id: null,
    queue_id: second,
    number: '',
  }
  const first = await world.addQueue({ enabled: false, overflow })
  await world.call(first)
  await world.settle()
  assert.is(world.ringing(agents[0]!).length, 1)
  assert.equal(await types(world, 'queue.'), [
    'queue.call.joined',
    'queue.call.overflowed',
    'queue.call.joined',
    'queue.call.offered',
  ])
  await world.close()
})

test('overflow actions agent and busy', async () => {
  const { world, agents } = await withAgents({}, 'ann')
  const base = { when_no_agents: true, assistant_id: null, user_id: agents[0], queue_id: null, number: '' }
  const toAgent = await world.addQueue({ overflow: { ...base, action: 'agent' } })
  const busy = await world.addQueue({ overflow: { ...base, action: 'busy' } })
  const refused = await world.call(busy)
  await world.settle()
  assert.is(world.media.legs.get(refused)!.playId, 'busy-tone', 'who was answered hears why')
  const tone = world.media.handled.findLast(({ name }) => name === 'leg.play')!.body as {
    hangupAfter: string
    loop: boolean
  }
  assert.equal([tone.hangupAfter, tone.loop], ['busy', false])
  const sent = world.media.handled.length
  await world.later(1000)
  assert.is(world.media.handled.length, sent, 'once')
  world.media.hangUp(refused, 'busy')
  await world.settle()
  assert.is((await world.events('call.ended'))[0]!.object.ended_reason, 'busy')
  const caller = await world.call(toAgent)
  await world.settle()
  assert.is(world.media.legs.get(caller)!.playId, 'calling')
  world.media.pickUp(world.ringing(agents[0]!)[0]!.legId)
  await world.settle()
  assert.is(world.legOf(agents[0]!)!.roomId, world.media.legs.get(caller)!.roomId)
  await world.close()
})

test('wait_keys.callback: the key books a callback of source queue and ends the wait', async () => {
  const { world, queue } = await withAgents({ wait_keys: { voicemail: '2', callback: '1' } })
  const caller = await world.call(queue, '+15550100077')
  await world.settle()
  world.media.emit('leg.dtmf', { legId: caller, key: '1', masked: false, source: 'rfc4733' })
  await world.settle()
  const [booked] = await world.events('callback.created')
  assert.equal([booked!.object.phone, booked!.object.source, booked!.object.queue_id], ['+15550100077', 'queue', queue])
  assert.is((await world.events('queue.call.left'))[0]!.object.outcome, 'callback')
  assert.is(world.media.legs.get(caller)!.playId, 'leaving')
  await world.close()
})

test('wait_keys.callback: a caller who cannot be called back is told so once, and keeps waiting', async () => {
  const hold = { ...DEFAULT_SETTINGS.hold, announcement: 'Press one for a callback.' }
  const { world, queue } = await withAgents({ hold, wait_keys: { voicemail: '2', callback: '1' } })
  const caller = await world.call(queue, 'anonymous')
  await world.settle()
  const saying = () => world.media.handled.filter(({ body }) => (body as { playId?: string }).playId === 'hold-said')
  assert.is(saying().length, 1)
  world.media.emit('leg.dtmf', { legId: caller, key: '1', masked: false, source: 'rfc4733' })
  await world.settle()
  assert.is((await world.events('callback.created')).length, 0)
  const said = (saying().at(-1)!.body as { sources: { text: string }[] }).sources.map(({ text }) => text)
  assert.equal(said, ['I am sorry, I cannot help you right now.'])
  assert.is(world.media.legs.get(caller)!.playId, 'hold')
  assert.is((await forTenant(world.store.db, world.tenant).find('participants', caller))!.leave_prompt, null)
  await world.close()
})

test('wait_keys.voicemail: the key leads to voicemail, also while an agent rings', async () => {
  const { world, queue, agents } = await withAgents({ wait_keys: { voicemail: '2', callback: '' } }, 'ann')
  const caller = await world.call(queue)
  await world.settle()
  world.media.emit('leg.dtmf', { legId: caller, key: '2', masked: false, source: 'rfc4733' })
  await world.settle()
  assert.equal(world.handed[0]!.program, { type: 'voicemail', queueId: queue, userId: null })
  assert.is(world.ringing(agents[0]!).length, 0)
  assert.is(await world.status(agents[0]!), 'available')
  await world.close()
})

test('hold.announce_position: callers are told their place when they come, and again after the interval', async () => {
  const hold = {
    audio: 'ringback',
    audio_asset_id: null,
    announcement: 'Welcome.',
    announce_position: true,
    position_interval_seconds: 30,
  }
  const { world, queue } = await withAgents({ hold })
  const said = (legId: string) =>
    world.media.handled
      .filter(one => one.name === 'leg.play' && (one.body as { legId: string }).legId === legId)
      .map(one =>
        (one.body as { sources: { kind: string; text?: string }[] }).sources.map(source => source.text ?? source.kind),
      )
  await world.call(queue)
  await world.settle()
  const second = await world.call(queue)
  await world.settle()
  assert.equal(said(second), [['Welcome.', 'You are number 2 in line.'], ['tone']])
  await world.later(30_000)
  assert.equal(said(second).slice(2), [['You are number 2 in line.'], ['tone']])
  await world.close()
})

test('hold is that of the queue now, also for who waits already, who does not hear the announcement again', async () => {
  const { world, queue } = await withAgents({ hold: { ...DEFAULT_SETTINGS.hold, announcement: 'Welcome.' } })
  const heard = () =>
    world.media.handled
      .filter(({ name }) => name === 'leg.play')
      .flatMap(({ body }) => (body as { sources: { kind: string; text?: string }[] }).sources)
      .map(({ text, kind }) => text ?? kind)
  await world.call(queue)
  await world.settle()
  assert.equal(heard(), ['Welcome.', 'music'])
  await world.later(1000)
  await change(world, queue, { hold: { audio: 'silence', announce_position: true, position_interval_seconds: 30 } })
  await world.settle()
  assert.equal(heard().slice(2), [phrasesOf('en').next, 'silence'])
  await world.later(30_000)
  assert.equal(heard().slice(4), [phrasesOf('en').next, 'silence'])
  await change(world, queue, { hold: { announce_position: false } })
  await world.settle()
  assert.equal(heard().slice(6), ['silence'])
  await world.later(60_000)
  assert.is(heard().length, 7)
  await world.close()
})

test("voice_assistant_id: the queue's announcements are spoken by the voice of that assistant, in its language", async () => {
  const world = await makeQueueWorld()
  const id = await klara(world)
  const hold = { ...DEFAULT_SETTINGS.hold, announcement: 'Willkommen.', announce_position: true }
  await world.call(await world.addQueue({ hold, voice_assistant_id: id }))
  await world.settle()
  const said = world.media.handled.find(({ name }) => name === 'leg.play')!.body as { sources: object[] }
  const voice = { kind: 'speech', voice: 'klara', language: 'de' }
  assert.equal(said.sources, [
    { ...voice, text: 'Willkommen.' },
    { ...voice, text: phrasesOf('de').next, recorded: ['next-in-line'] },
  ])
  await world.close()
})

test('overflow.action voicemail: the caller may leave a message for the queue; so where an action has nobody to act on', async () => {
  const { world } = await withAgents({})
  for (const action of ['voicemail', 'assistant', 'agent', 'queue'] as const) {
    const overflow = { ...DEFAULT_SETTINGS.overflow, when_no_agents: true, action }
    const queue = await world.addQueue({ overflow })
    const caller = await world.call(queue)
    await world.settle()
    const { legId, program } = world.handed.at(-1)!
    assert.equal([legId, program], [caller, { type: 'voicemail', queueId: queue, userId: null }], action)
  }
  await world.close()
})

test("a caller who will be called back hears so in the language of the queue's assistant, recorded where no voice speaks it", async () => {
  const world = await makeQueueWorld()
  const queue = await world.addQueue({
    wait_keys: { voicemail: '', callback: '1' },
    voice_assistant_id: await klara(world),
  })
  const caller = await world.call(queue, '+15550100077')
  await world.settle()
  world.media.emit('leg.dtmf', { legId: caller, key: '1', masked: false, source: 'rfc4733' })
  await world.settle()
  const said = world.media.handled.filter(({ name }) => name === 'leg.play').at(-1)!.body as { sources: object[] }
  const speech = { kind: 'speech', text: 'Wir rufen Sie zurück.', voice: null, language: 'de', recorded: ['call-back'] }
  assert.equal(said.sources, [speech, { kind: 'prompt', name: 'goodbye', language: 'de' }])
  await world.close()
})

test('an announcement that no voice can speak leaves the recorded place in line', async () => {
  const hold = { ...DEFAULT_SETTINGS.hold, announcement: 'Willkommen.', announce_position: true }
  const world = await makeQueueWorld()
  const request = world.media.request.bind(world.media) as (name: string, body: object) => Promise<object>
  const mute = async (name: string, body: object) =>
    JSON.stringify(body).includes('Willkommen') ? { failure: 'invalid', message: 'no voice' } : request(name, body)
  Object.assign(world.media, { request: mute })
  await world.call(await world.addQueue({ hold, voice_assistant_id: await klara(world) }))
  await world.settle()
  const plays = world.media.handled.filter(({ name }) => name === 'leg.play').map(({ body }) => body)
  const [said] = (plays as { playId: string; sources: { text: string }[] }[]).filter(
    play => play.playId === 'hold-said',
  )
  assert.equal(
    said!.sources.map(({ text }) => text),
    [phrasesOf('de').next],
  )
  await world.close()
})

test('an announcement that no voice can speak leaves the hold audio', async () => {
  const hold = { ...DEFAULT_SETTINGS.hold, audio: 'music', announcement: 'Willkommen.' }
  const { world, queue } = await withAgents({ hold })
  const request = world.media.request.bind(world.media) as (name: string, body: object) => Promise<object>
  const mute = async (name: string, body: object) =>
    JSON.stringify(body).includes('Willkommen')
      ? { failure: 'invalid', message: 'the offline voice speaks English' }
      : request(name, body)
  Object.assign(world.media, { request: mute })
  const caller = await world.call(queue)
  await world.settle()
  assert.is(world.media.legs.get(caller)!.playId, 'hold')
  const plays = world.media.handled.filter(one => one.name === 'leg.play').map(one => one.body as { append?: boolean })
  assert.equal(
    plays.map(play => play.append),
    [undefined],
  )
  await world.close()
})

test('what an agent sets during a call counts when it is over', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  await world.setStatus(ann, 'away')
  assert.is(await world.status(ann), 'busy')
  world.media.hangUp(caller)
  await world.settle()
  assert.is(await world.status(ann), 'away')
  await world.close()
})

test('a phone that answers while the database is away is connected when it is back, however long that was', async () => {
  const { world, queue, agents } = await withAgents({ ring_timeout_seconds: 15 }, 'ann')
  const [ann] = agents as [string]
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  world.clock.advance(60_000)
  // The clock has its turn before what has happened meanwhile.
  await world.centre().run(world.media)
  await world.settle()
  assert.is(world.legOf(ann)!.roomId, world.media.legs.get(caller)!.roomId)
  assert.is(await world.status(ann), 'busy')
  await world.close()
})

test('a ring that media never learnt of ends by the clock; one of another node is for that node to end', async () => {
  const { world, queue, agents } = await withAgents({ ring_timeout_seconds: 15 }, 'ann')
  const { db } = world.store
  await world.call(queue)
  await world.settle()
  for (const { legId } of world.ringing(agents[0]!)) world.media.legs.delete(legId)
  const rings = () => db.selectFrom('rings').select('id').execute()
  await db.updateTable('rings').set({ node_id: 'other' }).execute()
  world.clock.advance(60_000)
  await world.centre().run(world.media)
  assert.is((await rings()).length, 1)
  await db
    .updateTable('rings')
    .set({ node_id: nodeOf(db) })
    .execute()
  await world.centre().run(world.media)
  assert.equal(await rings(), [])
  await world.close()
})

test('what others have ended as of a lost node is hung up at once when it is back, callers and called alike', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann', 'bob')
  const { store, media, clock } = world
  await world.call(queue)
  await world.settle()
  media.pickUp(world.ringing(agents[0]!)[0]!.legId)
  await world.settle()
  await world.call(queue)
  await world.settle()
  assert.is(media.legs.size, 4)
  const end = { reason: 'node_lost', at: clock.now().toISOString() } as const
  // None of our commands reaches our media: others do it.
  world.killAfter(0)
  await endAll(store.db, world.centre(), end, (_legId, run) => store.transaction(run))
  await store.followUps.idle()
  assert.is(media.legs.size, 4)
  media.revive()
  await world.driver().reconcile(media.snapshot(), media)
  assert.equal([...media.legs.keys()], [])
  await world.close()
})

test('a waiting caller who is hung up by the API has abandoned nothing', async () => {
  const { world, queue } = await withAgents({})
  const caller = await world.call(queue)
  await world.settle()
  world.media.hangUp(caller, 'api_hangup')
  await world.settle()
  assert.is((await world.events('queue.call.left'))[0]!.object.outcome, 'hung_up')
  await world.close()
})

test('another media process: the waiting and the talking are over, and agents are free', async () => {
  const { world, queue, agents } = await withAgents({}, 'ann', 'bob')
  const [ann, bob] = agents as [string, string]
  await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  await world.call(queue)
  await world.settle()
  await world.mediaDies()
  assert.equal([await world.status(ann), await world.status(bob)], ['available', 'available'])
  assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
  assert.equal(await world.store.db.selectFrom('queue_calls').selectAll().execute(), [])
  const visits = await world.store.db.selectFrom('queue_visits').select('outcome').orderBy('call_id').execute()
  assert.equal(visits, [{ outcome: 'answered' }, { outcome: 'failed' }], 'who is cut off has not hung up')
  await world.close()
})

test.run()
