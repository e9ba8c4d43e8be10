import * as assert from 'uvu/assert'
import { suite } from '../../../harness.ts'
import { type CallsWorld, makeCallsWorld, ready, startControl, until } from '../../calls-world.ts'

const test = suite('control/calls/conductor/faults')

type Told = { status: string; ended_reason: string | null }

/** Two calls to the echo; of the first, what is told of it throws from now on. */
async function twoCalls(): Promise<{ world: CallsWorld; broken: string; sound: string }> {
  const world = await makeCallsWorld()
  const { media } = world
  for (const legId of ['part_1', 'part_2']) {
    media.dialIn(legId, '1002')
    await media.command('leg.play', legId)
  }
  await media.committed()
  const [broken = '', sound = ''] = media.sent('leg.answer').map(({ room }) => room.roomId)
  await world.store.db.updateTable('calls').set({ metadata: 'no JSON' }).where('id', '=', broken).execute()
  return { world, broken, sound }
}

const rowOf = async ({ store }: CallsWorld, id: string): Promise<Told | undefined> =>
  store.db.selectFrom('calls').select(['status', 'ended_reason']).where('id', '=', id).executeTakeFirst()

test('a call that throws in the comparison with media ends alone, and requests are let through', async () => {
  const { world, broken, sound } = await twoCalls()
  const { media } = world
  media.legs.clear()
  await world.control.stop()
  world.control = await startControl(world, media)
  await ready(world)
  for (const id of [broken, sound]) {
    assert.equal(await rowOf(world, id), { status: 'completed', ended_reason: 'internal_error' })
  }
  assert.is(world.control.client.counters.faults, 1)
  assert.is(world.control.client.counters.connections, 1)
  await world.close()
})

test('a call whose rows cannot be written at all keeps nobody else out', async () => {
  const { world, broken, sound } = await twoCalls()
  const { media, store } = world
  const { transaction } = store
  store.transaction = ((run, how) =>
    transaction(async trx => {
      const result = await run(trx)
      const leg = await trx.selectFrom('participants').select('step').where('id', '=', 'part_1').executeTakeFirst()
      if (leg?.step === 'ended') throw new Error('no room for this row')
      return result
    }, how)) as typeof transaction
  media.legs.clear()
  await world.control.stop()
  world.control = await startControl(world, media)
  await ready(world)
  assert.equal(await rowOf(world, sound), { status: 'completed', ended_reason: 'internal_error' })
  assert.is((await rowOf(world, broken))?.status, 'in_progress')
  assert.equal([world.control.client.counters.faults, world.control.client.counters.connections], [1, 1])
  await world.close()
})

test('a call that throws at the end of a media process ends alone', async () => {
  const { world, broken, sound } = await twoCalls()
  const { media } = world
  await media.die('boot-2')
  await until(() => world.control.client.state !== 'ready')
  await media.listen()
  await ready(world)
  assert.is((await rowOf(world, sound))?.ended_reason, 'media_failed')
  assert.is((await rowOf(world, broken))?.ended_reason, 'internal_error')
  await world.close()
})

test('an event that throws each time is set aside and ends its call; the events of others are applied', async () => {
  const { world, broken, sound } = await twoCalls()
  const { media } = world
  media.emit('leg.held', { legId: 'part_1' })
  media.emit('leg.held', { legId: 'part_2' })
  await media.committed()
  assert.is((await rowOf(world, sound))?.status, 'held')
  assert.is((await media.command('leg.hangup')).legId, 'part_1')
  await media.committed()
  assert.equal(await rowOf(world, broken), { status: 'completed', ended_reason: 'internal_error' })
  assert.not.ok(media.legs.has('part_1'))
  const { skipped, connections } = world.control.client.counters
  // Its end cannot be told either.
  assert.equal([skipped, connections], [2, 1])
  await world.close()
})

test('a call whose way on throws is hung up; others are seated', async () => {
  const world = await makeCallsWorld()
  const { media, store, pinRoom } = world
  await media.dialInUntil('leg.collect', 'part_1', '1000')
  await store.db.updateTable('conference_rooms').set({ settings: 'no JSON' }).where('id', '=', pinRoom).execute()
  media.press('part_1', '1234')
  media.dialIn('part_2', '1001')
  await media.command('leg.move', 'part_2')
  const { legId, reason } = await media.command('leg.hangup')
  assert.equal([legId, reason], ['part_1', 'internal_error'])
  await until(() => world.control.client.counters.faults === 1)
  assert.is(world.control.client.counters.connections, 1)
  await world.close()
})

test.run()
