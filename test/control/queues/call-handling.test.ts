import * as assert from 'uvu/assert'
import { setLeg } from '../../../control/calls/legs.ts'
import type { LegStep } from '../../../control/calls/steps/table.ts'
import type { Problem } from '../../../control/http/errors.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import {
  endConsultation,
  type Handling,
  hold,
  supervise,
  transferAttended,
  transferBlind,
} from '../../../control/queues/call-handling.ts'
import { DEFAULT_SETTINGS } from '../../../control/queues/settings/queue.ts'
import { saveSettings } from '../../../control/queues/settings/store.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/call-handling')

interface Talk {
  world: QueueWorld
  queue: string
  ann: string
  bob: string
  /** Of the caller. */
  legId: string
  callId: string
  act<T>(what: (handling: Handling) => Promise<T>): Promise<T>
}

/** Ann talks with a caller of her queue; Bob is a member whose phone works. */
async function talk(...how: Parameters<typeof makeQueueWorld>): Promise<Talk> {
  const world = await makeQueueWorld(...how)
  const ann = await world.addAgent('ann')
  const bob = await world.addAgent('bob')
  const queue = await world.addQueue({ member_user_ids: [ann], wrap_up_seconds: 10 })
  await world.setStatus(ann, 'available')
  await world.setStatus(bob, 'available')
  const legId = await world.call(queue)
  await world.settle()
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  const callId = world.media.legs.get(legId)!.roomId!
  const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  const act: Talk['act'] = async what => {
    const result = await world.centre().handle(by, what)
    await world.settle()
    return result
  }
  return { world, queue, ann, bob, legId, callId, act }
}
const reason = (problem: unknown): string => (problem as { details?: { reason: string } }).details?.reason ?? 'none'
const roomOf = (world: QueueWorld, userId: string): string | null | undefined => world.legOf(userId)?.roomId
const callTypes = async (world: QueueWorld): Promise<string[]> =>
  (await world.events()).map(event => event.type).filter(type => type.startsWith('call.'))

test('hold: the caller hears music and nobody; unhold: both talk again', async () => {
  const { world, legId, act } = await talk()
  assert.is(await act(handling => hold(handling, true)), null)
  assert.is(world.media.legs.get(legId)!.onHold, true)
  assert.is(reason(await act(handling => hold(handling, true))), 'already_held')
  assert.is(await act(handling => hold(handling, false)), null)
  assert.is(world.media.legs.get(legId)!.onHold, false)
  assert.equal((await callTypes(world)).slice(-2), ['call.held', 'call.resumed'])
  await world.close()
})

test("an agent's phone holds by its own description: once, also if control is killed meanwhile", async () => {
  for (const killed of [null, 0, 0.5, 1]) {
    const { world, ann, legId } = await talk()
    const phone = world.legOf(ann)!.legId
    for (const [name, onHold] of [
      ['leg.held', true],
      ['leg.resumed', false],
    ] as const) {
      if (killed !== null) world.killAfter(killed)
      world.media.emit(name, { legId: phone })
      await world.settle()
      assert.is(world.media.legs.get(legId)!.onHold, onHold, `${name}, killed after ${killed}`)
    }
    assert.equal((await callTypes(world)).slice(-2), ['call.held', 'call.resumed'])
    await world.close()
  }
})

test('a consultation that fails or is cancelled leaves the caller on hold while the phone holds it, and else takes it back, with its status', async () => {
  for (const isHolding of [true, false]) {
    for (const end of ['declined', 'cancelled', 'left'] as const) {
      const { world, ann, bob, legId, callId, act } = await talk()
      const phone = world.legOf(ann)!.legId
      world.media.emit('leg.held', { legId: phone })
      await world.settle()
      assert.is(await act(handling => transferAttended(handling, { type: 'user', id: bob })), null)
      // It talks with who is asked.
      if (!isHolding) world.media.emit('leg.resumed', { legId: phone })
      await world.settle()
      assert.is(world.media.legs.get(legId)!.onHold, true)
      const asked = world.ringing(bob)[0]!.legId
      if (end !== 'declined') world.media.pickUp(asked)
      await world.settle()
      if (end === 'cancelled') assert.is(await act(handling => endConsultation(handling, 'cancel')), null)
      else world.media.hangUp(asked, end === 'declined' ? 'rejected' : 'caller_hangup')
      await world.settle()
      const { status } = (await forTenant(world.store.db, world.tenant).find('calls', callId))!
      const found = [world.media.legs.get(legId)!.onHold, status]
      assert.equal(found, isHolding ? [true, 'held'] : [false, 'in_progress'], end)
      world.media.emit('leg.resumed', { legId: phone })
      await world.settle()
      assert.is(world.media.legs.get(legId)!.onHold, false)
      assert.equal(
        (await callTypes(world)).filter(type => type !== 'call.answered').slice(-2),
        ['call.held', 'call.resumed'],
        end,
      )
      await world.close()
    }
  }
})

test('an event names the request of the API that caused it, and none where a phone did', async () => {
  const { world, ann, bob, act } = await talk()
  const phone = world.legOf(ann)!.legId
  for (const name of ['leg.held', 'leg.resumed'] as const) {
    world.media.emit(name, { legId: phone })
    await world.settle()
  }
  await act(handling => transferAttended(handling, { type: 'user', id: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  await act(handling => endConsultation(handling, 'complete'))
  const told = await world.store.db.selectFrom('events').select(['type', 'request_id']).orderBy('id').execute()
  const types = ['call.held', 'call.resumed', 'call.transferred']
  assert.equal(
    told.filter(({ type }) => types.includes(type)).map(({ type, request_id }) => `${type} by ${request_id}`),
    [
      'call.held by null',
      'call.resumed by null',
      'call.held by req_1',
      'call.resumed by req_1',
      'call.transferred by req_1',
    ],
  )
  await world.close()
})

test('neither a supervisor nor who is asked holds a call by their phone; a caller who resumes stays on hold by the agent', async () => {
  const { world, bob, legId, act } = await talk()
  await act(handling => supervise(handling, { mode: 'barge', userId: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  world.media.emit('leg.held', { legId: world.legOf(bob)!.legId })
  await world.settle()
  assert.is(world.media.legs.get(legId)!.onHold, false)
  await act(handling => hold(handling, true))
  for (const name of ['leg.held', 'leg.resumed'] as const) world.media.emit(name, { legId })
  await world.settle()
  assert.is((await callTypes(world)).at(-1), 'call.held')
  assert.is(world.media.legs.get(legId)!.onHold, true)
  await world.close()
})

test('blind transfer to a member: the agent is free, the member rings and talks, the call stays the same', async () => {
  const { world, ann, bob, legId, callId, act } = await talk()
  assert.is(await act(handling => transferBlind(handling, { type: 'user', id: bob })), null)
  assert.is(world.legOf(ann), undefined)
  assert.is(await world.status(ann), 'wrap_up')
  assert.is(world.media.legs.get(legId)!.playId, 'calling')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.is(roomOf(world, bob), callId)
  assert.is(world.media.legs.get(legId)!.playId, null)
  assert.is((await callTypes(world)).at(-1), 'call.transferred')
  world.media.hangUp(legId)
  await world.settle()
  assert.is(await world.status(bob), 'available')
  await world.close()
})

test('a party whose phone is heard no more has not hung up: the call ends with that reason', async () => {
  for (const lost of ['rtp_timeout', 'session_expired'] as const) {
    const { world, bob, legId, act } = await talk()
    await act(handling => transferBlind(handling, { type: 'user', id: bob }))
    world.media.pickUp(world.ringing(bob)[0]!.legId)
    await world.settle()
    world.media.hangUp(world.legOf(bob)!.legId, lost)
    await world.settle()
    assert.is(world.media.legs.has(legId), false)
    assert.is((await world.events('call.ended'))[0]!.object.ended_reason, lost)
    await world.close()
  }
})

test('blind transfer to a queue, an assistant, a number', async () => {
  const { world, queue, legId, callId, act } = await talk()
  await act(handling => transferBlind(handling, { type: 'queue', id: queue }))
  assert.is(world.media.legs.get(legId)!.playId, 'hold')
  const refused = (await act(handling => hold(handling, true)))!
  assert.is(refused.message, 'No agent talks with the caller, who waits in a queue, with its hold audio.')
  await act(handling => transferBlind(handling, { type: 'assistant', id: 'asst_1' }))
  assert.equal(world.handed.at(-1)!.program, { type: 'assistant', id: 'asst_1' })
  assert.equal(await world.store.db.selectFrom('queue_calls').selectAll().execute(), [])
  await act(handling => transferBlind(handling, { type: 'number', to: 'sip:cid@93.184.216.34' }))
  const dialled = [...world.media.legs.values()].find(leg => leg.dialled === 'sip:cid@93.184.216.34')
  world.media.pickUp(dialled!.legId)
  await world.settle()
  assert.is(dialled!.roomId, callId)
  await world.close()
})

test('a call that is transferred to a number stays with the member who had it last: in lists, evaluations and reports', async () => {
  const { world, ann, callId, act } = await talk()
  const userOf = async (): Promise<string | null | undefined> =>
    (await forTenant(world.store.db, world.tenant).find('calls', callId))?.user_id
  const to = { type: 'number', to: 'sip:cid@93.184.216.34' } as const
  const pickUp = async (): Promise<void> => {
    world.media.pickUp([...world.media.legs.values()].find(leg => leg.dialled === to.to)!.legId)
    await world.settle()
  }
  assert.is(await act(handling => transferAttended(handling, to)), null)
  await pickUp()
  assert.is(await act(handling => endConsultation(handling, 'complete')), null)
  assert.is(await userOf(), ann)
  await world.close()
  const blind = await talk()
  assert.is(await blind.act(handling => transferBlind(handling, to)), null)
  const call = await forTenant(blind.world.store.db, blind.world.tenant).find('calls', blind.callId)
  assert.equal([call?.target, call?.user_id], ['number', blind.ann])
  await blind.world.close()
})

test('test mode reaches nobody outside, by a transfer neither: sandbox numbers only', async () => {
  const loopback = { host: '127.0.0.1', port: 5060 }
  for (const [to, isDialled] of [
    ['sip:cid@192.0.2.9', false],
    ['+14155550142', false],
    ['+15005550006', true],
  ] as const) {
    const { world, legId, act } = await talk({ loopback }, false)
    const before = new Set([...world.media.legs.keys(), legId])
    await act(handling => transferBlind(handling, { type: 'number', to }))
    const dialled = [...world.media.legs.values()].filter(leg => !before.has(leg.legId))
    assert.is(dialled.length, isDialled ? 1 : 0, to)
    await world.close()
  }
})

test('what follows the events of one call is done in their order, whichever of its legs or rooms they are of', async () => {
  const { world, bob, callId, legId, act } = await talk()
  assert.is(await act(handling => transferAttended(handling, { type: 'user', id: bob })), null)
  const rung = world.ringing(bob)[0]!.legId
  world.media.pickUp(rung)
  world.media.hangUp(rung)
  world.media.hangUp(legId)
  const keys: string[] = []
  world.store.followUps.performedBy(async ({ key }) => void keys.push(key))
  await world.driver().events(world.media.unacknowledged)
  await world.store.followUps.idle()
  const ofCalls = keys.filter(key => key !== 'queues')
  assert.ok(ofCalls.length > 2)
  assert.equal([...new Set(ofCalls)], [callId])
  await world.close()
})

test('a member who cannot be rung, or is on another call, is a conflict; the call goes on as it was', async () => {
  const { world, ann, bob, callId, act } = await talk()
  world.devices.set(bob, [])
  assert.is(reason(await act(handling => transferBlind(handling, { type: 'user', id: bob }))), 'agent_unreachable')
  assert.is(reason(await act(handling => transferBlind(handling, { type: 'user', id: ann }))), 'agent_busy')
  assert.is(roomOf(world, ann), callId)
  await world.close()
})

test('a number that must not be called, or cannot be in test mode, is refused: the call goes on as it was', async () => {
  const { world, ann, callId, act } = await talk()
  const listed = { id: 'dnc_1', phone: '+14155550142', reason: '', created: world.clock.now().toISOString() }
  await forTenant(world.store.db, world.tenant).insert('do_not_call', listed)
  const to = { type: 'number' as const, to: 'sip:+14155550142@192.0.2.9' }
  assert.is((await act(handling => transferBlind(handling, to)))?.problem, 'do_not_call')
  assert.is((await act(handling => transferAttended(handling, to)))?.problem, 'do_not_call')
  assert.is(roomOf(world, ann), callId)
  await world.close()
})

test('attended transfer: the caller is on hold while the agent asks; completed, the two talk', async () => {
  const { world, ann, bob, legId, callId, act } = await talk()
  assert.is(await act(handling => transferAttended(handling, { type: 'user', id: bob })), null)
  assert.is(world.media.legs.get(legId)!.onHold, true)
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.equal([roomOf(world, ann), roomOf(world, bob)], [callId, callId])
  assert.is(await act(handling => endConsultation(handling, 'complete')), null)
  assert.is(world.legOf(ann), undefined)
  assert.is(world.media.legs.get(legId)!.onHold, false)
  assert.equal([await world.status(ann), await world.status(bob)], ['wrap_up', 'busy'])
  world.media.hangUp(legId)
  await world.settle()
  assert.is(world.media.legs.size, 0)
  await world.close()
})

test('attended transfer: the agent who hangs up completes it; a cancelled or unanswered one gives the caller back', async () => {
  const { world, ann, bob, legId, act } = await talk()
  await act(handling => transferAttended(handling, { type: 'user', id: bob }))
  await act(handling => endConsultation(handling, 'cancel'))
  assert.is(world.ringing(bob).length, 0)
  assert.is(world.media.legs.get(legId)!.onHold, false)
  await act(handling => transferAttended(handling, { type: 'user', id: bob }))
  world.media.hangUp(world.ringing(bob)[0]!.legId, 'no_answer')
  await world.settle()
  assert.is(world.media.legs.get(legId)!.onHold, false)
  await act(handling => transferAttended(handling, { type: 'user', id: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  world.media.hangUp(world.legOf(ann)!.legId)
  await world.settle()
  assert.is(world.media.legs.get(legId)!.onHold, false)
  assert.is(await world.status(bob), 'busy')
  assert.is((await callTypes(world)).at(-1), 'call.transferred')
  await world.close()
})

test('who listens in is on a call: no other is offered to a supervisor before that one has ended', async () => {
  const { world, bob, queue, legId, act } = await talk()
  const queues = forTenant(world.store.db, world.tenant)
  const { settings } = (await queues.find('queues', queue))!
  const both = JSON.stringify({ ...JSON.parse(settings), member_user_ids: [bob] })
  await queues.update('queues').set({ settings: both }).execute()
  await act(handling => supervise(handling, { mode: 'monitor', userId: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const waiting = await world.call(queue)
  await world.settle()
  assert.is(world.ringing(bob).length, 0)
  world.media.hangUp(legId)
  await world.settle()
  assert.is(world.ringing(bob).length, 1)
  assert.is(world.media.legs.get(waiting)!.playId, 'hold')
  await world.close()
})

test('supervise: monitor is heard by nobody, whisper by the agent, barge by all; stop ends it, the call goes on', async () => {
  const { world, ann, bob, legId, act } = await talk()
  const listen = (mode: 'monitor' | 'whisper' | 'barge' | 'stop') =>
    act(async handling => {
      const ring = await supervise(handling, { mode, userId: bob })
      return ring
    })
  await listen('monitor')
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.equal(world.legOf(bob)!.heardBy, [])
  assert.is(await world.status(bob), 'available')
  for (const [mode, heardBy] of [
    ['whisper', [world.legOf(ann)!.legId]],
    ['barge', null],
  ] as const) {
    const ring = await listen(mode)
    await world.centre().changeSupervision(world.media, ring as never)
    assert.equal(world.legOf(bob)!.heardBy, heardBy)
  }
  await listen('stop')
  assert.is(world.legOf(bob), undefined)
  assert.ok(world.media.legs.has(legId))
  await world.close()
})

test('a mode that is changed while media cannot be reached is that of the supervisor once it can', async () => {
  const { world, bob, act } = await talk()
  await act(handling => supervise(handling, { mode: 'monitor', userId: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const ring = await act(handling => supervise(handling, { mode: 'barge', userId: bob }))
  world.killAfter(0)
  await world
    .centre()
    .changeSupervision(world.media, ring as never)
    .catch(() => {})
  assert.equal(world.legOf(bob)!.heardBy, [])
  await world.settle()
  assert.is(world.legOf(bob)!.heardBy, null)
  await world.close()
})

test('a whisper follows the call: the next agent hears it, a party outside never does, and no transfer ends it', async () => {
  const { world, ann, bob, act } = await talk()
  const carl = await world.addAgent('carl')
  await act(handling => supervise(handling, { mode: 'whisper', userId: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  const heardBy = () => world.legOf(bob)?.heardBy
  assert.equal(heardBy(), [world.legOf(ann)!.legId])
  assert.is(await act(handling => transferAttended(handling, { type: 'number', to: 'sip:cid@93.184.216.34' })), null)
  const outside = [...world.media.legs.values()].find(leg => leg.dialled.includes('93.184.216.34'))!
  world.media.pickUp(outside.legId)
  await world.settle()
  const again = await act(handling => supervise(handling, { mode: 'whisper', userId: bob }))
  await world.centre().changeSupervision(world.media, again as never)
  assert.equal(heardBy(), [world.legOf(ann)!.legId])
  assert.is(await act(handling => endConsultation(handling, 'cancel')), null)
  assert.is(await act(handling => transferAttended(handling, { type: 'user', id: carl })), null)
  world.media.pickUp(world.ringing(carl)[0]!.legId)
  await world.settle()
  assert.equal(heardBy(), [world.legOf(ann)!.legId, world.legOf(carl)!.legId])
  assert.is(await act(handling => endConsultation(handling, 'complete')), null)
  assert.is(await act(handling => transferBlind(handling, { type: 'user', id: ann })), null)
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.equal(heardBy(), [world.legOf(ann)!.legId])
  await world.close()
})

/** The request of the last event of this type. */
const askedBy = async (world: QueueWorld, type: string): Promise<string | null | undefined> =>
  (await world.events(type)).at(-1)?.requestId

test('what a request does to agents and queues has the request: a transfer, a hang-up of who talks and of who waits', async () => {
  const { world, queue, ann, bob, act } = await talk()
  assert.is(await act(handling => transferBlind(handling, { type: 'user', id: bob })), null)
  assert.is(await askedBy(world, 'agent.status.changed'), 'req_1')
  await world.setStatus(ann, 'away')
  const waiting = await world.call(queue)
  await world.settle()
  await forTenant(world.store.db, world.tenant).change('participants', waiting, {
    ended_by: JSON.stringify({ requestId: 'req_2', idempotencyKey: null }),
  })
  world.media.hangUp(waiting, 'api_hangup')
  await world.settle()
  assert.is(await askedBy(world, 'queue.call.left'), 'req_2')
  const another = await world.call(queue)
  await world.settle()
  world.media.hangUp(another)
  await world.settle()
  assert.is(await askedBy(world, 'queue.call.left'), null)
  await world.close()
})

test('a call in a room is led there: hold, transfer and supervision say where; others say what the call does', async () => {
  const { world, ann, bob, callId } = await talk()
  const own = forTenant(world.store.db, world.tenant)
  const by = { tenant: world.tenant, callId, request: { requestId: 'req_1', idempotencyKey: null } }
  const refusals = async (
    step: LegStep,
    changes: object = { answered_at: world.clock.now().toISOString() },
  ): Promise<string[][]> => {
    await own
      .update('participants')
      .set({ step } as never)
      .where('call_id', '=', callId)
      .where('ring_id', 'is', null)
      .execute()
    await own.update('calls').set(changes).where('id', '=', callId).execute()
    const operations: ((handling: Handling) => Promise<unknown>)[] = [
      handling => hold(handling, true),
      handling => transferBlind(handling, { type: 'user', id: bob }),
      handling => transferAttended(handling, { type: 'user', id: bob }),
      handling => endConsultation(handling, 'cancel'),
      handling => supervise(handling, { mode: 'monitor', userId: bob }),
    ]
    const problems: string[][] = []
    for (const run of operations) {
      const refused = await world.centre().handle(by, run)
      problems.push([reason(refused), (refused as Problem).message])
    }
    return problems
  }
  const ofRoom = { room_id: 'room_1', target: 'room' as const }
  for (const step of ['pin', 'joining', 'waiting', 'seated'] as const) {
    for (const [why, words = ''] of await refusals(step, ofRoom)) {
      assert.is(why, 'in_room', step)
      assert.match(words, '/v1/conference_rooms/room_1/participants')
    }
  }
  assert.is(world.ringing(bob).length, 0)
  const [held, ...others] = await refusals('leaving')
  assert.equal(held, ['not_running', 'Not now: the party of the call hears why it must go, and goodbye.'])
  assert.equal(others.slice(0, 3), [held, held, held])
  const ended = ['not_running', 'The call has ended.']
  assert.equal(await refusals('leaving', { ended_at: world.clock.now().toISOString() }), Array(5).fill(ended))
  const unanswered = ['not_running', 'The call is not answered yet.']
  assert.equal(await refusals('dialing', { ended_at: null, answered_at: null }), Array(5).fill(unanswered))
  const ofSession = await refusals('leaving', { kind: 'conference' })
  assert.ok(ofSession.every(([why]) => why === 'in_room'))
  assert.ok(world.legOf(ann))
  await world.close()
})

test('a call that is led into a room is supervised no more: its supervisor is not left alone', async () => {
  const { world, bob, callId, legId, act } = await talk()
  await act(handling => supervise(handling, { mode: 'monitor', userId: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.ok(world.legOf(bob))
  const led = { callId, legId, at: world.clock.now().toISOString() }
  await world.store.transaction(trx => world.centre().leadTo(trx, world.tenant, led, { type: 'room', id: 'room_1' }))
  await world.settle()
  assert.is(world.legOf(bob), undefined)
  await world.close()
})

/** As `PATCH /users/{id}` does; the call centre runs after it. */
async function deactivate({ store, tenant, settle }: QueueWorld, userId: string): Promise<void> {
  await forTenant(store.db, tenant).update('users').set({ status: 'deactivated' }).where('id', '=', userId).execute()
  await settle()
}

const closedSoftphones = ({ media }: QueueWorld): unknown[] =>
  media.handled.filter(({ name }) => name === 'browser.close').map(({ body }) => body)

test('a deactivated agent finishes the call that is under way; then the softphone is closed', async () => {
  const { world, ann, legId } = await talk()
  const softphone = { user_id: ann, node: nodeOf(world.store.db), connected_at: '2026-11-21T09:00:00.000Z' }
  await forTenant(world.store.db, world.tenant).insert('browser_sessions', { id: 'brw_ann', ...softphone })
  await deactivate(world, ann)
  assert.is(roomOf(world, ann), world.media.legs.get(legId)!.roomId)
  assert.equal(closedSoftphones(world), [])
  world.media.hangUp(legId)
  await world.settle()
  assert.equal(closedSoftphones(world)[0], { browserId: 'brw_ann', code: 1008, reason: 'no longer active' })
  await world.close()
})

test('who calls a deactivated member is turned away, and leaves no message that nobody hears', async () => {
  const world = await makeQueueWorld()
  const ann = await world.addAgent('ann')
  await deactivate(world, ann)
  world.devices.delete(ann)
  const direct = await world.callUser(ann)
  await world.settle()
  assert.equal([world.handed, world.media.legs.has(direct)], [[], false])
  assert.equal(
    (await world.events('call.ended')).map(({ object }) => object.ended_reason),
    ['not_found'],
  )
  const overflow = { ...DEFAULT_SETTINGS.overflow, action: 'agent', user_id: ann }
  const queue = await world.addQueue({ enabled: false, overflow })
  await world.call(queue)
  await world.settle()
  const left = world.handed.map(({ program }) => program)
  assert.equal(left, [{ type: 'voicemail', queueId: queue, userId: null }])
  await world.close()
})

/** Ann's phone rings for a caller of her queue; Bob answers that too. */
async function ringingAtAnn() {
  const world = await makeQueueWorld()
  const [ann, bob] = [await world.addAgent('ann'), await world.addAgent('bob')]
  const queue = await world.addQueue({ member_user_ids: [ann, bob] })
  for (const id of [ann, bob]) {
    await world.setStatus(id, 'available')
    world.clock.advance(1000)
  }
  const legId = await world.call(queue)
  await world.settle()
  assert.equal([world.ringing(ann).length, world.ringing(bob).length], [1, 0])
  return { world, ann, bob, queue, legId }
}

test('what rings at an agent who is deactivated rings at the next one', async () => {
  const { world, ann, bob } = await ringingAtAnn()
  await deactivate(world, ann)
  assert.equal([world.ringing(ann).length, world.ringing(bob).length], [0, 1])
  await world.close()
})

test('what rings at a deactivated member on another node is for that node to end', async () => {
  const { world, ann } = await ringingAtAnn()
  const rings = () => world.store.db.selectFrom('rings').select('user_id').execute()
  await world.store.db.updateTable('rings').set({ node_id: 'other' }).execute()
  await deactivate(world, ann)
  assert.equal(await rings(), [{ user_id: ann }])
  await world.close()
})

test('a phone stops ringing once its member is away, or answers the queue no more: the next one rings at once', async () => {
  for (const how of ['away', 'offline', 'removed'] as const) {
    const { world, ann, bob, queue, legId } = await ringingAtAnn()
    if (how === 'removed') {
      const settings = JSON.stringify({ ...DEFAULT_SETTINGS, max_wait_seconds: 0, member_user_ids: [bob] })
      await world.store.transaction(trx => saveSettings(trx, world.tenant, queue, { settings }))
    } else await world.setStatus(ann, how)
    await world.settle()
    assert.equal([world.ringing(ann).length, world.ringing(bob).length], [0, 1], how)
    assert.is(await world.status(ann), how === 'removed' ? 'available' : how)
    world.media.pickUp(world.ringing(bob)[0]!.legId)
    await world.settle()
    assert.is(roomOf(world, bob), world.media.legs.get(legId)!.roomId, how)
    await world.close()
  }
})

test('a phone rings on for who calls its member directly, away or not, and for the queue that it still answers', async () => {
  const { world, ann, bob, queue } = await ringingAtAnn()
  await world.callUser(bob)
  await world.settle()
  await world.setStatus(bob, 'away')
  const settings = JSON.stringify({ ...DEFAULT_SETTINGS, max_wait_seconds: 0, member_user_ids: [ann] })
  await world.store.transaction(trx => saveSettings(trx, world.tenant, queue, { settings }))
  await world.settle()
  assert.equal([world.ringing(ann).length, world.ringing(bob).length], [1, 1])
  await world.close()
})

test('a supervisor who is deactivated listens no longer; the call goes on', async () => {
  const { world, bob, legId, act } = await talk()
  await act(handling => supervise(handling, { mode: 'monitor', userId: bob }))
  world.media.pickUp(world.ringing(bob)[0]!.legId)
  await world.settle()
  assert.ok(world.legOf(bob))
  await deactivate(world, bob)
  assert.is(world.legOf(bob), undefined)
  assert.ok(world.media.legs.has(legId))
  await world.close()
})

/** Has `before` done before media gets to see this command for this leg. */
function intercept({ media }: QueueWorld, name: string, legId: string, before: () => Promise<unknown>): void {
  const request = media.request.bind(media)
  media.request = async (command, body) => {
    if (command === name && (body as { legId?: string }).legId === legId) await before()
    return request(command, body)
  }
}

test('a call whose commands hang holds up no other call', async () => {
  const world = await makeQueueWorld()
  const [ann, bob] = [await world.addAgent('ann'), await world.addAgent('bob')]
  for (const id of [ann, bob]) await world.setStatus(id, 'away')
  const hanging = await world.call(await world.addQueue({ member_user_ids: [ann] }))
  await world.call(await world.addQueue({ member_user_ids: [bob] }))
  await world.settle()
  let release = (): void => {}
  const hung = new Promise<void>(resolve => {
    release = resolve
  })
  intercept(world, 'leg.play', hanging, () => hung)
  const leg = forTenant(world.store.db, world.tenant)
    .select('participants')
    .select('prompted')
    .where('id', '=', hanging)
  await world.store.transaction(trx => setLeg(trx, world.tenant, hanging, {}))
  await world.setStatus(bob, 'available')
  await until(() => world.ringing(bob).length === 1)
  assert.equal(await leg.executeTakeFirst(), { prompted: 0 })
  release()
  await world.settle()
  assert.equal(await leg.executeTakeFirst(), { prompted: 1 })
  await world.close()
})

test('who is taken off hold while that is being sent is off hold', async () => {
  const { world, legId, act } = await talk()
  let isTaken = false
  intercept(world, 'leg.hold', legId, async () => {
    if (!isTaken) await world.store.transaction(trx => setLeg(trx, world.tenant, legId, { on_hold: 0 }))
    isTaken = true
  })
  await act(handling => hold(handling, true))
  await world.settle()
  assert.is(world.media.legs.get(legId)?.onHold, false)
  await world.close()
})

test.run()
