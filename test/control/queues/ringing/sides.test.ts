import * as assert from 'uvu/assert'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { placeMembersCall } from '../../../../control/queues/agents/placed-calls.ts'
import { type Handling, hold, transferBlind } from '../../../../control/queues/call-handling.ts'
import type { Side } from '../../../../control/queues/ringing/sides.ts'
import type { Target } from '../../../../control/queues/targets.ts'
import type { ModelLeg } from '../../../fakes/media-model.ts'
import { suite } from '../../../harness.ts'
import { VAULT } from '../../whole-app.ts'
import { makeQueueWorld } from '../queue-world.ts'

const test = suite('control/queues/ringing/sides')

/** Ann has called her colleague Bob by his extension; Cid is another one. */
async function inside() {
  const world = await makeQueueWorld()
  const { store, clock, tenant, media } = world
  const [ann, bob, cid] = [await world.addAgent('ann'), await world.addAgent('bob'), await world.addAgent('cid')]
  const users = forTenant(store.db, tenant)
  await users.update('users').set({ extension: '310' }).where('id', '=', bob).execute()
  for (const id of [ann, bob, cid]) await world.setStatus(id, 'available')
  const user = (await users.find('users', ann))!
  const deps = { store, now: clock.now, sipHost: 'tandem.test', vault: VAULT, centre: world.centre() }
  const device = { kind: 'browser' as const, browserId: 'page' }
  const refused = await placeMembersCall(deps, { tenant, user, device, dialled: '310' })
  assert.is(refused, null)
  await world.settle()
  const own = [...media.legs.values()].find(leg => leg.dialled === 'page')!
  media.pickUp(own.legId)
  await world.settle()
  media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const callId = own.roomId!
  const by = { tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  const act = async <T>(what: (handling: Handling) => Promise<T>): Promise<T> => {
    const result = await world.centre().handle(by, what)
    await world.settle()
    return result
  }
  return {
    world,
    ...{ ann, bob, cid, callId },
    /** Of Ann's page. */
    own: () => media.legs.get(own.legId) as ModelLeg | undefined,
    holds: (isHeld: boolean, side: Side) => act(handling => hold(handling, isHeld, side)),
    transfers: (target: Target, side: Side) => act(handling => transferBlind(handling, target, side)),
    call: () => users.find('calls', callId),
  }
}

test('a member who called a colleague puts the colleague on hold, and takes him back; each may hold the other', async () => {
  const { world, bob, own, holds, call } = await inside()
  assert.is(await holds(true, 'caller'), null)
  assert.equal([world.legOf(bob)!.onHold, own()!.onHold], [true, false])
  assert.is((await call())!.status, 'held')
  assert.is(await holds(true, 'answerer'), null)
  assert.is(await holds(false, 'caller'), null)
  assert.equal([world.legOf(bob)!.onHold, own()!.onHold, (await call())!.status], [false, true, 'held'])
  assert.is(await holds(false, 'answerer'), null)
  assert.equal([world.legOf(bob)!.onHold, own()!.onHold, (await call())!.status], [false, false, 'in_progress'])
  await world.close()
})

test('a member who called a colleague transfers him: the member is free, the colleague talks with who answers, in the same call', async () => {
  const { world, ann, bob, cid, callId, own, transfers } = await inside()
  const atBob = world.legOf(bob)!.legId
  assert.is(await transfers({ type: 'user', id: cid }, 'caller'), null)
  assert.is(own(), undefined)
  assert.equal([await world.status(ann), await world.status(bob)], ['available', 'busy'])
  assert.is(world.media.legs.get(atBob)!.playId, 'calling')
  world.media.pickUp(world.ringing(cid)[0]!.legId)
  await world.settle()
  assert.equal([world.media.legs.get(atBob)!.roomId, world.legOf(cid)!.roomId], [callId, callId])
  assert.is(world.media.legs.get(atBob)!.playId, null)
  world.media.hangUp(world.legOf(cid)!.legId)
  await world.settle()
  assert.is(world.media.legs.size, 0)
  assert.equal([await world.status(bob), await world.status(cid)], ['available', 'available'])
  assert.is(await world.store.db.selectFrom('rings').selectAll().executeTakeFirst(), undefined)
  await world.close()
})

test('a transfer that cannot be leaves both where they are; before anybody has answered there is nobody to hold', async () => {
  const { world, bob, cid, own, holds, transfers } = await inside()
  world.devices.set(cid, [])
  const refused = await transfers({ type: 'user', id: cid }, 'caller')
  assert.is(refused?.details?.reason, 'agent_unreachable')
  assert.ok(own() !== undefined && world.legOf(bob) !== undefined)
  world.devices.set(cid, [{ kind: 'browser', browserId: `b-${cid}` }])
  await transfers({ type: 'user', id: cid }, 'answerer')
  assert.is((await holds(true, 'caller'))?.details?.reason, 'not_connected')
  await world.close()
})

test.run()
