import * as assert from 'uvu/assert'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { followDevices, GRACE_MS } from '../../../control/queues/presence.ts'
import { suite } from '../../harness.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/presence')

const SECOND = 1000

/** An agent with a softphone, whose rings go to what the world's devices say. */
async function makeAgent(world: QueueWorld): Promise<string> {
  const id = await world.addAgent('ann')
  await connect(world, id)
  await world.setStatus(id, 'available')
  return id
}

const connect = ({ store, tenant, clock }: QueueWorld, userId: string): Promise<void> =>
  forTenant(store.db, tenant).insert('browser_sessions', {
    id: 'browser_1',
    user_id: userId,
    node: 'node',
    origin: null,
    device: null,
    connected_at: clock.now().toISOString(),
  })

const disconnect = async ({ store }: QueueWorld): Promise<void> => {
  await store.db.deleteFrom('browser_sessions').execute()
}

const makePresenceWorld = (): Promise<QueueWorld> => makeQueueWorld({ followDevices })

test('an agent whose softphone is gone is offline after a short grace, which is an event; back again it is what it was', async () => {
  const world = await makePresenceWorld()
  const agent = await makeAgent(world)
  await world.later(10 * GRACE_MS)
  assert.is(await world.status(agent), 'available')
  await disconnect(world)
  await world.later(SECOND)
  await world.later(GRACE_MS - SECOND)
  assert.is(await world.status(agent), 'available', 'a page that is loaded again')
  await world.later(SECOND)
  assert.is(await world.status(agent), 'offline')
  const [told] = (await world.events('agent.status.changed')).slice(-1)
  assert.equal([told?.object.status, told?.previous.status], ['offline', 'available'])
  await connect(world, agent)
  await world.later(SECOND)
  assert.is(await world.status(agent), 'available')
  await world.close()
})

test('a page that is loaded again within the grace changes nothing, and the next one has a grace of its own', async () => {
  const world = await makePresenceWorld()
  const agent = await makeAgent(world)
  for (let i = 0; i < 3; i++) {
    await disconnect(world)
    await world.later(GRACE_MS - SECOND)
    await connect(world, agent)
    await world.later(SECOND)
  }
  assert.is(await world.status(agent), 'available')
  await world.close()
})

test('a phone whose registration has run out is no device', async () => {
  const world = await makePresenceWorld()
  const agent = await world.addAgent('ann')
  const at = world.clock.now()
  await forTenant(world.store.db, world.tenant).insert('sip_registrations', {
    ...{
      user_id: agent,
      contact: 'sip:a@192.0.2.7',
      node: 'another',
      call_id: 'r',
      cseq: 1,
      host: '192.0.2.7',
      port: 5060,
    },
    ...{ transport: 'udp', registered_at: at.toISOString() },
    expires_at: new Date(at.getTime() + 60 * SECOND).toISOString(),
  })
  await world.setStatus(agent, 'away')
  await world.later(59 * SECOND)
  assert.is(await world.status(agent), 'away')
  await world.later(2 * SECOND)
  await world.later(GRACE_MS)
  assert.is(await world.status(agent), 'offline')
  await world.close()
})

test('who signs out while the device is gone stays offline when it is back', async () => {
  const world = await makePresenceWorld()
  const agent = await makeAgent(world)
  await disconnect(world)
  await world.later(SECOND)
  await world.setStatus(agent, 'offline')
  await connect(world, agent)
  await world.later(SECOND)
  assert.is(await world.status(agent), 'offline')
  await world.close()
})

test('when the last device of a queue is gone, callers do not wait for nobody: when_no_agents fires', async () => {
  const world = await makePresenceWorld()
  const agent = await makeAgent(world)
  world.devices.set(agent, [])
  const queue = await world.addQueue({
    member_user_ids: [agent],
    overflow: { action: 'assistant', assistant_id: 'asst_1', when_no_agents: true },
  } as never)
  await disconnect(world)
  await world.later(SECOND)
  await world.call(queue)
  await world.settle()
  assert.equal(world.handed, [], 'it may come back')
  await world.later(GRACE_MS)
  assert.is(world.handed.length, 1)
  await world.close()
})

test.run()
