import * as assert from 'uvu/assert'
import { findLeg, setLeg } from '../../../control/calls/legs.ts'
import type { Trx } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { hold, supervise } from '../../../control/queues/call-handling.ts'
import { ringsOf } from '../../../control/queues/ringing/rings.ts'
import type { RingRow } from '../../../control/queues/tables.ts'
import { leave } from '../../../control/queues/transfers/leaving.ts'
import { takeMembersCall } from '../../../control/queues/transfers/taking.ts'
import { stopWaiting } from '../../../control/queues/waiting-calls.ts'
import type { CommandName } from '../../../media/protocol.ts'
import { Killed } from '../../fakes/pocket-media.ts'
import { suite } from '../../harness.ts'
import { makeQueueWorld, phoneDials, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/while-sending')

// What happens between a command and what is written because of its reply.

/** Runs this once, when media has carried out a command and its reply is not there yet. */
function beforeReply(
  world: QueueWorld,
  isMeant: (name: CommandName, body: object) => boolean,
  act: (trx: Trx) => Promise<unknown>,
) {
  const request = world.media.request.bind(world.media)
  world.media.request = async (name, body) => {
    const reply = await request(name, body)
    if (isMeant(name, body)) {
      world.media.request = request
      await world.store.transaction(act)
    }
    return reply
  }
}

/** Runs this once, when a command is about to be sent. */
function beforeCommand(
  world: QueueWorld,
  isMeant: (name: CommandName, body: object) => boolean,
  act: () => Promise<unknown>,
) {
  const request = world.media.request.bind(world.media)
  world.media.request = async (name, body) => {
    if (isMeant(name, body)) {
      world.media.request = request
      await act()
    }
    return request(name, body)
  }
}

const played = ({ media }: QueueWorld, legId: string) =>
  media.handled
    .filter(({ name, body }) => name === 'leg.play' && (body as { legId: string }).legId === legId)
    .map(({ body }) => body as { playId: string; sources: { kind: string; text?: string }[] })

for (const playId of ['hold-said', 'hold']) {
  test(`a caller who comes to another queue while \`${playId}\` of the first is being sent hears what the other one says and plays`, async () => {
    const world = await makeQueueWorld()
    const ofQueue = (name: string) => ({
      hold: { audio: 'music', announcement: name, announce_position: true, position_interval_seconds: 60 },
    })
    const [first, second] = [await world.addQueue(ofQueue('First')), await world.addQueue(ofQueue('Second'))]
    const legId = await world.call(first)
    let callId = ''
    beforeReply(
      world,
      (name, body) => name === 'leg.play' && (body as { playId: string }).playId === playId,
      async trx => {
        const at = world.clock.now().toISOString()
        callId = (await findLeg(trx, world.tenant, legId))!.call_id
        await stopWaiting(trx, world.tenant, callId, { outcome: 'transferred', at })
        await world.centre().leadTo(trx, world.tenant, { callId, legId, at }, { type: 'queue', id: second })
      },
    )
    await world.settle()
    const heard = played(world, legId)
    assert.equal(
      heard.flatMap(({ sources }) => sources.filter(({ kind }) => kind === 'speech').map(({ text }) => text)),
      ['First', 'You are next in line.', 'Second', 'You are next in line.'],
    )
    assert.is(heard.at(-1)!.playId, 'hold')
    await world.close()
  })
}

/** Ann's phone rings for a caller; Bob is there, too. */
async function ringing() {
  const world = await makeQueueWorld()
  const ann = await world.addAgent('ann')
  const bob = await world.addAgent('bob')
  await forTenant(world.store.db, world.tenant).change('users', bob, { extension: '302' })
  for (const id of [ann, bob]) await world.setStatus(id, 'available')
  const legId = await world.callUser(ann)
  await world.settle()
  return { world, ann, bob, legId, callId: (await findLeg(world.store.db, world.tenant, legId))!.call_id }
}

test('a supervisor whose mode changes on the way into the call is heard by whom the new one says', async () => {
  const { world, ann, bob, callId } = await ringing()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  await world.centre().handle(by, handling => supervise(handling, { mode: 'barge', userId: bob }))
  await world.settle()
  const { legId } = world.ringing(bob)[0]!
  beforeReply(
    world,
    (name, body) => name === 'leg.move' && (body as { legId: string }).legId === legId,
    trx => forTenant(trx, world.tenant).update('rings').set({ mode: 'monitor' }).where('leg_id', '=', legId).execute(),
  )
  world.media.pickUp(legId)
  await world.settle()
  assert.equal(world.legOf(bob)!.heardBy, [])
  await world.close()
})

for (const whose of ['the call that is entered', 'another change']) {
  test(`a supervisor is heard by whom the last mode says, also if an older one of ${whose} is sent after it`, async () => {
    const { world, ann, bob, callId } = await ringing()
    const agent = world.ringing(ann)[0]!.legId
    world.media.pickUp(agent)
    await world.settle()
    const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
    const change = async (mode: 'barge' | 'monitor' | 'whisper') => {
      const ring = await world.centre().handle(by, handling => supervise(handling, { mode, userId: bob }))
      await world.centre().changeSupervision(world.media, ring as RingRow)
    }
    await change('barge')
    await world.settle()
    const { legId } = world.ringing(bob)[0]!
    const isOlder = (name: CommandName, body: object) =>
      name === 'leg.update' && (body as { legId: string; heardBy: unknown }).legId === legId
    if (whose === 'another change') {
      world.media.pickUp(legId)
      await world.settle()
      beforeCommand(world, isOlder, () => change('monitor'))
      await change('whisper')
    } else {
      beforeCommand(world, isOlder, () => change('monitor'))
      world.media.pickUp(legId)
      await world.settle()
    }
    assert.equal(world.legOf(bob)!.heardBy, [])
    await world.close()
  })
}

test('a caller who is put on hold again while the end of the hold before is being sent is on hold', async () => {
  const { world, ann, legId, callId } = await ringing()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  const put = (isHeld: boolean) => world.centre().handle(by, handling => hold(handling, isHeld))
  await put(true)
  await world.settle()
  beforeCommand(
    world,
    (name, body) => name === 'leg.hold' && !(body as { held: boolean }).held,
    () => put(true),
  )
  await put(false)
  await world.settle()
  assert.is(world.media.legs.get(legId)!.onHold, true)
  await world.close()
})

test('who is put on hold on the way into the call is on hold there', async () => {
  const { world, ann } = await ringing()
  const { legId } = world.ringing(ann)[0]!
  beforeReply(
    world,
    (name, body) => name === 'leg.move' && (body as { legId: string }).legId === legId,
    trx => setLeg(trx, world.tenant, legId, { on_hold: 1 }),
  )
  world.media.pickUp(legId)
  await world.settle()
  assert.is(world.legOf(ann)!.onHold, true)
  await world.close()
})

test("a call that a colleague's phone could not pick up rings on for its member, who alone is busy then", async () => {
  const { world, ann, bob } = await ringing()
  const { legId: replaces } = world.ringing(ann)[0]!
  // Its phone has given up meanwhile.
  const call = { legId: 'part_gone', from: { uri: 'sip:bob@phones', user: 'bob', host: 'phones', name: null } }
  const deps = { store: world.store, now: world.clock.now }
  await takeMembersCall(deps, world.media, { tenant: world.tenant, userId: bob, call, replaces })
  world.media.pickUp(replaces)
  await world.settle()
  assert.equal([await world.status(ann), await world.status(bob)], ['busy', 'available'])
  await world.close()
})

/** Ann has placed a second call, to Bob; her REFER of another node joins it with that node's call. */
async function joining() {
  const { world, ann, bob, callId } = await ringing()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const replaces = 'part_second'
  assert.is(await phoneDials(world, ann, { legId: replaces, dialled: '302' }), null)
  await world.settle()
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const call = {
    legId: 'part_node',
    from: { uri: 'sip:node@phones', user: 'node', host: 'phones', name: null },
    passedOn: { account: 'ann', joins: true as const },
  }
  world.media.add(call.legId, { joins: true })
  const join = () => {
    const deps = { store: world.store, now: world.clock.now }
    return takeMembersCall(deps, world.media, { tenant: world.tenant, userId: ann, call, replaces })
  }
  return { world, ann, callId, join }
}

test('a member whose two calls of two nodes are joined, both nodes at a time, is free', async () => {
  const { world, ann, callId, join } = await joining()
  // The node of the first call is done with it.
  beforeReply(
    world,
    name => name === 'leg.replace',
    async trx => {
      const first = (await ringsOf(trx, world.tenant, callId)).find(({ user_id }) => user_id === ann)!
      await leave(trx, world.tenant, first, world.clock.now().toISOString())
    },
  )
  await join()
  await world.settle()
  assert.is(await world.status(ann), 'available')
  await world.close()
})

test('a member whose two calls of two nodes are joined is in the first one only, also if control dies right behind its command', async () => {
  const { world, ann, join } = await joining()
  const rings = () =>
    forTenant(world.store.db, world.tenant).select('rings').select('call_id').where('user_id', '=', ann)
  assert.is((await rings().execute()).length, 2)
  world.killAfter(1)
  await join().catch(error => assert.ok(error instanceof Killed))
  await world.settle()
  assert.is((await rings().execute()).length, 1)
  const transferred = (await world.events('call.transferred')).length
  assert.is(transferred, 1)
  await world.close()
})

test.run()
