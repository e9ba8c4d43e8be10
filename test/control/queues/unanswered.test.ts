import * as assert from 'uvu/assert'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { insertConnection } from '../../../control/trunks/networks.ts'
import type { AnswerMode, InboundRouteRow } from '../../../control/trunks/tables.ts'
import { suite } from '../../harness.ts'
import { makeQueueWorld, type QueueWorld } from './queue-world.ts'

const test = suite('control/queues/unanswered')

const TIMES = { created: '2026-11-21T09:00:00.000Z', updated: '2026-11-21T09:00:00.000Z' }
const CALLER = 'part_caller'

/** A world whose number 100 leads to this target, answered so. */
async function routed(
  target: InboundRouteRow['target'],
  targetId: string | null,
  answer: AnswerMode | null,
  world: QueueWorld,
): Promise<void> {
  const { db } = world.store
  await world.store.transaction(trx =>
    insertConnection(trx, world.tenant, {
      id: newId('connection'),
      name: 'carrier',
      kind: 'peer',
      host: null,
      port: 5060,
      transport: 'udp',
      auth_username: null,
      auth_password: null,
      allowed_ips: '["127.0.0.1/32"]',
      codecs: '["PCMU"]',
      max_calls: null,
      enabled: 1,
      ...TIMES,
    }),
  )
  await forTenant(db, world.tenant).insert('inbound_routes', {
    id: newId('inbound_route'),
    match_to: '100',
    match_from: null,
    match_connection_id: null,
    target,
    target_id: targetId,
    hours: null,
    priority: 0,
    answer,
    ...TIMES,
  })
}

/** Somebody calls Ann, who is there, directly or through a queue. */
async function calling(
  target: 'user' | 'queue',
  answer: AnswerMode | null,
  settings: object = {},
): Promise<{ world: QueueWorld; ann: string }> {
  const world = await makeQueueWorld()
  const ann = await world.addAgent('ann')
  await world.setStatus(ann, 'available')
  const queue = target === 'queue' ? await world.addQueue({ member_user_ids: [ann], ...settings }) : null
  await routed(target, queue ?? ann, answer, world)
  world.media.dialIn(CALLER, '100')
  await world.settle()
  return { world, ann }
}

const sent = ({ media }: QueueWorld, legId = CALLER): string[] =>
  media.handled.filter(({ body }) => (body as { legId?: string }).legId === legId).map(({ name }) => name)

const bodyOf = ({ media }: QueueWorld, name: string) =>
  media.handled.findLast(one => one.name === name)?.body as Record<string, unknown> | undefined

const callOf = async (world: QueueWorld) =>
  (await forTenant(world.store.db, world.tenant).select('calls').selectAll().execute())[0]!

test('a call for a user rings until the user answers: it is answered then, and not a moment before', async () => {
  const { world, ann } = await calling('user', null)
  assert.equal(sent(world), ['leg.ring'])
  assert.is(bodyOf(world, 'leg.ring')!.early, undefined)
  const ringing = await callOf(world)
  assert.equal([ringing.status, ringing.answered_at, ringing.user_id], ['ringing', null, ann])
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.equal(sent(world), ['leg.ring', 'leg.answer', 'leg.stop_play'])
  const room = world.media.legs.get(CALLER)!.roomId
  assert.ok(room !== null)
  assert.is(world.legOf(ann)!.roomId, room)
  assert.is((await callOf(world)).status, 'in_progress')
  const told = (await world.events()).map(({ type }) => type).filter(type => type.startsWith('call.'))
  assert.equal(told, ['call.created', 'call.answered'])
  await world.close()
})

test('a caller who gives up while it rings was never answered: cancelled, no duration, and nobody rings on', async () => {
  const { world, ann } = await calling('user', 'when_answered')
  world.clock.advance(7000)
  world.media.hangUp(CALLER)
  await world.settle()
  assert.equal(world.ringing(ann), [])
  const call = await callOf(world)
  assert.equal([call.status, call.answered_at, call.duration_ms], ['cancelled', null, 0])
  assert.is((await forTenant(world.store.db, world.tenant).find('agent_statuses', ann))!.status, 'available')
  await world.close()
})

test('phones that rang for a caller who was answered elsewhere are told so, and show no missed call', async () => {
  for (const [sip, reason] of [
    [200, 'answered_elsewhere'],
    [null, 'caller_hangup'],
  ] as const) {
    const { world } = await calling('user', 'when_answered')
    world.media.hangUp(CALLER, 'caller_hangup', null, { q850: 16, sip, text: null, by: 'far_end' })
    await world.settle()
    assert.is(bodyOf(world, 'leg.hangup')!.reason, reason)
    await world.close()
  }
})

test('nothing is recorded of a call that rings, though it is to be recorded', async () => {
  const { world } = await calling('queue', 'early_media', { capture: { record: true } })
  const early = bodyOf(world, 'leg.ring')!.early as { room: object }
  assert.is('capture' in early.room, false)
  assert.equal(await forTenant(world.store.db, world.tenant).select('recordings').selectAll().execute(), [])
  await world.close()
})

test('with early media the caller hears ringing by us, and its answer comes with the user', async () => {
  const { world, ann } = await calling('user', 'early_media')
  assert.equal(sent(world), ['leg.ring', 'leg.play'])
  assert.ok(bodyOf(world, 'leg.ring')!.early !== undefined)
  world.media.pickUp(world.ringing(ann)[0]!.legId)
  await world.settle()
  assert.equal(sent(world), ['leg.ring', 'leg.play', 'leg.answer', 'leg.stop_play'])
  await world.close()
})

test("a queue's caller hears its hold audio before the answer with early media, and nothing of ours without", async () => {
  const early = await calling('queue', 'early_media')
  assert.is(early.world.media.legs.get(CALLER)!.playId, 'hold')
  assert.equal(sent(early.world).includes('leg.answer'), false)
  early.world.media.pickUp(early.world.ringing(early.ann)[0]!.legId)
  await early.world.settle()
  assert.equal(sent(early.world).slice(-2), ['leg.answer', 'leg.stop_play'])
  const left = await early.world.events('queue.call.left')
  assert.is(left[0]!.object.outcome, 'answered')
  await early.world.close()
  const rung = await calling('queue', 'when_answered')
  assert.equal(sent(rung.world), ['leg.ring'])
  await rung.world.close()
})

test('a queue answers at once where its route says nothing', async () => {
  const { world } = await calling('queue', null)
  assert.is(sent(world)[0], 'leg.answer')
  await world.close()
})

test('who waits for two and a half minutes is answered then, before carriers give the call up, and waits on', async () => {
  const { world, ann } = await calling('queue', 'early_media', { member_user_ids: [] })
  assert.equal(world.ringing(ann), [])
  await world.later(149_000)
  assert.equal(sent(world).includes('leg.answer'), false)
  await world.later(2000)
  assert.equal(sent(world).filter(name => name === 'leg.answer').length, 1)
  const call = await callOf(world)
  assert.equal([call.status, world.media.legs.get(CALLER)!.playId], ['in_progress', 'hold'])
  await world.later(60_000)
  assert.equal(sent(world).filter(name => name === 'leg.answer').length, 1)
  await world.close()
})

test('a user who does not answer has the caller answered by voicemail, and only then', async () => {
  const { world, ann } = await calling('user', 'when_answered')
  world.media.hangUp(world.ringing(ann)[0]!.legId, 'no_answer')
  await world.settle()
  assert.equal(sent(world), ['leg.ring', 'leg.answer'])
  assert.equal(
    world.handed.map(({ legId, program }) => [legId, program.type]),
    [[CALLER, 'voicemail']],
  )
  assert.ok((await callOf(world)).answered_at !== null)
  await world.close()
})

test('who reaches nobody is refused, not answered to hear that it is busy', async () => {
  const world = await makeQueueWorld({ handOver: async () => false })
  const ann = await world.addAgent('ann')
  const queue = await world.addQueue({
    member_user_ids: [ann],
    overflow: { action: 'busy', when_no_agents: false },
    max_wait_seconds: 5,
  })
  await routed('queue', queue, 'when_answered', world)
  world.media.dialIn(CALLER, '100')
  await world.settle()
  await world.later(6000)
  assert.equal(sent(world), ['leg.ring', 'leg.hangup'])
  assert.is(bodyOf(world, 'leg.hangup')!.reason, 'busy')
  const call = await callOf(world)
  assert.equal([call.status, call.answered_at], ['busy', null])
  await world.close()
})

test('who is sent on to a number is told that our trunk has failed, not that nobody has answered there', async () => {
  for (const [far, told] of [
    ['trunk_error', 'trunk_error'],
    ['codec_mismatch', 'trunk_error'],
    ['capacity', 'trunk_error'],
    ['no_answer', 'no_answer'],
    ['not_found', 'not_found'],
  ] as const) {
    const world = await makeQueueWorld()
    const overflow = { action: 'number', number: '+14155550142', when_no_agents: true }
    await routed('queue', await world.addQueue({ member_user_ids: [], overflow }), 'when_answered', world)
    const trunk = { kind: 'trunk', host: '192.0.2.9' } as const
    await forTenant(world.store.db, world.tenant).update('connections').set(trunk).execute()
    world.media.dialIn(CALLER, '100')
    await world.later(2000)
    const called = [...world.media.legs.values()].find(({ state }) => state === 'dialing')!
    world.media.hangUp(called.legId, far)
    await world.settle()
    assert.is(bodyOf(world, 'leg.hangup')!.reason, told, far)
    await world.close()
  }
})

test('an announcement may be heard without an answer; the call ends with it as one that was not answered', async () => {
  const world = await makeQueueWorld()
  await routed('announcement', null, 'early_media', world)
  world.media.dialIn(CALLER, '100')
  await world.settle()
  assert.equal(sent(world), ['leg.ring', 'leg.play'])
  assert.is(bodyOf(world, 'leg.play')!.hangupAfter, 'announcement_ended')
  world.media.hangUp(CALLER, 'announcement_ended')
  await world.settle()
  const call = await callOf(world)
  assert.equal([call.status, call.answered_at], ['no_answer', null])
  await world.close()
})

test("a far end's own ringing is heard by the caller in place of ours, and by one that only rang too", async () => {
  for (const answer of ['at_once', 'early_media', 'when_answered'] as const) {
    const { world, ann } = await calling('user', answer)
    const { legId } = world.ringing(ann)[0]!
    world.media.emit('leg.early_media', { legId, isHeard: true })
    await world.settle()
    const room = world.media.legs.get(CALLER)!.roomId
    assert.ok(room !== null, answer)
    assert.is(world.media.legs.get(legId)!.roomId, room, answer)
    assert.is(sent(world).at(-1), 'leg.stop_play', answer)
    assert.is(sent(world).includes('leg.answer'), answer === 'at_once', answer)
    world.media.emit('leg.early_media', { legId, isHeard: false })
    await world.settle()
    assert.is(sent(world).at(-1), 'leg.play', `${answer}: our ringing tone again`)
    world.media.pickUp(legId)
    await world.settle()
    assert.is((await callOf(world)).status, 'in_progress', answer)
    assert.is(world.legOf(ann)!.roomId, room, answer)
    await world.close()
  }
})

test('control that is killed at any command of a ringing call goes on with it', async () => {
  for (let commands = 1; commands <= 9; commands++) {
    const world = await makeQueueWorld()
    const ann = await world.addAgent('ann')
    await world.setStatus(ann, 'available')
    await routed('user', ann, 'early_media', world)
    world.killAfter(commands / 2)
    world.media.dialIn(CALLER, '100')
    await world.settle()
    const [ring] = world.ringing(ann)
    if (ring !== undefined) world.media.pickUp(ring.legId)
    await world.settle()
    const room = world.media.legs.get(CALLER)?.roomId ?? null
    assert.ok(room !== null, `after ${commands / 2}`)
    assert.is(world.legOf(ann)?.roomId, room, `after ${commands / 2}`)
    assert.is((await callOf(world)).status, 'in_progress', `after ${commands / 2}`)
    await world.close()
  }
})

test.run()
