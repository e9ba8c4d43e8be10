import * as assert from 'uvu/assert'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { suite } from '../../../harness.ts'
import { trunkRow } from '../../trunk-row.ts'
import { makeQueueWorld, phoneDials, type QueueWorld } from '../queue-world.ts'

const test = suite('control/queues/transfers/phone-transfers')

interface Talk {
  world: QueueWorld
  ann: string
  bob: string
  queue: string
  /** Of the caller, and of Ann's phone. */
  caller: string
  phone: string
  callId: string
}

/** Ann's phone talks with a caller of her queue; Bob is 302. */
async function talk(): Promise<Talk> {
  const world = await makeQueueWorld()
  const ann = await world.addAgent('ann')
  const bob = await world.addAgent('bob')
  await forTenant(world.store.db, world.tenant)
    .update('users')
    .set({ extension: '302' })
    .where('id', '=', bob)
    .execute()
  const queue = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 0 })
  await world.setStatus(ann, 'available')
  await world.setStatus(bob, 'available')
  const caller = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const phone = world.legOf(ann)!.legId
  return { world, ann, bob, queue, caller, phone, callId: world.media.legs.get(caller)!.roomId! }
}

/** Commands to media about a REFER, with their statuses. */
const told = (world: QueueWorld, referId: string): string[] =>
  world.media.handled.flatMap(({ name, body }) => {
    const { referId: of, sipCode } = body as { referId?: string; sipCode?: number }
    return of === referId ? [`${name} ${sipCode ?? ''}`.trim()] : []
  })

const updates = async (world: QueueWorld): Promise<string[]> =>
  (await world.events('call.transfer.updated')).map(({ object }) => `${object.status} ${object.sip_code}`)

const open = (world: QueueWorld) => world.store.db.selectFrom('call_transfers').selectAll().execute()

/** Ann's phone calls somebody beside the call that it is in; the leg of that. */
async function consult({ world, ann }: Talk, dialled: string): Promise<string> {
  const legId = `part_second_${dialled}`
  assert.is(await phoneDials(world, ann, { legId, dialled }), null)
  await world.settle()
  return legId
}

test('blind, to a colleague: the phone hears how it rings, has the call until there is an answer, and is free then', async () => {
  const { world, ann, bob, caller, phone, callId } = await talk()
  const referId = world.media.refer(phone, '302')
  await world.settle()
  assert.equal(told(world, referId), ['leg.refer_answer 202'])
  assert.is(world.legOf(ann)?.roomId, callId, 'she has it still')
  assert.is(world.media.legs.get(caller)!.onHold, true)
  const [ringing] = world.ringing(bob)
  world.media.emit('leg.ringing', { legId: ringing!.legId })
  await world.settle()
  world.media.pickUp(ringing!.legId)
  await world.settle()
  assert.equal(told(world, referId), ['leg.refer_answer 202', 'leg.refer_notify 180', 'leg.refer_notify 200'])
  assert.is(world.legOf(ann), undefined)
  assert.is(world.legOf(bob)?.roomId, callId)
  assert.is(world.media.legs.get(caller)!.onHold, false)
  assert.equal([await world.status(ann), await world.status(bob)], ['available', 'busy'])
  assert.equal(await updates(world), ['trying 100', 'ringing 180', 'completed 200'])
  assert.is((await world.events('call.transferred')).length, 1)
  const byRequest = world.store.db.selectFrom('events').select('type').where('request_id', 'is not', null)
  assert.equal(await byRequest.execute(), [], 'no request of the API caused it')
  assert.equal(await open(world), [])
  await world.close()
})

test('nobody answers: the phone hears it, and talks with the caller again', async () => {
  for (const [reason, status] of [
    ['busy', 486],
    ['rejected', 603],
    ['no_answer', 480],
  ] as const) {
    const { world, ann, bob, caller, phone, callId } = await talk()
    const referId = world.media.refer(phone, '302')
    await world.settle()
    world.media.hangUp(world.ringing(bob)[0]!.legId, reason)
    await world.settle()
    assert.equal(told(world, referId).at(-1), `leg.refer_notify ${status}`)
    assert.is(world.legOf(ann)?.roomId, callId)
    assert.is(world.media.legs.get(caller)!.onHold, false)
    assert.equal((await updates(world)).at(-1), `failed ${status}`)
    const call = await forTenant(world.store.db, world.tenant).find('calls', callId)
    assert.is(call?.status, 'in_progress')
    await world.close()
  }
})

test('a phone that hangs up while the target rings has transferred: it hears of the end all the same', async () => {
  const { world, bob, caller, phone, callId } = await talk()
  const referId = world.media.refer(phone, '302')
  await world.settle()
  world.media.hangUp(phone)
  await world.settle()
  assert.is(world.media.legs.get(caller)!.playId, 'calling')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.is(world.legOf(bob)?.roomId, callId)
  assert.equal(told(world, referId).at(-1), 'leg.refer_notify 200')
  assert.equal(await open(world), [])
  await world.close()
})

test('to a route of the organisation: the caller is led there at once', async () => {
  const { world, ann, queue, caller, phone } = await talk()
  await forTenant(world.store.db, world.tenant).insert('inbound_routes', {
    ...{
      id: 'rte_1',
      match_to: 'help',
      match_from: null,
      match_connection_id: null,
      target: 'queue',
      target_id: queue,
    },
    ...{ hours: null, priority: 0, created: '2026-11-21T09:00:00.000Z', updated: '2026-11-21T09:00:00.000Z' },
  })
  await world.setStatus(ann, 'away')
  const referId = world.media.refer(phone, 'help')
  await world.settle()
  assert.equal(told(world, referId), ['leg.refer_answer 202', 'leg.refer_notify 200'])
  assert.is(world.legOf(ann), undefined)
  assert.is(world.media.legs.get(caller)!.playId, 'hold')
  await world.close()
})

test('what the phone could not call itself it does not transfer to', async () => {
  const { world, bob, phone } = await talk()
  await forTenant(world.store.db, world.tenant).insert('do_not_call', {
    ...{ id: 'dnc_1', phone: '+14155550142', reason: '', created: '2026-11-21T09:00:00.000Z' },
  })
  // A stranger's name, an emergency number, a number on the do-not-call list, one that no connection takes out.
  for (const to of ['nobody', '112', '+14155550142', '+14155550143']) {
    const referId = world.media.refer(phone, to)
    await world.settle()
    assert.equal(told(world, referId), ['leg.refer_answer 404'], to)
  }
  assert.is(world.ringing(bob).length, 0)
  assert.equal(await updates(world), [])
  await world.close()
})

test('who is not a party of the call has no say: a caller, one who listens, a phone that only rings', async () => {
  const { world, bob, caller, callId } = await talk()
  const ofCaller = world.media.refer(caller, '302')
  await world.settle()
  assert.equal(told(world, ofCaller), ['leg.refer_answer 603'])
  const { supervise } = await import('../../../../control/queues/call-handling.ts')
  const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  await world.centre().handle(by, handling => supervise(handling, { mode: 'monitor', userId: bob }))
  await world.settle()
  const listening = world.ringing(bob)[0]!.legId
  world.media.pickUp(listening)
  await world.settle()
  const ofListener = world.media.refer(listening, '302')
  await world.settle()
  assert.equal(told(world, ofListener), ['leg.refer_answer 603'])
  await world.close()
})

test('a second REFER while one is under way is answered 491', async () => {
  const { world, phone } = await talk()
  world.media.refer(phone, '302')
  await world.settle()
  const second = world.media.refer(phone, '302')
  await world.settle()
  assert.equal(told(world, second), ['leg.refer_answer 491'])
  await world.close()
})

test('the caller hangs up in the middle: nobody rings any more, and the phone hears that it failed', async () => {
  const { world, bob, caller, phone } = await talk()
  const referId = world.media.refer(phone, '302')
  await world.settle()
  world.media.hangUp(caller)
  await world.settle()
  assert.is(world.ringing(bob).length, 0)
  assert.ok(told(world, referId).includes('leg.refer_notify 487'))
  assert.equal(await open(world), [])
  await world.close()
})

// ---------------------------------------------------------------------------------------------------- attended

test('attended: a phone that talks may call somebody beside it, once, and is busy for all others', async () => {
  const everybody = await talk()
  const { world, ann, bob } = everybody
  await consult(everybody, '302')
  assert.is(world.ringing(bob).length, 1)
  const third = await phoneDials(world, ann, { legId: 'part_third', dialled: '302' })
  assert.is(third?.failure, 'busy')
  assert.is(await world.status(ann), 'busy')
  await world.close()
})

for (const answered of [true, false]) {
  test(`attended, of ${answered ? 'an answered call' : 'one that rings still'}: Replaces brings both others together, and the phone is free`, async () => {
    const everybody = await talk()
    const { world, ann, bob, caller, phone, callId } = everybody
    const second = await consult(everybody, '302')
    const ringing = world.ringing(bob)[0]!.legId
    if (answered) {
      world.media.pickUp(ringing)
      await world.settle()
      assert.is(world.legOf(bob)?.roomId === callId, false)
    }
    const referId = world.media.refer(phone, '302', { legId: second, dialog: 'c;to-tag=a;from-tag=b' })
    await world.settle()
    if (!answered) {
      assert.is(world.media.legs.get(caller)!.playId, 'calling')
      world.media.pickUp(ringing)
      await world.settle()
    }
    assert.is(world.legOf(bob)?.roomId, callId, 'Bob talks with the caller')
    assert.equal(told(world, referId).at(-1), 'leg.refer_notify 200')
    assert.equal([world.media.legs.has(phone), world.media.legs.has(second)], [false, false])
    const calls = await forTenant(world.store.db, world.tenant).select('calls').selectAll().orderBy('id').execute()
    assert.equal(
      calls.map(({ ended_reason }) => ended_reason),
      [null, 'transfer_completed'],
    )
    assert.equal([await world.status(ann), await world.status(bob)], ['available', 'busy'])
    world.media.hangUp(caller)
    await world.settle()
    assert.is(await world.status(bob), 'available')
    assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
    await world.close()
  })
}

test('attended, asked in the call that the phone has placed: the call that it took ends, and tells of no conference', async () => {
  const everybody = await talk()
  const { world, bob, caller, phone } = everybody
  const second = await consult(everybody, '302')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const referId = world.media.refer(second, '301', { legId: phone, dialog: 'c;to-tag=a;from-tag=b' })
  await world.settle()
  assert.equal(told(world, referId).at(-1), 'leg.refer_notify 200')
  assert.is(world.media.legs.get(caller)!.roomId, world.legOf(bob)?.roomId)
  assert.is((await world.events('call.ended')).length, 1)
  assert.equal(await world.events('conference.participant.left'), [])
  await world.close()
})

test('attended, with the REFER right behind the ACK: who answered is on its way into the one call, and gets into the other', async () => {
  const everybody = await talk()
  const { world, ann, bob, phone, callId } = everybody
  const second = await consult(everybody, '302')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  world.media.refer(phone, '302', { legId: second, dialog: 'c;to-tag=a;from-tag=b' })
  await world.settle()
  assert.is(world.legOf(bob)?.roomId, callId, 'Bob talks with the caller')
  assert.equal((await updates(world)).at(-1), 'completed 200')
  assert.is(await world.status(ann), 'available')
  await world.close()
})

test('attended, of a number outside that rings still: it rings for the caller from then on, and the phone is free', async () => {
  const everybody = await talk()
  const { world, ann, caller, phone, callId } = everybody
  const trunk = trunkRow(world.clock.now().toISOString())
  await forTenant(world.store.db, world.tenant).insert('connections', trunk)
  const second = await consult(everybody, '+4930123456')
  assert.is(world.media.legs.get(second)!.state, 'incoming')
  const outside = [...world.media.legs.values()].find(({ dialled }) => dialled.includes('4930123456'))!
  const referId = world.media.refer(phone, '+4930123456', { legId: second, dialog: 'c;to-tag=a;from-tag=b' })
  await world.settle()
  assert.equal([world.media.legs.has(phone), world.media.legs.has(second)], [false, false])
  world.media.pickUp(outside.legId)
  await world.settle()
  assert.equal([outside.roomId, world.media.legs.get(caller)!.roomId], [callId, callId])
  assert.equal(told(world, referId).at(-1), 'leg.refer_notify 200')
  assert.is(await world.status(ann), 'available')
  world.media.hangUp(caller)
  await world.settle()
  assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
  await world.close()
})

test("attended, with a dialog of a colleague's: nobody gives away what is not its own", async () => {
  const { world, bob, phone, caller } = await talk()
  const other = await world.callUser(bob)
  await world.settle()
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  for (const legId of [world.legOf(bob)!.legId, other]) {
    const referId = world.media.refer(phone, '302', { legId, dialog: 'c;to-tag=a;from-tag=b' })
    await world.settle()
    assert.equal(told(world, referId), ['leg.refer_answer 403'])
  }
  assert.is(world.media.legs.has(caller), true)
  await world.close()
})

test('attended, during a card payment: who takes part in it stays, and the phone hears that it failed', async () => {
  const everybody = await talk()
  const { world, bob, caller, phone, callId } = everybody
  const second = await consult(everybody, '302')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  await forTenant(world.store.db, world.tenant).insert('capture_pauses', {
    ...{ id: caller, call_id: callId, reason: 'payment', paused_at: null, resumes_at: null },
    destination_participant_id: null,
  })
  const referId = world.media.refer(phone, '302', { legId: second, dialog: 'c;to-tag=a;from-tag=b' })
  await world.settle()
  assert.equal(told(world, referId).at(-1), 'leg.refer_notify 603')
  assert.equal([world.media.legs.has(phone), world.media.legs.has(second)], [true, true])
  await world.close()
})

test('the first call ends while the phone asks somebody: what it asks is its call from then on', async () => {
  const everybody = await talk()
  const { world, ann, bob, caller } = everybody
  await consult(everybody, '302')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  world.media.hangUp(caller)
  await world.settle()
  assert.is(await world.status(ann), 'busy')
  world.media.hangUp('part_second_302')
  await world.settle()
  assert.is(await world.status(ann), 'available')
  await world.close()
})

// ---------------------------------------------------------------------------------------------------- kills

/** After so many of control's commands to media; a half is the moment between a command and its reply. */
const MOMENTS = Array.from({ length: 12 }, (_, i) => (i + 1) / 2)

for (const commands of MOMENTS) {
  test(`control dies after ${commands} of its commands: the transfer is carried out once, and the phone hears how it ended`, async () => {
    const { world, ann, bob, phone, callId } = await talk()
    const referId = world.media.refer(phone, '302')
    world.killAfter(commands)
    await world.settle()
    const ringing = world.ringing(bob)
    assert.is(ringing.length, 1, 'rung once')
    world.media.pickUp(ringing[0]!.legId)
    await world.settle()
    assert.is(world.legOf(bob)?.roomId, callId)
    assert.is(world.legOf(ann), undefined, 'she is free')
    assert.ok(!world.media.refers.has(referId), 'the phone has heard of the end')
    assert.equal(await open(world), [])
    await world.close()
  })
}

for (const commands of MOMENTS.filter(commands => commands <= 5)) {
  test(`control dies after ${commands} of its commands to join two calls: both others talk, and nobody else is left`, async () => {
    const everybody = await talk()
    const { world, bob, caller, phone, callId } = everybody
    const second = await consult(everybody, '302')
    world.media.pickUp(world.ringing(bob)[0]!.legId)
    await world.settle()
    const referId = world.media.refer(phone, '302', { legId: second, dialog: 'c;to-tag=a;from-tag=b' })
    world.killAfter(commands)
    await world.settle()
    assert.is(world.legOf(bob)?.roomId, callId)
    assert.equal([...world.media.legs.keys()].sort(), [caller, world.legOf(bob)!.legId].sort())
    assert.ok(!world.media.refers.has(referId), 'the phone has heard of the end')
    await world.close()
  })
}

test('bridge: of a target that rings before media has said that it is called, its trying is told first', async () => {
  const { world, caller } = await talk()
  const scoped = forTenant(world.store.db, world.tenant)
  const trunk = trunkRow(world.clock.now().toISOString())
  await scoped.insert('connections', { ...trunk, transfers: 'bridge' })
  await scoped.update('participants').set({ connection_id: trunk.id }).where('id', '=', caller).execute()
  const referId = world.media.refer(caller, '+4930123456')
  world.media.emit('leg.refer_progress', { legId: caller, referId, sipCode: 180, isOver: false })
  await world.settle()
  world.media.emit('leg.refer_progress', { legId: caller, referId, sipCode: 200, isOver: true })
  await world.settle()
  assert.equal(await updates(world), ['trying 100', 'ringing 180', 'completed 200'])
  const failed = world.media.refer(caller, '+4930123456')
  world.media.emit('leg.refer_progress', { legId: caller, referId: failed, sipCode: 486, isOver: true })
  await world.settle()
  assert.equal((await updates(world)).slice(3), ['trying 100', 'failed 486'])
  await world.close()
})

/** Ann's caller came over a trunk, which has it transferred: its answers. */
async function trunkAsks({ world, caller }: Talk, connection: object, users: readonly string[]): Promise<string[]> {
  const scoped = forTenant(world.store.db, world.tenant)
  const trunk = trunkRow(world.clock.now().toISOString())
  await scoped.insert('connections', { ...trunk, transfers: 'bridge', ...connection })
  await scoped.update('participants').set({ connection_id: trunk.id }).where('id', '=', caller).execute()
  const answers: string[] = []
  for (const user of users) {
    const referId = world.media.refer(caller, user)
    await world.settle()
    answers.push(told(world, referId)[0]!)
    world.media.emit('leg.refer_progress', { legId: caller, referId, sipCode: 486, isOver: true })
    await world.settle()
  }
  return answers
}

test('what a trunk could not be redirected to it does not transfer to either: numbers on the do-not-call list, or without a rate', async () => {
  const talking = await talk()
  const { world } = talking
  const entry = { id: 'dnc_1', phone: '+4930999999', reason: '', created: world.clock.now().toISOString() }
  await forTenant(world.store.db, world.tenant).insert('do_not_call', entry)
  const rates = JSON.stringify([{ prefix: '+4930', cost: 1 }])
  const listed = ['+4930999999', '4930999999', '+49-30-99 99 99']
  const unrated = ['+19005550100', '19005550100', '0019005550100', '+1 900 555 0100', '19005550100#']
  const refused = await trunkAsks(talking, { rates }, [...listed, ...unrated])
  assert.equal(new Set(refused), new Set(['leg.refer_answer 403']))
  await world.close()
})

test('emergency numbers are called over any connection; longer short numbers, which may cost, not over one with rates, unless one of them is of all numbers', async () => {
  const [emergency, short] = [
    ['112', '911', '000', '%31%31%32'],
    ['4711', '11880', '118000', '+011880', '*11880', '1-18-80'],
  ]
  const rates = JSON.stringify([{ prefix: '+4930', cost: 1 }])
  for (const [connection, users, result] of [
    [{ rates }, emergency, 'leg.refer_bridge'],
    [{ rates }, short, 'leg.refer_answer 403'],
    [{ rates: '[{"prefix":"+","cost":1}]' }, short, 'leg.refer_bridge'],
    [{ rates: '[]' }, short, 'leg.refer_bridge'],
  ] as const) {
    const talking = await talk()
    assert.equal(new Set(await trunkAsks(talking, connection, users)), new Set([result]), JSON.stringify(connection))
    await talking.world.close()
  }
})

test('what a trunk may have called is called over its own connection', async () => {
  const talking = await talk()
  const rates = JSON.stringify([{ prefix: '+4930', cost: 1 }])
  const users = ['+4930123456', '4930123456', '302', 'reception', 'desk1234']
  assert.equal(new Set(await trunkAsks(talking, { rates }, users)), new Set(['leg.refer_bridge']))
  await talking.world.close()
})

test('a REFER that was answered for us, since nobody decided in time, is not carried out', async () => {
  const { world, ann, bob, phone } = await talk()
  world.media.refers.clear()
  world.media.emit('leg.refer_asked', {
    legId: phone,
    referId: 'xfer_late',
    to: { uri: 'sip:302@tandem.test', user: '302', host: 'tandem.test' },
    replaces: null,
  })
  await world.settle()
  assert.is(world.ringing(bob).length, 0)
  assert.ok(world.legOf(ann) !== undefined)
  assert.equal(await open(world), [])
  await world.close()
})

test.run()
