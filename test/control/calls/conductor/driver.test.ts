import { Registry } from 'prom-client'
import * as assert from 'uvu/assert'
import { toFigures } from '../../../../control/calls/call-schema.ts'
import { admission } from '../../../../control/calls/conductor/rooms/admission.ts'
import { sendDue } from '../../../../control/calls/steps/follow.ts'
import { CallMetrics } from '../../../../control/wiring/call-metrics.ts'
import { QUALITY } from '../../../fakes/media-model.ts'
import { suite } from '../../../harness.ts'
import { eventTypes, makeCallsWorld } from '../../calls-world.ts'

const test = suite('control/calls/conductor/driver')

test('an incoming call is answered into its own room, and its life is told as events', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  media.dialIn('part_1', '1002')
  const answer = await media.command('leg.answer', 'part_1')
  assert.is(answer.room.kind, 'echo')
  assert.equal(answer.codecs, ['PCMU'], 'the codecs of the connection')
  const play = await media.command('leg.play', 'part_1')
  assert.equal(play.sources, [{ kind: 'prompt', name: 'echo' }])
  media.hangUp('part_1')
  await media.committed()
  const { body } = await control.ask('GET /v1/calls')
  const call = body.data[0]
  assert.is(call.id, answer.room.roomId)
  assert.is(call.status, 'completed')
  assert.is(call.ended_reason, 'caller_hangup')
  assert.is(call.direction, 'inbound')
  assert.is(call.to, 'sip:1002@127.0.0.1')
  assert.is(call.quality[0].jitter_ms, 1.5)
  assert.is(call.quality[0].participant_id, 'part_1')
  assert.equal(await eventTypes(world), ['call.created', 'call.answered', 'call.ended'])
  await world.close()
})

test('an event that changes nothing is taken without a write: the place in the order of events moves with the next that does', async () => {
  const world = await makeCallsWorld()
  const { media, store } = world
  const place = async (): Promise<number> => {
    const kept = store.db.selectFrom('settings').select('value').where('name', 'like', 'media_position:%')
    return JSON.parse((await kept.executeTakeFirstOrThrow()).value).lastSeq
  }
  const { playId } = await media.dialInUntil('leg.play', 'part_1', '1002')
  const before = await place()
  media.emit('play.started', { legId: 'part_1', playId, clockMs: 20 })
  await media.committed()
  assert.is(await place(), before)
  media.hangUp('part_1')
  await media.committed()
  assert.is(await place(), media.seq)
  // Told once, whatever comes again.
  media.repeat(before, { name: 'leg.ended', at: '', body: {} } as never)
  media.dialIn('part_2', '1002')
  await media.command('leg.play', 'part_2')
  const told = (await eventTypes(world)).filter(type => type === 'call.ended')
  assert.is(told.length, 1)
  await world.close()
})

test('an INVITE from an address that no connection allows is answered 403', async () => {
  const world = await makeCallsWorld()
  world.media.dialIn('part_1', '1002', 'mallory', '203.0.113.9')
  const refusal = await world.media.command('leg.reject', 'part_1')
  assert.is(refusal.sipCode, 403)
  assert.equal((await world.control.ask('GET /v1/calls')).body.data, [])
  await world.close()
})

test('an INVITE that no route matches is answered 404', async () => {
  const world = await makeCallsWorld()
  world.media.dialIn('part_1', '7777')
  assert.is((await world.media.command('leg.reject', 'part_1')).sipCode, 404)
  await world.close()
})

test('an announcement is played and the call hung up with its end', async () => {
  const world = await makeCallsWorld()
  world.media.dialIn('part_1', '1003')
  const play = await world.media.command('leg.play', 'part_1')
  assert.equal(play.sources, [{ kind: 'prompt', name: 'announcement' }])
  assert.is(play.hangupAfter, 'announcement_ended')
  await world.close()
})

test('of two who come at once, each call in an order of its own, exactly one opens the session', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  media.dialIn('part_1', '1001')
  media.dialIn('part_2', '1001')
  const moves = [await media.command('leg.move', 'part_1'), await media.command('leg.move', 'part_2')]
  assert.equal(moves.map(({ mustExist }) => mustExist).sort(), [false, true])
  assert.is(moves[0]!.room.roomId, moves[1]!.room.roomId)
  await world.close()
})

test('the first who joins opens the session, the others join it, and it ends when it is empty', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  media.dialIn('part_1', '1001')
  const first = await media.command('leg.move', 'part_1')
  media.dialIn('part_2', '1001')
  const second = await media.command('leg.move', 'part_2')
  assert.is(first.mustExist, false)
  assert.is(second.mustExist, true)
  assert.is(first.room.roomId, second.room.roomId)
  const answers = media.sent('leg.answer').map(body => body.affinity)
  assert.match(answers[0] ?? '', /^org_\w+\/live$/)
  assert.is(answers[1], answers[0], 'whose they are')
  const near = media.sent('leg.answer').map(body => body.near)
  assert.equal(near, [openRoom, openRoom], 'who comes into the same room is placed on the same engine thread')
  await media.committed()
  const room = (await control.ask(`GET /v1/conference_rooms/${openRoom}`)).body
  assert.is(room.live.participants, 2)
  assert.is(room.live.call_id, first.room.roomId)
  assert.equal(room.dial_in, ['1001'])
  const people = (await control.ask(`GET /v1/calls/${first.room.roomId}/participants`)).body.data
  assert.equal(
    people.map((one: { id: string; status: string }) => [one.id, one.status]),
    [
      ['part_2', 'joined'],
      ['part_1', 'joined'],
    ],
  )
  media.hangUp('part_1')
  media.hangUp('part_2')
  await media.committed()
  const session = (await control.ask(`GET /v1/calls/${first.room.roomId}`)).body
  assert.is(session.kind, 'conference')
  assert.is(session.status, 'completed')
  assert.is((await control.ask(`GET /v1/conference_rooms/${openRoom}`)).body.live, null)
  assert.equal(await eventTypes(world, session.id), [
    'conference.started',
    'conference.participant.joined',
    'conference.participant.joined',
    'conference.participant.left',
    'conference.participant.left',
    'conference.ended',
  ])
  await world.close()
})

test('who joins while the session closes opens a new one', async () => {
  const world = await makeCallsWorld()
  const { media, store } = world
  const first = await media.dialInUntil('leg.move', 'part_1', '1001')
  // The room is gone, and the event that says so comes after the newcomer's.
  media.rooms.delete(first.room.roomId)
  media.dialIn('part_2', '1001')
  const tried = await media.command('leg.move', 'part_2', 1)
  const again = await media.command('leg.move', 'part_2', 2)
  assert.is(tried.mustExist, true)
  assert.is(tried.room.roomId, first.room.roomId)
  assert.is(again.mustExist, false)
  assert.is.not(again.room.roomId, first.room.roomId)
  media.emit('room.closed', { roomId: first.room.roomId })
  await media.committed()
  const sessions = await store.db
    .selectFrom('calls')
    .select(['id', 'status'])
    .where('kind', '=', 'conference')
    .orderBy('id')
    .execute()
  assert.equal(sessions, [
    { id: first.room.roomId, status: 'completed' },
    { id: again.room.roomId, status: 'in_progress' },
  ])
  const leg = await store.db.selectFrom('participants').selectAll().where('id', '=', 'part_2').executeTakeFirstOrThrow()
  assert.is(leg.session_call_id, again.room.roomId)
  await world.close()
})

test('a session that nobody entered leaves no trace', async () => {
  const world = await makeCallsWorld()
  const { media, store } = world
  media.overrides.set('leg.move', () => ({ failure: 'not_found', message: 'the leg has gone' }))
  media.dialIn('part_1', '1001')
  await media.command('leg.move', 'part_1')
  media.hangUp('part_1')
  await media.committed()
  const sessions = () => store.db.selectFrom('calls').select('id').where('kind', '=', 'conference').execute()
  // It goes when media's refusal is dealt with, beside the call's end.
  for (let reads = 0; (await sessions()).length > 0 && reads < 1000; reads++) await world.control.idle()
  assert.equal(await sessions(), [])
  assert.equal(await eventTypes(world), ['call.created', 'call.answered', 'call.ended'])
  await world.close()
})

test('a full room is told so and the caller hung up on', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  media.overrides.set('leg.move', () => ({ failure: 'capacity', message: 'full' }))
  media.dialIn('part_1', '1001')
  const play = await media.command('leg.play', 'part_1')
  assert.equal(play.sources[0], { kind: 'prompt', name: 'room-full' })
  assert.is(play.hangupAfter, 'capacity')
  await world.close()
})

test('on hold the call is held, and resumed it is in progress again', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  media.dialIn('part_1', '1002')
  const { room } = await media.command('leg.answer', 'part_1')
  media.emit('leg.held', { legId: 'part_1' })
  await media.committed()
  assert.is((await control.ask(`GET /v1/calls/${room.roomId}`)).body.status, 'held')
  media.emit('leg.resumed', { legId: 'part_1' })
  await media.committed()
  assert.is((await control.ask(`GET /v1/calls/${room.roomId}`)).body.status, 'in_progress')
  assert.equal((await eventTypes(world)).slice(2), ['call.held', 'call.resumed'])
  await world.close()
})

test('members join muted where the room says so, moderators never', async () => {
  const world = await makeCallsWorld()
  const { media, control, pinRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${pinRoom}`, { settings: { mute_on_entry: true } })
  media.dialIn('part_1', '1000')
  await media.command('leg.collect', 'part_1')
  media.press('part_1', '1234')
  assert.is((await media.command('leg.move', 'part_1')).muted, true)
  media.dialIn('part_2', '1000')
  await media.command('leg.collect', 'part_2')
  media.press('part_2', '98765')
  assert.is((await media.command('leg.move', 'part_2')).muted, false)
  await world.close()
})

test('settings.announce and settings.max_participants: the session has chimes and a limit, as its room says', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  for (const [index, announce] of [true, false].entries()) {
    const settings = { announce, max_participants: 5 + index }
    await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings })
    const leg = `part_${index}`
    media.dialIn(leg, '1001')
    const { room } = await media.command('leg.move', leg)
    assert.equal([room.kind, room.chimes, room.maxMembers], ['conference', announce, 5 + index])
    media.hangUp(leg, 'caller_hangup')
    await media.committed()
  }
  await world.close()
})

test('phone callers wait for a moderator before being seated', async () => {
  const world = await makeCallsWorld()
  const { media, control, pinRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${pinRoom}`, { settings: { wait_for_moderator: true } })
  media.dialIn('part_1', '1000')
  await media.command('leg.collect', 'part_1')
  media.press('part_1', '1234')
  const play = await media.command('leg.play', 'part_1')
  assert.equal(play.sources[0], { kind: 'prompt', name: 'wait-moderator' })
  await media.committed()
  const waiting = (await control.ask(`GET /v1/conference_rooms/${pinRoom}/participants`)).body.data
  assert.is(waiting[0].status, 'waiting')
  media.dialIn('part_2', '1000')
  await media.command('leg.collect', 'part_2')
  media.press('part_2', '98765')
  const moderator = await media.command('leg.move', 'part_2')
  const member = await media.command('leg.move', 'part_1')
  assert.is(member.room.roomId, moderator.room.roomId)
  assert.is(member.mustExist, true)
  await world.close()
})

test('who waits for a moderator goes on when another node has changed the room: in, if nobody has to wait, or out of one that is closed', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom, store } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { wait_for_moderator: true } })
  const wait = async (leg: string) => {
    media.dialIn(leg, '1001')
    assert.equal((await media.command('leg.play', leg)).sources[0], { kind: 'prompt', name: 'wait-moderator' })
    await media.committed()
  }
  /** As the node does that the request reaches, which cannot wake this one. */
  const change = async (columns: { active?: number; settings?: string }) => {
    await store.db.updateTable('conference_rooms').set(columns).where('id', '=', openRoom).execute()
    sendDue(store)
  }
  await wait('part_1')
  await change({ settings: JSON.stringify({ wait_for_moderator: false }) })
  const { room } = await media.command('leg.move', 'part_1')
  assert.is(room.roomId.startsWith('call_'), true)
  await media.committed()
  media.hangUp('part_1', 'caller_hangup')
  await media.committed()
  await store.db
    .updateTable('conference_rooms')
    .set({ settings: JSON.stringify({ wait_for_moderator: true }) })
    .where('id', '=', openRoom)
    .execute()
  await wait('part_2')
  await change({ active: 0 })
  const play = await media.command('leg.play', 'part_2', 2)
  assert.equal([play.sources[0], play.hangupAfter], [{ kind: 'prompt', name: 'room-closed' }, 'rejected'])
  await world.close()
})

test('who waited for the moderator is seated as the room starts, though it locks then; who comes later is kept out', async () => {
  const world = await makeCallsWorld()
  const { media, control, pinRoom } = world
  const settings = { wait_for_moderator: true, lock_on_start: true }
  await control.ask(`PATCH /v1/conference_rooms/${pinRoom}`, { settings })
  const come = async (leg: string, pin: string) => {
    media.dialIn(leg, '1000')
    await media.command('leg.collect', leg)
    media.press(leg, pin)
  }
  await come('part_1', '1234')
  assert.equal((await media.command('leg.play', 'part_1')).sources[0], { kind: 'prompt', name: 'wait-moderator' })
  await come('part_2', '98765')
  const { room } = await media.command('leg.move', 'part_2')
  assert.is((await media.command('leg.move', 'part_1')).room.roomId, room.roomId)
  const kept = async (leg: string) => {
    await come(leg, '1234')
    return (await media.command('leg.play', leg)).sources[0]
  }
  assert.equal(await kept('part_3'), { kind: 'prompt', name: 'room-locked' })
  media.hangUp('part_2', 'caller_hangup')
  await media.committed()
  assert.equal(await kept('part_4'), { kind: 'prompt', name: 'room-locked' }, 'nor does it wait for another moderator')
  await world.close()
})

test('a guest page has proved the PIN and no more: its guest waits for the moderator, and a lock keeps it out', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom, store } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { wait_for_moderator: true } })
  media.dialIn('part_1', '1001')
  assert.equal((await media.command('leg.play', 'part_1')).sources[0], { kind: 'prompt', name: 'wait-moderator' })
  await media.committed()
  const call = await store.db.selectFrom('calls').selectAll().executeTakeFirstOrThrow()
  const leg = await store.db.selectFrom('participants').selectAll().executeTakeFirstOrThrow()
  const room = await store.db.selectFrom('conference_rooms').selectAll().where('id', '=', openRoom).executeTakeFirst()
  const rows = { call, participant: { ...leg, pin_proved: 1 }, room: room ?? null }
  const running = { isRunning: true, hasModerator: true, isLocked: true }
  assert.is(admission(rows, { ...running, hasModerator: false, isLocked: false }), 'wait')
  assert.is(admission(rows, { ...running, isLocked: false }), 'join')
  assert.equal(admission(rows, running), { leave: 'room-locked', reason: 'rejected' })
  await world.close()
})

test('a room locked on start lets only moderators in', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { lock_on_start: true } })
  media.dialIn('part_1', '1001')
  await media.command('leg.move', 'part_1')
  media.dialIn('part_2', '1001')
  const play = await media.command('leg.play', 'part_2')
  assert.equal(play.sources[0], { kind: 'prompt', name: 'room-locked' })
  assert.is(play.hangupAfter, 'rejected')
  await world.close()
})

test('a room with active false cannot be joined', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { active: false })
  media.dialIn('part_1', '1001')
  assert.equal((await media.command('leg.play', 'part_1')).sources[0], { kind: 'prompt', name: 'room-closed' })
  assert.equal(media.sent('leg.move'), [])
  await world.close()
})

test('a phone that dials a scheduled room is let in from 15 minutes before an occurrence until 2 hours after its end', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  const now = world.clock.now().getTime()
  const minutes = (count: number): string => new Date(now + count * 60_000).toISOString()
  const cases: [fromMin: number, toMin: number, isOpen: boolean][] = [
    [16, 60, false],
    [14, 60, true],
    [-240, -121, false],
    [-240, -119, true],
  ]
  for (const [index, [from, to, isOpen]] of cases.entries()) {
    const schedule = { start_at: minutes(from), end_at: minutes(to), recurrence: 'none', timezone: 'UTC' }
    const { status } = await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { schedule })
    assert.is(status, 200)
    const leg = `part_${index}`
    media.dialIn(leg, '1001')
    if (isOpen) await media.command('leg.move', leg)
    else {
      const play = await media.command('leg.play', leg)
      assert.equal([play.sources[0], play.hangupAfter], [{ kind: 'prompt', name: 'room-closed' }, 'rejected'])
    }
  }
  await world.close()
})

test('a room that records starts a recording of the session when it opens, told when it is ready', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { record: true } })
  media.dialIn('part_1', '1001')
  const { room } = await media.command('leg.move', 'part_1')
  const started = await media.command('recording.start')
  assert.equal(started, { recordingId: room.roomId, target: { roomId: room.roomId }, encrypted: false })
  media.emit('recording.ready', {
    recordingId: room.roomId,
    file: 'a.wav',
    sampleRateHz: 8000,
    durationMs: 1000,
    sizeBytes: 16044,
    channels: [{ legId: 'part_1' }],
    segments: [{ fromMs: 100, toMs: 200, reason: 'payment' }],
  })
  await media.committed()
  const recording = (await control.ask(`GET /v1/calls/${room.roomId}/recording`)).body
  assert.is(recording.status, 'ready')
  assert.equal(recording.channels, [{ kind: 'participant', participant_id: 'part_1' }])
  assert.equal(recording.segments, [{ from_ms: 100, to_ms: 200, reason: 'payment' }])
  assert.ok((await eventTypes(world, room.roomId)).includes('call.recording.ready'))
  await world.close()
})

test('a key is an event, masked while the call is paused or the key belongs to a PIN', async () => {
  const world = await makeCallsWorld()
  const { media, control } = world
  await control.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  media.dialIn('part_1', '1002')
  const { room } = await media.command('leg.answer', 'part_1')
  media.emit('leg.dtmf', { legId: 'part_1', key: '5', masked: false, source: 'rfc4733' })
  await media.committed()
  await control.ask(`POST /v1/calls/${room.roomId}/pci`, { action: 'pause' })
  media.emit('leg.dtmf', { legId: 'part_1', key: '6', masked: false, source: 'rfc4733' })
  media.dialIn('part_2', '1000')
  await media.command('leg.collect', 'part_2')
  media.emit('leg.dtmf', { legId: 'part_2', key: '7', masked: false, source: 'info' })
  await media.committed()
  const rows = await world.store.db.selectFrom('events').select('data').where('type', '=', 'call.dtmf').execute()
  const keys = rows.map(row => JSON.parse(row.data).object)
  assert.equal(
    keys.map(key => [key.digit, key.masked]).sort(),
    [
      ['*', true],
      ['*', true],
      ['5', false],
    ].sort(),
  )
  await world.close()
})

test('a party of which no audio comes is told of while its call runs, and counted; of one that is gone nothing is', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const registry = new Registry()
  new CallMetrics(registry, () => ({ wallMs: 0, steadyMs: 0 })).watch(world.store)
  const { room } = await media.dialInUntil('leg.answer', 'part_1', '1002')
  media.emit('leg.one_way', { legId: 'part_1', packetsReceived: 0, packetsSent: 250 })
  await media.committed()
  assert.is((await control.ask(`GET /v1/calls/${room.roomId}`)).body.status, 'in_progress')
  media.hangUp('part_1')
  await media.committed()
  media.emit('leg.one_way', { legId: 'part_1', packetsReceived: 0, packetsSent: 300 })
  await media.committed()
  const { body } = await control.ask('GET /v1/events?type=call.audio.one_way')
  assert.equal(
    body.data.map(({ data }: { data: { object: object } }) => data.object),
    [
      {
        object: 'call_one_way',
        call_id: room.roomId,
        participant_id: 'part_1',
        livemode: true,
        packets_sent: 250,
        packets_received: 0,
      },
    ],
  )
  assert.match(await registry.metrics(), /^tandem_one_way_legs_total 1$/m)
  await world.close()
})

test('a party that becomes hard to understand is told of with its figures, and counted, and so is the end of it', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const registry = new Registry()
  new CallMetrics(registry, () => ({ wallMs: 0, steadyMs: 0 })).watch(world.store)
  const { room } = await media.dialInUntil('leg.answer', 'part_1', '1002')
  for (const isPoor of [true, false]) {
    media.emit('leg.quality', { legId: 'part_1', isPoor, quality: { ...QUALITY, mos: isPoor ? 3.2 : 3.9 } })
    await media.committed()
  }
  media.hangUp('part_1')
  await media.committed()
  const { body } = await control.ask('GET /v1/events?limit=100')
  const told = body.data.filter(({ type }: { type: string }) => type.startsWith('call.quality.')).reverse()
  const shown = told.map(({ type, data }: { type: string; data: { object: Record<string, unknown> } }) => {
    const { call_id, participant_id, mos, packets_late, concealed_pct, burst_ratio, delay_ms, clock_drift_ppm } =
      data.object
    assert.equal([call_id, participant_id], [room.roomId, 'part_1'])
    return [type, mos, packets_late, concealed_pct, burst_ratio, delay_ms, clock_drift_ppm]
  })
  assert.equal(shown, [
    ['call.quality.degraded', 3.2, 2, 0.6, 1.1, 65, 12],
    ['call.quality.recovered', 3.9, 2, 0.6, 1.1, 65, 12],
  ])
  assert.match(await registry.metrics(), /^tandem_poor_legs_total 1$/m)
  const call = (await control.ask(`GET /v1/calls/${room.roomId}`)).body
  assert.is(call.quality[0].packets_late, 2)
  assert.is(call.quality[0].clock_drift_ppm, 12)
  await world.close()
})

test('a party that turns out to be a fax machine is told of', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const { room } = await media.dialInUntil('leg.answer', 'part_1', '1002')
  media.emit('leg.fax_tone', { legId: 'part_1', tone: 'cng' })
  await media.committed()
  const { body } = await control.ask('GET /v1/events?type=call.fax.detected')
  assert.equal(
    body.data.map(({ data }: { data: { object: object } }) => data.object),
    [{ object: 'call_fax_tone', call_id: room.roomId, participant_id: 'part_1', livemode: true, tone: 'cng' }],
  )
  await world.close()
})

test('the quality of a call that ended before late packets were counted has none', () => {
  const { packetsLate: _late, delayMs: _delay, ...stored } = QUALITY
  const figures = toFigures(stored as never)
  assert.equal([figures.packets_late, figures.delay_ms, figures.packets_lost], [null, null, 1])
})

test.run()
