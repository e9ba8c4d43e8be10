import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/faults')

/** Two callers in a queue with two agents. */
async function twoCallers(agents: 'available' | 'offline') {
  const world = await makeQueueWorld()
  const users = [await world.addAgent('ann'), await world.addAgent('bob')]
  const queue = await world.addQueue({ member_user_ids: users })
  for (const id of users) await world.setStatus(id, agents)
  const callers = [await world.call(queue), await world.call(queue)] as [string, string]
  await world.settle()
  return { world, users, callers }
}

async function callOf({ store }: QueueWorld, legId: string) {
  const { db } = store
  const leg = db.selectFrom('participants').select('call_id').where('id', '=', legId)
  const { call_id } = await leg.executeTakeFirstOrThrow()
  return db.selectFrom('calls').selectAll().where('id', '=', call_id).executeTakeFirstOrThrow()
}

test('a caller whose turn throws is hung up, counted once, and the others in line are answered', async () => {
  const { world, users, callers } = await twoCallers('offline')
  const [broken, sound] = callers
  await world.store.db.updateTable('queue_calls').set({ tried: 'no JSON' }).where('leg_id', '=', broken).execute()
  for (const id of users) await world.setStatus(id, 'available')
  await world.settle()
  assert.is((await callOf(world, broken)).ended_reason, 'internal_error')
  assert.is(world.media.legs.has(broken), false)
  const offered = (await world.events('queue.call.offered')).map(({ object }) => object.call_id)
  assert.equal(offered, [(await callOf(world, sound)).id])
  assert.is(world.centre().faults.count, 1)
  await world.close()
})

test('a ring that throws when its time is over stops no other ring from ending', async () => {
  const { world, callers } = await twoCallers('available')
  const { db } = world.store
  const { id } = await callOf(world, callers[0])
  await db
    .updateTable('rings')
    .set({ purpose: 'none' as 'queue' })
    .where('call_id', '=', id)
    .execute()
  world.clock.advance(10 * 60_000)
  await world.centre().run(world.media)
  const left = await db.selectFrom('rings').select('call_id').where('state', '=', 'ringing').execute()
  assert.equal(
    left.filter(ring => ring.call_id !== id),
    [],
  )
  assert.is(world.centre().faults.count, 1)
  await world.close()
})

test.run()
