import { setImmediate as nextTurn } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { DevicePort } from '../../../../control/calls/conductor/device-port.ts'
import { findLeg } from '../../../../control/calls/legs.ts'
import type { Trx } from '../../../../control/kernel/store/store.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { PhoneCalls } from '../../../../control/queues/agents/phone-calls.ts'
import type { CallCentre } from '../../../../control/queues/call-centre.ts'
import { heardEarly } from '../../../../control/queues/ringing/early-media.ts'
import type { Commands } from '../../../../media/protocol.ts'
import { partyOf } from '../../../fakes/media-model.ts'
import { suite } from '../../../harness.ts'
import { silent, type World } from '../../app-harness.ts'
import { trunkRow } from '../../trunk-row.ts'
import { VAULT } from '../../whole-app.ts'
import { makeQueueWorld, phoneDials, type QueueWorld } from '../queue-world.ts'

const test = suite('control/queues/agents/placed-calls')

const PHONE = 'part_phone'
const OUTSIDE = '+15557654321'

/** Ann's own phone has dialled; Bob is 310, and a carrier takes numbers out. */
async function dialled(to: string, killAfter?: number, leads: (world: QueueWorld) => Promise<void> = async () => {}) {
  const placed = await calling(to, killAfter, leads)
  if (to === OUTSIDE) placed.world.media.emit('leg.ringing', { legId: farEnd(placed.world).legId })
  await placed.world.settle()
  return placed
}

async function annAndBob(world: QueueWorld): Promise<[string, string]> {
  const [ann, bob] = [await world.addAgent('ann'), await world.addAgent('bob')]
  const scoped = forTenant(world.store.db, world.tenant)
  await scoped.update('users').set({ extension: '310' }).where('id', '=', bob).execute()
  await scoped.insert('connections', trunkRow('carrier'))
  for (const id of [ann, bob]) await world.setStatus(id, 'available')
  return [ann, bob]
}

/** The same, and the far end outside has said nothing yet. */
async function calling(to: string, killAfter?: number, leads: (world: QueueWorld) => Promise<void> = async () => {}) {
  const world = await makeQueueWorld()
  const [ann, bob] = await annAndBob(world)
  await leads(world)
  if (killAfter !== undefined) world.killAfter(killAfter)
  assert.is(await phoneDials(world, ann, { legId: PHONE, dialled: to }), null)
  await world.settle()
  return { world, ann, bob }
}

const sent = ({ media }: QueueWorld, legId = PHONE): string[] =>
  media.handled.filter(({ body }) => (body as { legId?: string }).legId === legId).map(({ name }) => name)

type Hangup = Commands['leg.hangup']['request']
const lastHangup = ({ media }: QueueWorld, legId = PHONE): Hangup | undefined =>
  media.handled.findLast(({ name, body }) => name === 'leg.hangup' && (body as Hangup).legId === legId)?.body as
    | Hangup
    | undefined

const refusedWith = (world: QueueWorld) => lastHangup(world)?.reason

const callOf = async (world: QueueWorld) =>
  (await forTenant(world.store.db, world.tenant).select('calls').selectAll().execute())[0]!

/** The leg of whom the phone calls. */
const farEnd = ({ media }: QueueWorld) => [...media.legs.values()].find(leg => leg.direction === 'outbound')!

test("a phone that hangs up while its member's password is checked has placed no call that rings for ever", async () => {
  for (const to of ['310', OUTSIDE]) {
    const phones = ({ store, clock }: World, centre: CallCentre) =>
      new PhoneCalls({ store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, log: silent, centre })
    const world = await makeQueueWorld({}, true, (...parts) => phones(...parts) as unknown as DevicePort)
    const { media } = world
    const [ann, bob] = await annAndBob(world)
    const secret = { ha1_md5: VAULT.seal('x', ann), ha1_sha256: VAULT.seal('x', ann), created: '' }
    const username = 'live-ann'
    await forTenant(world.store.db, world.tenant).insert('sip_credentials', { id: ann, username, ...secret })
    const request = media.request.bind(media)
    media.request = async (name, body) => {
      const reply = await request(name, body)
      // Its end is told while the call has no rows yet.
      if (name === 'leg.check_caller') media.legs.delete(PHONE)
      return reply
    }
    const party = media.add(PHONE, { to: partyOf(to) }).to
    media.emit('leg.incoming', {
      ...{ legId: PHONE, to: party, from: partyOf(username), source: { host: '192.0.2.1' }, sipCallId: 'c' },
      digest: { username, algorithm: 'MD5', nonce: { value: 'n', count: 1 } },
    })
    // Nobody awaits that a phone's call is taken.
    while ((await callOf(world))?.ended_at == null) await world.settle().then(() => nextTurn())
    await world.settle()
    assert.is((await callOf(world)).status, 'cancelled')
    assert.equal([await world.status(ann), await world.status(bob)], ['available', 'available'])
    assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
    assert.is(media.legs.size, 0)
    await world.close()
  }
})

for (const to of ['310', OUTSIDE]) {
  const whom = to === OUTSIDE ? 'a number outside' : 'a colleague'

  test(`a phone that dials ${whom} rings until there is an answer, and talks then`, async () => {
    const { world, ann } = await dialled(to)
    assert.equal(sent(world), ['leg.ring'])
    assert.is((await callOf(world)).answered_at, null)
    assert.is(await world.status(ann), 'busy')
    world.clock.advance(7000)
    world.media.pickUp(farEnd(world).legId)
    await world.settle()
    assert.equal(sent(world).slice(0, 2), ['leg.ring', 'leg.answer'])
    assert.is(sent(world).at(-1), 'leg.stop_play')
    const call = await callOf(world)
    assert.is(call.status, 'in_progress')
    assert.is(call.answered_at, world.clock.now().toISOString(), 'its time is counted from the answer')
    const { roomId } = farEnd(world)
    assert.ok(roomId !== null)
    assert.is(world.media.legs.get(PHONE)!.roomId, roomId)
    assert.is(world.media.legs.get(PHONE)!.playId, null)
    world.media.hangUp(PHONE)
    await world.settle()
    assert.is(world.media.legs.size, 0)
    assert.is(await world.status(ann), 'available')
    assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
    await world.close()
  })

  test(`a phone that gives up while ${whom} rings was never answered, and nobody rings on`, async () => {
    const { world, ann, bob } = await dialled(to)
    world.media.hangUp(PHONE)
    await world.settle()
    assert.is(world.media.legs.size, 0)
    const call = await callOf(world)
    assert.equal([call.status, call.answered_at, call.duration_ms], ['cancelled', null, 0])
    assert.equal([await world.status(ann), await world.status(bob)], ['available', 'available'])
    await world.close()
  })

  test(`the answer of ${whom} crosses the phone's CANCEL: nobody is left on the line`, async () => {
    const { world, ann } = await dialled(to)
    world.media.pickUp(farEnd(world).legId)
    world.media.hangUp(PHONE)
    await world.settle()
    assert.is(world.media.legs.size, 0)
    assert.is(await world.status(ann), 'available')
    assert.equal(await world.store.db.selectFrom('rings').selectAll().execute(), [])
    await world.close()
  })

  test(`early media of ${whom} is heard by the phone, which is not answered for that`, async () => {
    const { world } = await dialled(to)
    const { legId } = farEnd(world)
    world.media.emit('leg.early_media', { legId, isHeard: true })
    await world.settle()
    assert.is(sent(world).includes('leg.answer'), false)
    const early = world.media.handled.findLast(({ name }) => name === 'leg.ring')!.body as { early?: { room: object } }
    assert.ok(early.early !== undefined)
    assert.is('capture' in early.early.room, false)
    // The call goes on elsewhere, where it rings only.
    world.media.emit('leg.early_media', { legId, isHeard: false })
    await world.settle()
    assert.is(sent(world).at(-1), 'leg.play', 'our ringing tone')
    world.media.emit('leg.early_media', { legId, isHeard: true })
    await world.settle()
    assert.is(sent(world).at(-1), 'leg.stop_play')
    world.media.pickUp(legId)
    await world.settle()
    assert.is(world.media.legs.get(PHONE)!.roomId, farEnd(world).roomId)
    await world.close()
  })

  test(`control that is killed at any command of a phone's call to ${whom} goes on with it`, async () => {
    for (let commands = 0.5; commands <= 5; commands += 0.5) {
      const { world } = await dialled(to, commands)
      world.media.pickUp(farEnd(world).legId)
      await world.settle()
      assert.is((await callOf(world)).status, 'in_progress', `after ${commands}`)
      assert.is(world.media.legs.get(PHONE)!.state, 'answered', `after ${commands}`)
      assert.is(world.media.legs.get(PHONE)!.roomId, farEnd(world).roomId, `after ${commands}`)
      await world.close()
    }
  })
}

test('early media that begins while the phone is being told that it rings outside is heard, too', async () => {
  const { world } = await calling(OUTSIDE)
  const { legId } = farEnd(world)
  const request = world.media.request.bind(world.media)
  world.media.request = async (name, body) => {
    const reply = await request(name, body)
    if (name !== 'leg.ring') return reply
    world.media.request = request
    const begins = async (trx: Trx) => heardEarly(trx, (await findLeg(trx, world.tenant, legId))!, true)
    await world.store.transaction(begins)
    return reply
  }
  world.media.emit('leg.ringing', { legId })
  await world.settle()
  const rung = world.media.handled.filter(({ name }) => name === 'leg.ring')
  assert.equal(
    rung.map(({ body }) => (body as { early?: object }).early !== undefined),
    [false, true],
  )
  await world.close()
})

test('a phone that asks for privacy is named to nobody outside', async () => {
  const world = await makeQueueWorld()
  const ann = await world.addAgent('ann')
  await forTenant(world.store.db, world.tenant).insert('connections', trunkRow('carrier'))
  assert.is(await phoneDials(world, ann, { legId: PHONE, dialled: OUTSIDE, isAnonymous: true }), null)
  await world.settle()
  const { target } = world.media.handled.find(({ name }) => name === 'leg.dial')!
    .body as Commands['leg.dial']['request']
  assert.ok('identity' in target && target.identity?.isPrivate === true)
  assert.is(JSON.parse((await callOf(world)).identity!).anonymous, true)
  await world.close()
})

test('a number that does not exist has the phone refused at once: it is not told before that it rings', async () => {
  const { world } = await calling(OUTSIDE)
  assert.equal(sent(world), [])
  world.media.hangUp(farEnd(world).legId, 'not_found', 404)
  await world.settle()
  assert.equal([...new Set(sent(world))], ['leg.hangup'])
  await world.close()
})

test("how the far end refuses a phone's call is told to the phone, its status and its cause", async () => {
  const { world } = await calling(OUTSIDE)
  world.media.hangUp(farEnd(world).legId, 'rejected', 606, { q850: 31, sip: null, text: null, by: 'far_end' })
  await world.settle()
  assert.equal(lastHangup(world)?.farEnd, { q850: 31, sipCode: 606 })
  await world.close()
})

for (const who of ['the far end', 'the phone']) {
  test(`a cause with which ${who} hangs up is told to the other side`, async () => {
    const { world } = await dialled(OUTSIDE)
    const { legId } = farEnd(world)
    world.media.pickUp(legId)
    await world.settle()
    const [leaves, stays] = who === 'the phone' ? [PHONE, legId] : [legId, PHONE]
    world.media.hangUp(leaves, 'caller_hangup', null, { q850: 31, sip: null, text: null, by: 'far_end' })
    await world.settle()
    assert.is(lastHangup(world, stays)?.farEnd?.q850, 31)
    await world.close()
  })
}

test('what we end ourselves has no cause of a far end', async () => {
  const { world } = await calling(OUTSIDE)
  world.media.hangUp(farEnd(world).legId, 'no_answer', 408, { q850: 19, sip: null, text: null, by: 'tandem' })
  await world.settle()
  assert.is(lastHangup(world)?.farEnd, undefined)
  await world.close()
})

test('who is not reached outside has the phone refused with the same reason, and it was never answered', async () => {
  for (const reason of ['busy', 'no_answer', 'not_found', 'rejected', 'trunk_error'] as const) {
    const { world, ann } = await dialled(OUTSIDE)
    world.media.hangUp(farEnd(world).legId, reason, 486)
    await world.settle()
    assert.equal([...new Set(sent(world))], ['leg.ring', 'leg.hangup'], reason)
    assert.is(refusedWith(world), reason)
    assert.is((await callOf(world)).ended_reason, reason)
    assert.is(await world.status(ann), 'available')
    await world.close()
  }
})

/** The address `desk` leads to this target. */
const desk = (target: 'queue' | 'echo', targetId: string | null) => async (world: QueueWorld) => {
  const at = world.clock.now().toISOString()
  const match = { match_to: 'desk', match_from: null, match_connection_id: null, hours: null, priority: 0 }
  const route = { id: 'rte_1', ...match, target, target_id: targetId, created: at, updated: at }
  await forTenant(world.store.db, world.tenant).insert('inbound_routes', route)
}

test("a colleague's extension comes before the number outside that its digits are", async () => {
  const { world } = await dialled('03012345', undefined, async ({ store, tenant }) => {
    await store.db.updateTable('organisations').set({ country: 'DE' }).where('id', '=', tenant.organisationId).execute()
    await forTenant(store.db, tenant)
      .update('users')
      .set({ extension: '03012345' })
      .where('extension', '=', '310')
      .execute()
  })
  assert.is((await callOf(world)).direction, 'inbound')
  await world.close()
  const outside = await dialled('03012345', undefined, async ({ store, tenant }) => {
    await store.db.updateTable('organisations').set({ country: 'DE' }).where('id', '=', tenant.organisationId).execute()
  })
  assert.equal([...outside.world.media.legs.values()].filter(leg => leg.dialled.includes('+493012345')).length, 1)
  await outside.world.close()
})

test('a phone that dials a queue rings, with the hold audio as early media, until an agent answers', async () => {
  const { world, bob } = await dialled('desk', undefined, async world => {
    const bob = await forTenant(world.store.db, world.tenant).findBy('users', { name: 'bob' })
    await desk('queue', await world.addQueue({ member_user_ids: [bob!.id] }))(world)
  })
  assert.is(sent(world).includes('leg.answer'), false)
  assert.is(world.media.legs.get(PHONE)!.playId, 'hold')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.is((await callOf(world)).status, 'in_progress')
  assert.is(world.media.legs.get(PHONE)!.roomId, world.legOf(bob)!.roomId)
  await world.close()
})

test('what speaks by itself answers a phone at once', async () => {
  const { world } = await dialled('desk', undefined, desk('echo', null))
  assert.is(sent(world)[0], 'leg.answer')
  await world.close()
})

test('a colleague who does not answer has the phone answered by voicemail, and only then', async () => {
  const { world, bob } = await dialled('310')
  world.media.hangUp(world.ringing(bob)[0]!.legId, 'no_answer')
  await world.settle()
  assert.equal(sent(world), ['leg.ring', 'leg.answer'])
  assert.equal(
    world.handed.map(({ program }) => program.type),
    ['voicemail'],
  )
  await world.close()
})

test.run()
