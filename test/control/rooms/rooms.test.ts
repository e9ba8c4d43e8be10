import * as assert from 'uvu/assert'
import { QUALITY } from '../../fakes/media-model.ts'
import { suite } from '../../harness.ts'
import { makeCallsWorld } from '../calls-world.ts'

const test = suite('control/calls: rooms in session')

test('a locked session lets only moderators and those in who are dialled from within; unlocked, everybody again', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const lock = (locked: boolean) => control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { locked })
  assert.is((await lock(true)).body.error.details.reason, 'not_running')
  await media.dialInUntil('leg.move', 'part_1', '1001')
  assert.is((await lock(true)).body.live.locked, true)
  media.dialIn('part_2', '1001')
  const play = await media.command('leg.play', 'part_2')
  assert.equal(play.sources[0], { kind: 'prompt', name: 'room-locked' })
  const invited = await control.ask(`POST /v1/conference_rooms/${openRoom}/participants`, { to: 'sip:bob@127.0.0.1' })
  media.pickUp(invited.body.id)
  await media.command('leg.move', invited.body.id)
  assert.is((await lock(false)).body.live.locked, false)
  media.dialIn('part_3', '1001')
  await media.command('leg.move', 'part_3')
  await world.close()
})

test('nobody is rung for a room whose session another node has, where they would be alone: 409 other_node that names it', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom, store } = world
  media.dialIn('part_1', '1001')
  await media.command('leg.move', 'part_1')
  const callId = (await media.dialInUntil('leg.answer', 'part_2', '1002')).room.roomId
  await store.db.updateTable('calls').set({ node_id: 'far' }).where('kind', '=', 'conference').execute()
  for (const [line, body] of [
    ['POST /v1/calls', { to: 'sip:bob@192.0.2.1', room_id: openRoom }],
    [`POST /v1/calls/${callId}/transfer`, { room_id: openRoom }],
    [`POST /v1/conference_rooms/${openRoom}/participants`, { to: 'sip:bob@192.0.2.1' }],
  ] as const) {
    const { status, body: answer } = await control.ask(line, body)
    assert.equal([status, answer.error?.details], [409, { reason: 'other_node', node: 'far' }], line)
  }
  assert.equal(media.sent('leg.dial'), [])
  await world.close()
})

test('nobody is rung for a room that is locked, or outside its join window', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  media.dialIn('part_1', '1001')
  await media.command('leg.move', 'part_1')
  await media.dialInUntil('leg.play', 'part_2', '1002')
  const callId = media.sent('leg.answer')[1]!.room.roomId
  const reasonOf = async (line: string, body: object): Promise<unknown> => {
    const { status, body: answer } = await control.ask(line, body)
    return [status, answer.error?.details?.reason]
  }
  const calls = ['POST /v1/calls', { to: 'sip:bob@192.0.2.1', room_id: openRoom }] as const
  const invites = [`POST /v1/conference_rooms/${openRoom}/participants`, { to: 'sip:bob@192.0.2.1' }] as const
  const transfers = [`POST /v1/calls/${callId}/transfer`, { room_id: openRoom }] as const
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { locked: true })
  assert.equal(await reasonOf(...calls), [409, 'room_locked'])
  assert.equal(await reasonOf(...transfers), [409, 'room_locked'])
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, {
    locked: false,
    schedule: { start_at: '2027-01-01T10:00:00.000Z', end_at: null, recurrence: 'none', timezone: 'UTC' },
  })
  for (const [line, body] of [calls, invites, transfers]) {
    assert.equal(await reasonOf(line, body), [409, 'room_closed'])
  }
  assert.equal(media.sent('leg.dial'), [])
  await world.close()
})

test('nobody is rung for a room that is full: 409 room_full; once somebody has left, they are', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { max_participants: 2 } })
  const lines = [
    ['POST /v1/calls', { to: 'sip:bob@192.0.2.1', room_id: openRoom }],
    [`POST /v1/conference_rooms/${openRoom}/participants`, { to: 'sip:bob@192.0.2.1' }],
  ] as const
  await media.dialInUntil('leg.move', 'part_1', '1001')
  // One who is only being dialled takes no place.
  assert.is((await control.ask(...lines[0])).status, 201)
  await media.dialInUntil('leg.move', 'part_2', '1001')
  for (const [line, body] of lines) {
    const { status, body: answer } = await control.ask(line, body)
    assert.equal(
      [status, answer.error?.code, answer.error?.details],
      [409, 'resource_conflict', { reason: 'room_full' }],
    )
  }
  assert.is(media.sent('leg.dial').length, 1)
  media.hangUp('part_2')
  await media.committed()
  for (const [line, body] of lines) assert.is((await control.ask(line, body)).status, 201)
  await world.close()
})

test("max_participants of a running session is the room's of now: raised, one more comes in; lowered, nobody more does", async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const limitTo = (max_participants: number) =>
    control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { max_participants } })
  const seated = async (): Promise<number> =>
    (await control.ask(`GET /v1/conference_rooms/${openRoom}`)).body.live.participants
  await limitTo(2)
  await media.dialInUntil('leg.move', 'part_1', '1001')
  await media.dialInUntil('leg.move', 'part_2', '1001')
  await limitTo(3)
  await media.dialInUntil('leg.move', 'part_3', '1001')
  await media.committed()
  assert.is(await seated(), 3)
  await limitTo(2)
  await media.dialInUntil('leg.play', 'part_4', '1001')
  assert.equal(media.sent('leg.play').at(-1)?.sources[0], { kind: 'prompt', name: 'room-full' })
  assert.is(await seated(), 3)
  await world.close()
})

test('who was called into a room that was locked meanwhile is not let in', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await media.dialInUntil('leg.move', 'part_1', '1001')
  await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', room_id: openRoom })
  const { legId } = await media.command('leg.dial')
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { locked: true })
  media.pickUp(legId)
  assert.equal((await media.command('leg.play', legId)).sources[0], { kind: 'prompt', name: 'room-locked' })
  await world.close()
})

test('a leg whose commands are slow keeps nobody else out of another room', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  media.overrides.set('leg.collect', () => 'silence')
  media.dialIn('part_1', '1000')
  await media.command('leg.collect', 'part_1')
  media.dialIn('part_2', '1001')
  await media.command('leg.move', 'part_2')
  assert.is(world.control.client.counters.deadlines, 0, 'the first still waits')
  await world.close()
})

test('a call and a session last as long as media has measured, whatever the clock on the wall is set to meanwhile', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  const own = media.sent('leg.answer')[0]!.room.roomId
  const anHourBefore = '2026-11-21T09:00:06.000Z'
  media.legs.delete('part_1')
  const { quality } = { quality: QUALITY }
  media.emit('room.closed', { roomId: room.roomId, durationMs: 5000 }, anHourBefore)
  const end = { legId: 'part_1', reason: 'caller_hangup' as const, sipCode: null, quality, durationMs: 6000 }
  media.emit('leg.ended', end, anHourBefore)
  await media.committed()
  const durationOf = async (id: string): Promise<number> => (await control.ask(`GET /v1/calls/${id}`)).body.duration_ms
  assert.equal([await durationOf(own), await durationOf(room.roomId)], [6000, 5000])
  await world.close()
})

test('a session is found by what it is to, as every other call: its room', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  for (const filter of ['to', 'number', 'room_id']) {
    const { body } = await control.ask(`GET /v1/calls?${filter}=${openRoom}&kind=conference`)
    const ids = body.data.map(({ id }: { id: string }) => id)
    assert.equal(ids, [room.roomId], filter)
  }
  await world.close()
})

test('how long a running session has lasted is told by the steady clock too', async () => {
  const world = await makeCallsWorld()
  const { media, control, clock, openRoom } = world
  await media.dialInUntil('leg.move', 'part_1', '1001')
  clock.advance(5000)
  clock.set(-3_600_000)
  const { body } = await control.ask(`GET /v1/conference_rooms/${openRoom}/history`)
  assert.equal([body.data[0].status, body.data[0].duration_ms], ['in_progress', 5000])
  await world.close()
})

test('who is first in a room is told so until somebody else is there; that it is muted, to the end', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const welcome = async (legId: string) => {
    media.dialIn(legId, '1001')
    await media.command('leg.move', legId)
    const { sources, whileAlone } = await media.command('leg.play', legId)
    return [sources.map(source => 'name' in source && source.name), whileAlone]
  }
  assert.equal(await welcome('part_1'), [['first-in-room'], true])
  await media.committed()
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { mute_on_entry: true } })
  assert.equal(await welcome('part_2'), [['muted'], false])
  await world.close()
})

test("a room's language is that of every prompt that its callers hear", async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const set = (settings: object) => control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings })
  assert.is((await set({ language: 'he', mute_on_entry: true })).status, 200)
  media.dialIn('part_1', '1001')
  await media.command('leg.move', 'part_1')
  assert.equal((await media.command('leg.play', 'part_1')).sources, [{ kind: 'prompt', name: 'muted', language: 'he' }])
  await media.committed()
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { locked: true })
  media.dialIn('part_2', '1001')
  assert.equal((await media.command('leg.play', 'part_2')).sources, [
    { kind: 'prompt', name: 'room-locked', language: 'he' },
    { kind: 'prompt', name: 'goodbye', language: 'he' },
  ])
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { locked: false })
  await set({ language: 'fr', mute_on_entry: false, wait_for_moderator: true })
  media.hangUp('part_1')
  media.dialIn('part_3', '1001')
  const waiting = await media.command('leg.play', 'part_3')
  assert.equal(waiting.sources, [{ kind: 'prompt', name: 'wait-moderator', language: 'fr' }, { kind: 'music' }])
  await world.close()
})

test('a room that locks on start can be unlocked for the session; the next session is locked again', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { lock_on_start: true } })
  await media.dialInUntil('leg.move', 'part_1', '1001')
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { locked: false })
  media.dialIn('part_2', '1001')
  await media.command('leg.move', 'part_2')
  for (const leg of ['part_1', 'part_2']) media.hangUp(leg)
  media.dialIn('part_3', '1001')
  await media.command('leg.move', 'part_3')
  media.dialIn('part_4', '1001')
  assert.equal((await media.command('leg.play', 'part_4')).sources[0], { kind: 'prompt', name: 'room-locked' })
  await world.close()
})

test('who is made a moderator while waiting for one comes in, and lets the others in; hold is music and silence', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { wait_for_moderator: true } })
  for (const leg of ['part_1', 'part_2']) {
    media.dialIn(leg, '1001')
    await media.command('leg.play', leg)
  }
  await media.committed()
  const change = (body: object) => control.ask(`PATCH /v1/conference_rooms/${openRoom}/participants/part_1`, body)
  assert.is((await change({ role: 'moderator' })).body.role, 'moderator')
  const [first, second] = [await media.command('leg.move', 'part_1'), await media.command('leg.move', 'part_2')]
  assert.is(first.room.roomId, second.room.roomId)
  await media.committed()
  assert.is((await change({ held: true })).body.held, true)
  assert.equal((await media.command('leg.hold', 'part_1')).sources, [{ kind: 'music' }])
  assert.is((await change({ held: false })).body.held, false)
  await world.close()
})

test('who waits for a moderator is told of a change of its room at once: let in, or that it is closed', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const path = `/v1/conference_rooms/${openRoom}`
  const change = (body: object) => control.ask(`PATCH ${path}`, body)
  const wait = async (leg: string): Promise<void> => {
    await change({ active: true, settings: { wait_for_moderator: true } })
    media.dialIn(leg, '1001')
    assert.equal((await media.command('leg.play', leg)).sources[0], { kind: 'prompt', name: 'wait-moderator' })
    await media.committed()
  }
  await wait('part_1')
  await change({ settings: { wait_for_moderator: false } })
  await media.command('leg.move', 'part_1')
  await media.committed()
  media.hangUp('part_1')
  await media.committed()
  const closed = [
    { kind: 'prompt', name: 'room-closed' },
    { kind: 'prompt', name: 'goodbye' },
  ]
  await wait('part_2')
  await change({ active: false })
  assert.equal((await media.command('leg.play', 'part_2', 2)).sources, closed)
  await wait('part_3')
  await world.store.db.deleteFrom('inbound_routes').where('target_id', '=', openRoom).execute()
  assert.is((await control.ask(`DELETE ${path}`)).status, 200)
  assert.equal((await media.command('leg.play', 'part_3', 2)).sources, closed)
  await world.close()
})

test('a call on its own is transferred into a room, and is seated there', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const placed = await control.ask('POST /v1/calls', { to: 'sip:bob@127.0.0.1' })
  const [leg] = [...media.legs.keys()]
  media.pickUp(leg!)
  await media.committed()
  const moved = await control.ask(`POST /v1/calls/${placed.body.id}/transfer`, { room_id: openRoom })
  assert.is(moved.status, 200)
  const move = await media.command('leg.move', leg)
  assert.is(move.room.kind, 'conference')
  await media.committed()
  assert.is((await control.ask(`GET /v1/conference_rooms/${openRoom}`)).body.live.participants, 1)
  const none = await control.ask(`POST /v1/calls/${placed.body.id}/transfer`, {})
  assert.equal([none.status, none.body.error.param], [400, 'to'])
  await world.close()
})

test.run()
