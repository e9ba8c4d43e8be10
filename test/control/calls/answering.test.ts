import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { type CallsWorld, eventTypes, makeCallsWorld } from '../calls-world.ts'

const test = suite('control/calls/answering')

/** Places a call to somebody; media has been told of it. */
async function dialled(world: CallsWorld, more: object) {
  const { control, media } = world
  const made = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', ...more })
  assert.is(made.status, 201, made.text)
  // It is reported before the answer.
  const dial = media.sent('leg.dial').find(({ room }) => room.roomId === made.body.id)
  assert.ok(dial !== undefined)
  return { call: made.body, id: made.body.id as string, legId: dial.legId, capture: dial.room.capture }
}

const MACHINE = { answeredBy: 'machine', cause: 'long_greeting', ms: 2900 } as const

test('who has answered is asked of media only where the call asks for it, with the defaults for what it leaves out', async () => {
  const world = await makeCallsWorld()
  const plain = await dialled(world, {})
  assert.equal([plain.call.answering_machine_detection, plain.call.answered_by], [null, null])
  assert.is(plain.capture?.answering, undefined)
  world.media.hangUp(plain.legId)
  await world.media.committed()
  const { call } = await dialled(world, { answering_machine_detection: { greeting_ms: 1500 } })
  const { answering_machine_detection: settings } = call
  assert.equal([settings.mode, settings.hold_until_detected, settings.greeting_ms], ['detect', false, 1500])
  const spec = world.media.sent('leg.dial').at(-1)!.room.capture?.answering
  assert.equal([spec?.greetingMs, spec?.messageEnd, spec?.totalMs], [1500, false, settings.total_ms])
  for (const [wrong, param] of [
    [{ greeting_ms: 60_000 }, 'answering_machine_detection.greeting_ms'],
    [{ mode: 'guess' }, 'answering_machine_detection.mode'],
    [{ greetings: 1 }, 'answering_machine_detection.greetings'],
  ] as const) {
    const refused = await world.control.ask('POST /v1/calls', {
      to: 'sip:bob@192.0.2.1',
      answering_machine_detection: wrong,
    })
    assert.equal([refused.status, refused.body.error.param], [400, param])
  }
  await world.close()
})

test('a machine is told of once, with what decided, then the end of its greeting; what the call is led to begins at once', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const asked = { room_id: openRoom, answering_machine_detection: { mode: 'detect_message_end' } }
  const { id, legId } = await dialled(world, asked)
  media.pickUp(legId)
  await media.command('leg.move', legId)
  media.foundOut(legId, MACHINE)
  media.emit('leg.answered_by', { legId, ...MACHINE, answeredBy: 'human' })
  media.emit('leg.message_ended', { legId, ended: 'beep', ms: 7400 })
  await media.committed()
  assert.is((await control.ask(`GET /v1/calls/${id}`)).body.answered_by, 'machine')
  const told = async (type: string) => (await control.ask(`GET /v1/events?type=${type}`)).body.data
  const whose = { call_id: id, participant_id: legId, livemode: true }
  assert.equal(
    (await told('call.answered_by')).map((event: { data: { object: object } }) => event.data.object),
    [{ object: 'call_answered_by', ...whose, answered_by: 'machine', cause: 'long_greeting', ms: 2900 }],
  )
  assert.equal(
    (await told('call.machine.message_ended')).map((event: { data: { object: object } }) => event.data.object),
    [{ object: 'call_machine_message', ...whose, ended: 'beep', ms: 7400 }],
  )
  await world.close()
})

test('hold_until_detected: the call is answered, and led on, when it is known by whom, with the time of its answer', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const { id, legId } = await dialled(world, {
    room_id: openRoom,
    record: true,
    answering_machine_detection: { hold_until_detected: true },
  })
  media.emit('leg.ringing', { legId })
  media.pickUp(legId)
  await media.committed()
  await control.idle()
  assert.equal(media.sent('leg.move'), [])
  assert.is((await control.ask(`GET /v1/calls/${id}`)).body.answered_at, null)
  media.foundOut(legId, { answeredBy: 'human', cause: 'short_greeting', ms: 1400 })
  await media.command('leg.move', legId)
  await media.committed()
  const call = (await control.ask(`GET /v1/calls/${id}`)).body
  assert.equal([call.status, call.answered_by], ['in_progress', 'human'])
  const types = await eventTypes(world, id)
  assert.equal(types.slice(0, 4), ['call.created', 'call.ringing', 'call.answered_by', 'call.answered'])
  await world.close()
})

test('hold_until_detected: who hangs up meanwhile had answered; who is hung up on by the API too', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  for (const end of ['caller', 'api']) {
    const { id, legId } = await dialled(world, { answering_machine_detection: { hold_until_detected: true } })
    media.pickUp(legId)
    await media.committed()
    if (end === 'api') assert.is((await control.ask(`POST /v1/calls/${id}/hangup`)).status, 200)
    else media.hangUp(legId)
    await media.committed()
    const call = (await control.ask(`GET /v1/calls/${id}`)).body
    assert.equal([call.status, call.answered_by, call.answered_at === null], ['completed', null, false], end)
  }
  await world.close()
})

test('hold_until_detected: whoever must agree to a recording is asked when it is known who that is', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const { id, legId, capture } = await dialled(world, {
    record: true,
    recording_announcement: 'This call is recorded.',
    answering_machine_detection: { hold_until_detected: true },
  })
  assert.equal([capture?.recordingId, capture?.answering?.legId], [null, legId])
  media.pickUp(legId)
  await media.committed()
  await control.idle()
  assert.equal(media.sent('leg.collect'), [])
  media.foundOut(legId, { answeredBy: 'human', cause: 'short_greeting', ms: 1400 })
  const { collectId } = await media.command('leg.collect', legId)
  media.emit('leg.collected', { legId, collectId, digits: '', ended: 'timeout', utterance: null })
  await media.committed()
  const call = (await control.ask(`GET /v1/calls/${id}`)).body
  assert.equal([call.status, call.record], ['in_progress', true])
  await world.close()
})

test.run()
