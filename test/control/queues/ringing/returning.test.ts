import * as assert from 'uvu/assert'
import { bookCallback } from '../../../../control/callbacks/booking.ts'
import { cancelCallbacksTo, expireCallbacks } from '../../../../control/callbacks/store.ts'
import type { Context } from '../../../../control/http/context.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { signOut } from '../../../../control/queues/agent-routes.ts'
import type { Commands } from '../../../../media/protocol.ts'
import type { ModelLeg } from '../../../fakes/media-model.ts'
import { suite } from '../../../harness.ts'
import { trunkRow } from '../../trunk-row.ts'
import { makeQueueWorld, type QueueWorld } from '../queue-world.ts'

const test = suite('control/callbacks')

const ALWAYS = { hours: null, timezone: 'UTC' }
const MINUTE = 60_000

interface Back {
  world: QueueWorld
  ann: string
  queue: string
  book(more?: object): Promise<string>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  row(id: string): Promise<any>
  /** The leg of the person who is called back. */
  person(): ModelLeg | undefined
  types(): Promise<string[]>
}

async function backs(hours: { hours: object | null; timezone: string } = ALWAYS): Promise<Back> {
  const world = await makeQueueWorld({ businessHoursOf: async () => hours as never })
  const ann = await world.addAgent('ann')
  const queue = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 10 })
  const scoped = forTenant(world.store.db, world.tenant)
  await scoped.insert('connections', trunkRow('2026-11-21T09:00:00.000Z'))
  return {
    world,
    ann,
    queue,
    book: async more => {
      const settings = { default_route: 'agent_queue' as const, max_attempts: 3, api_priority: 5, sla_minutes: 60 }
      const deps = {
        now: world.clock.now,
        settings: async () => ({ country: null, businessHours: hours as never, callbacks: settings }),
      }
      const booking = { phone: '+14155550100', queue_id: queue, source: 'api' as const, author: 'test', ...more }
      const booked = await world.store.transaction(trx => bookCallback(deps, trx, world.tenant, booking))
      return (booked as { id: string }).id
    },
    row: id => scoped.find('callbacks', id),
    person: () => [...world.media.legs.values()].find(leg => leg.dialled.includes('+14155550100')),
    types: async () => (await world.events()).map(event => event.type).filter(type => type.startsWith('callback.')),
  }
}

test('pending, due, route agent_queue, an agent is free: offered, the agent is reserved; accepts: dialing; answered: connected; the call ends: completed', async () => {
  const { world, ann, book, row, person, types } = await backs()
  const id = await book()
  await world.settle()
  assert.is((await row(id)).status, 'pending')
  await world.setStatus(ann, 'available')
  await world.settle()
  assert.is((await row(id)).status, 'offered')
  assert.is((await row(id)).attempts, 0)
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const dialing = await row(id)
  assert.equal([dialing.status, dialing.attempts, await world.status(ann)], ['dialing', 1, 'busy'])
  assert.ok(dialing.last_attempt_at !== null)
  assert.is(world.legOf(ann)!.playId, 'calling', 'the agent hears that it rings')
  world.media.pickUp(person()!.legId)
  await world.settle()
  assert.equal([(await row(id)).status, (await row(id)).last_result], ['connected', 'answered'])
  assert.is(world.legOf(ann)!.roomId, person()!.roomId)
  assert.is(world.legOf(ann)!.playId, null)
  world.media.hangUp(person()!.legId)
  await world.settle()
  const done = await row(id)
  assert.equal([done.status, done.open_phone], ['completed', null])
  assert.is(await world.status(ann), 'wrap_up')
  assert.equal(await types(), [
    'callback.created',
    'callback.offered',
    'callback.dialing',
    'callback.connected',
    'callback.completed',
  ])
  await world.close()
})

test('the call of a callback shows the connection that carries it, and the number from which it comes', async () => {
  const { world, ann, book, row } = await backs()
  const scoped = forTenant(world.store.db, world.tenant)
  await scoped.change('connections', 'conn_1', { caller_number: '+14155550999' })
  const id = await book()
  await world.setStatus(ann, 'available')
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const call = await scoped.find('calls', (await row(id)).call_id)
  assert.equal([call?.connection_id, call?.from_address], ['conn_1', '+14155550999'])
  const found = await scoped.select('call_keys').select('call_id').where('value', '=', '+14155550999').execute()
  assert.equal(found, [{ call_id: call?.id }], 'it is found by that number')
  await world.close()
})

test('a node that is draining offers nobody a callback: another one does', async () => {
  const { world, ann, book, row } = await backs()
  const id = await book()
  world.media.isDraining = true
  await world.setStatus(ann, 'available')
  await world.settle()
  assert.equal([(await row(id)).status, world.ringing(ann)], ['pending', []])
  world.media.isDraining = false
  await world.settle()
  assert.is((await row(id)).status, 'offered')
  await world.close()
})

test("a member's phone transfers the person who was called back: by REFER once they talk, not before there is anybody to transfer", async () => {
  const { world, ann, book, row, person } = await backs()
  const bob = await world.addAgent('bob')
  await forTenant(world.store.db, world.tenant)
    .update('users')
    .set({ extension: '302' })
    .where('id', '=', bob)
    .execute()
  await world.setStatus(bob, 'available')
  const id = await book()
  await world.setStatus(ann, 'available')
  await world.settle()
  const phone = world.ringing(ann)[0]!.legId
  world.media.pickUp(phone)
  await world.settle()
  const answers = (): unknown[] =>
    world.media.handled.flatMap(({ name, body }) =>
      name === 'leg.refer_answer' ? [(body as { sipCode: number }).sipCode] : [],
    )
  world.media.refer(phone, '302')
  await world.settle()
  assert.equal(answers(), [603])
  world.media.pickUp(person()!.legId)
  await world.settle()
  world.media.refer(phone, '302')
  await world.settle()
  assert.equal(answers(), [603, 202])
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.is(world.legOf(ann), undefined)
  assert.is(world.legOf(bob)?.roomId, person()!.roomId)
  assert.equal([await world.status(ann), await world.status(bob)], ['wrap_up', 'busy'])
  assert.is((await row(id)).status, 'connected')
  world.media.hangUp(person()!.legId)
  await world.settle()
  assert.is((await row(id)).status, 'completed')
  assert.is(world.legOf(bob), undefined)
  await world.close()
})

test('what a deactivated member was to call back is returned by the queue, asked for before or after', async () => {
  const { world, ann, book, row } = await backs()
  const bob = await world.addAgent('bob')
  const of = { route: 'agent' as const, agent_id: bob }
  const before = await book(of)
  const context = { ...world.tenant, requestId: 'req_1', idempotencyKey: null } as Context
  await world.store.transaction(async trx => {
    await forTenant(trx, world.tenant).change('users', bob, { status: 'deactivated' })
    await signOut({ now: world.clock.now }, trx, context, bob)
  })
  const after = await book({ ...of, phone: '+14155550101' })
  for (const id of [before, after])
    assert.equal([(await row(id)).route, (await row(id)).agent_id], ['agent_queue', null])
  await world.setStatus(ann, 'available')
  await world.settle()
  assert.is((await row(before)).offered_to, ann)
  await world.close()
})

test('a phone that rings for a callback shows whom it is to call, on a page with the queue', async () => {
  const { world, ann, book } = await backs()
  world.devices.set(ann, [...world.devices.get(ann)!, { kind: 'browser', browserId: 'brw_ann' }])
  const id = await book()
  await world.setStatus(ann, 'available')
  await world.settle()
  const dialled = world.media.handled.filter(({ name }) => name === 'leg.dial')
  const targets = dialled.map(({ body }) => (body as Commands['leg.dial']['request']).target)
  assert.equal(
    targets.map(target => ('browserId' in target ? target.info : target.from.uri)),
    ['sip:+14155550100@tandem.test', { callback_id: id, caller: '+14155550100', queue: 'Help' }],
  )
  await world.close()
})

test('streams of a queue hear a person who is called back from the first sample, not only once control has heard of the answer', async () => {
  const { world, ann, queue, book, person } = await backs()
  const scoped = forTenant(world.store.db, world.tenant)
  const stored = JSON.parse((await scoped.find('queues', queue))!.settings)
  const settings = JSON.stringify({ ...stored, streams: [{ url: 'wss://receiver.example/in' }] })
  await scoped.update('queues').set({ settings }).execute()
  await book()
  await world.setStatus(ann, 'available')
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const streams = person()?.room?.capture?.streams ?? []
  assert.equal(
    streams.map(({ url, target }) => ({ url, target })),
    [{ url: 'wss://receiver.example/in', target: { legId: person()?.legId } }],
  )
  await world.close()
})

test('offered, ring timeout: pending, the next agent; away_on_missed applies', async () => {
  const { world, ann, queue, book, row } = await backs()
  const bob = await world.addAgent('bob')
  const settings = { member_user_ids: [ann, bob], away_on_missed: true }
  const stored = JSON.parse((await forTenant(world.store.db, world.tenant).find('queues', queue))!.settings)
  await forTenant(world.store.db, world.tenant)
    .update('queues')
    .set({ settings: JSON.stringify({ ...stored, ...settings }) })
    .execute()
  await world.setStatus(ann, 'available')
  world.clock.advance(1000)
  await world.setStatus(bob, 'available')
  const id = await book()
  await world.settle()
  world.media.hangUp(world.ringing(ann)[0]!.legId, 'no_answer')
  await world.settle()
  assert.is(await world.status(ann), 'away')
  assert.is(world.ringing(bob).length, 1)
  assert.is((await row(id)).attempts, 0)
  await world.close()
})

test('who misses a callback of no queue is away too, and is not rung again and again; who misses an own one stays available', async () => {
  for (const [more, status] of [
    [{ queue_id: undefined }, 'away'],
    [{ queue_id: undefined, route: 'agent' }, 'available'],
  ] as const) {
    const { world, ann, book, row } = await backs()
    await world.setStatus(ann, 'available')
    const id = await book('route' in more ? { ...more, agent_id: ann } : more)
    await world.settle()
    world.media.hangUp(world.ringing(ann)[0]!.legId, 'no_answer')
    await world.settle()
    assert.is(await world.status(ann), status)
    assert.equal([world.ringing(ann).length, (await row(id)).status], [0, 'pending'])
    await world.close()
  }
})

test('a number that is listed as not to be called while it is dialled is not tried again', async () => {
  const { world, ann, book, row, person, types } = await backs()
  await world.setStatus(ann, 'available')
  const id = await book()
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const listed = { id: 'dnc_1', phone: '+14155550100', reason: '', created: world.clock.now().toISOString() }
  await forTenant(world.store.db, world.tenant).insert('do_not_call', listed)
  world.media.hangUp(person()!.legId, 'busy')
  await world.settle()
  assert.equal([(await row(id)).status, (await row(id)).open_phone], ['cancelled', null])
  assert.is((await types()).at(-1), 'callback.cancelled')
  assert.is(world.legOf(ann), undefined, 'the agent is free again')
  await world.close()
})

test('a callback that is cancelled in the moment in which the agent accepts calls nobody', async () => {
  const { world, ann, book, row, person } = await backs()
  await world.setStatus(ann, 'available')
  const id = await book()
  await world.settle()
  const [ring] = world.ringing(ann)
  const callbacks = forTenant(world.store.db, world.tenant).update('callbacks')
  await callbacks.set({ status: 'cancelled', open_phone: null }).where('id', '=', id).execute()
  world.media.pickUp(ring!.legId)
  await world.settle()
  assert.is(person(), undefined)
  assert.is(world.legOf(ann), undefined)
  assert.equal([(await row(id)).status, (await row(id)).attempts], ['cancelled', 0])
  assert.is(await world.status(ann), 'available')
  await world.close()
})

test('dialing, busy or no answer, attempts left: pending again after 5 minutes, 30 minutes, 2 hours; none left: failed', async () => {
  const { world, ann, book, row, person, types } = await backs()
  await world.setStatus(ann, 'available')
  const id = await book({ max_attempts: 3 })
  await world.settle()
  const results: unknown[] = []
  for (const [reason, waitMinutes] of [
    ['busy', 5],
    ['no_answer', 30],
    ['busy', 0],
  ] as const) {
    await world.later(6000)
    world.media.pickUp(world.ringing(ann)[0]!.legId)
    await world.settle()
    world.media.hangUp(person()!.legId, reason)
    await world.settle()
    const { status, last_result, attempts, due_at } = await row(id)
    results.push([status, last_result, attempts])
    assert.is(world.legOf(ann), undefined, 'the agent is free again')
    if (waitMinutes > 0) {
      assert.is(Date.parse(due_at) - world.clock.now().getTime(), waitMinutes * MINUTE)
      await world.later(waitMinutes * MINUTE - 6000)
      assert.is(world.ringing(ann).length, 0)
    }
  }
  assert.equal(results, [
    ['pending', 'busy', 1],
    ['pending', 'no-answer', 2],
    ['failed', 'busy', 3],
  ])
  assert.equal(
    (await types()).filter(type => type.endsWith('failed')),
    ['callback.attempt_failed', 'callback.attempt_failed', 'callback.failed'],
  )
  await world.close()
})

test('without capacity for a call the agent has missed none: the callback is due again a minute later, and that was no attempt', async () => {
  for (const way of ['agent_queue', 'agent'] as const) {
    const { world, ann, book, row } = await backs()
    world.media.maxCalls = 0
    const id = await book(way === 'agent' ? { route: way, agent_id: ann } : {})
    await world.setStatus(ann, 'available')
    await world.settle()
    const waiting = await row(id)
    assert.equal([waiting.status, waiting.attempts], ['pending', 0])
    assert.is(Date.parse(waiting.due_at) - world.clock.now().getTime(), MINUTE)
    assert.is(await world.status(ann), 'available')
    world.media.maxCalls = Number.POSITIVE_INFINITY
    await world.later(MINUTE)
    assert.equal([(await row(id)).status, world.ringing(ann).length], [way === 'agent' ? 'dialing' : 'offered', 1])
    await world.close()
  }
})

test('route agent waits for that agent; route assistant dials the person, and the assistant talks', async () => {
  const { world, ann, book, row, person } = await backs()
  const id = await book({ route: 'agent', agent_id: ann })
  await world.settle()
  assert.is((await row(id)).status, 'pending')
  await world.setStatus(ann, 'available')
  await world.settle()
  assert.equal([(await row(id)).status, (await row(id)).attempts], ['dialing', 1])
  world.media.hangUp(world.ringing(ann)[0]!.legId, 'rejected')
  await world.settle()
  assert.equal([(await row(id)).status, (await row(id)).last_result], ['pending', 'agent-no-answer'])
  assert.is((await row(id)).call_id, null, 'nobody was called')
  await forTenant(world.store.db, world.tenant).delete('callbacks').execute()
  const other = await book({ route: 'assistant', assistant_id: 'asst_1' })
  await world.settle()
  assert.is((await row(other)).status, 'dialing')
  world.media.pickUp(person()!.legId)
  await world.settle()
  assert.is((await row(other)).status, 'connected')
  assert.equal(world.handed[0]!.program, { type: 'assistant', id: 'asst_1' })
  await world.close()
})

test("due_at is in business hours of the organisation's time zone: nobody is called before", async () => {
  // Saturday 10:00 UTC is 12:00 in Jerusalem; the office opens on Sunday at 09:00 there.
  const weekly = [{ day: 'sunday', open: '09:00', close: '17:00' }]
  const { world, ann, book, row } = await backs({ hours: { weekly, holidays: [] }, timezone: 'Asia/Jerusalem' })
  await world.setStatus(ann, 'available')
  const id = await book()
  assert.is((await row(id)).due_at, '2026-11-22T07:00:00.000Z')
  await world.later(20 * 60 * MINUTE)
  assert.is((await row(id)).status, 'pending')
  await world.later(60 * MINUTE)
  assert.is((await row(id)).status, 'offered')
  await world.close()
})

test('due callbacks that nobody is there for, however many and urgent they are, keep no other queue waiting, and no other agent', async () => {
  const { world, ann, queue, book, row } = await backs()
  const away = await world.addAgent('bob')
  const unstaffed = await world.addQueue({ member_user_ids: [away] })
  for (let i = 0; i < 250; i++) {
    const where = i % 2 === 0 ? { queue_id: unstaffed } : { route: 'agent', agent_id: away }
    await book({ phone: `+1415557${1000 + i}`, priority: 10, ...where })
  }
  const ofQueue = await book({ phone: '+14155550101', queue_id: queue, priority: 1 })
  const ofAgent = await book({ phone: '+14155550102', route: 'agent', agent_id: ann, priority: 1 })
  await world.setStatus(ann, 'available')
  await world.settle()
  assert.equal([(await row(ofQueue)).status, (await row(ofAgent)).status], ['offered', 'pending'])
  world.media.hangUp(world.ringing(ann)[0]!.legId, 'rejected')
  await forTenant(world.store.db, world.tenant).delete('callbacks').where('id', '=', ofQueue).execute()
  await world.later(6000)
  assert.is((await row(ofAgent)).status, 'dialing')
  await world.close()
})

test('higher priority is returned sooner; a caller on the line comes before both', async () => {
  const { world, ann, queue, book, row } = await backs()
  const low = await book({ priority: 2 })
  const high = await book({ priority: 9, phone: '+14155550177' })
  const caller = await world.call(queue)
  // Who becomes available is given work at once: the caller has to wait by then.
  await world.settle()
  await world.setStatus(ann, 'available')
  await world.settle()
  assert.is(world.media.legs.get(caller)!.playId, 'hold')
  assert.equal([(await row(low)).status, (await row(high)).status], ['pending', 'pending'])
  world.media.hangUp(caller)
  await world.later(10_000)
  assert.equal([(await row(low)).status, (await row(high)).status], ['pending', 'offered'])
  await world.close()
})

test("past window_end while the agent's phone rings: expired, and the phone stops", async () => {
  const { world, ann, book, row } = await backs()
  await world.setStatus(ann, 'available')
  const window_end = new Date(world.clock.now().getTime() + 5000).toISOString()
  const id = await book({ window_end })
  await world.settle()
  assert.is(world.ringing(ann).length, 1)
  world.clock.advance(6000)
  await expireCallbacks(world.store, world.clock.now())
  await world.settle()
  assert.equal([(await row(id)).status, world.ringing(ann).length], ['expired', 0])
  assert.is((await row(id)).call_id, null, 'nobody was called')
  assert.is(await world.status(ann), 'available')
  await world.close()
})

test('without a connection to the person, the attempt has failed for want of one, not by a fault of ours', async () => {
  const { world, ann, book, row } = await backs()
  await forTenant(world.store.db, world.tenant).delete('connections').execute()
  await world.setStatus(ann, 'available')
  const id = await book()
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.equal([(await row(id)).status, (await row(id)).last_result], ['pending', 'failed'])
  assert.is((await world.events('call.ended'))[0]!.object.ended_reason, 'trunk_error')
  await world.close()
})

test('a callback that is cancelled while it is offered names no call', async () => {
  const { world, ann, book, row } = await backs()
  await world.setStatus(ann, 'available')
  const id = await book()
  await world.settle()
  assert.is((await row(id)).status, 'offered')
  const at = world.clock.now().toISOString()
  await world.store.transaction(trx => cancelCallbacksTo(trx, world.tenant, { phones: ['+14155550100'], at }))
  await world.settle()
  assert.equal([(await row(id)).status, (await row(id)).call_id, world.ringing(ann).length], ['cancelled', null, 0])
  await world.close()
})

test('media dies before the person is called: nobody is called without the agent, and that was no attempt', async () => {
  for (const way of ['agent_queue', 'agent'] as const) {
    const { world, ann, book, row, person } = await backs()
    await world.setStatus(ann, 'available')
    const id = await book(way === 'agent' ? { route: way, agent_id: ann } : {})
    await world.settle()
    world.media.pickUp(world.ringing(ann)[0]!.legId)
    // Control commits that the agent has answered, and dies before it sends anything; then media dies.
    world.killAfter(0)
    await world.driver().events(world.media.unacknowledged)
    assert.equal([(await row(id)).status, (await row(id)).attempts], ['dialing', 1])
    await world.mediaDies()
    const waiting = await row(id)
    assert.equal(
      [waiting.status, waiting.last_result, waiting.attempts, person()],
      ['pending', 'capacity', 0, undefined],
    )
    assert.is(Date.parse(waiting.due_at) - world.clock.now().getTime(), MINUTE)
    await world.later(MINUTE)
    assert.is(world.ringing(ann).length, 1)
    await world.close()
  }
})

test(
  'control killed at any command of a callback: it goes on where it was, and the person is dialled once',
  async () => {
    for (let commands = 0; commands < 6; commands += 0.5) {
      const { world, ann, book, row, person } = await backs()
      await world.setStatus(ann, 'available')
      const id = await book()
      world.killAfter(commands)
      await world.settle()
      world.media.pickUp(world.ringing(ann)[0]!.legId)
      await world.settle()
      world.media.pickUp(person()!.legId)
      await world.settle()
      assert.is((await row(id)).status, 'connected')
      assert.is((await row(id)).attempts, 1)
      assert.is(world.legOf(ann)!.roomId, person()!.roomId)
      world.media.hangUp(person()!.legId)
      await world.settle()
      assert.is((await row(id)).status, 'completed')
      assert.is(world.media.legs.size, 0)
      await world.close()
    }
  },
  { timeoutMs: 40_000 },
)

test.run()
