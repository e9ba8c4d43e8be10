import * as assert from 'uvu/assert'
import { suite } from '../../../harness.ts'
import { makeCallsWorld } from '../../calls-world.ts'
import { makeQueueWorld } from '../../queues/queue-world.ts'

const test = suite('control/calls/sound')

const UNSAID = {
  gain_db: null,
  auto_gain: null,
  noise_suppression: null,
  speech_events: null,
  speaking: null,
  level_dbov: null,
}

test('a call is placed with the audio that was asked for, and the participant shows it', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const audio = { gain_db: 6, noise_suppression: true }
  const { body: call, status } = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', audio })
  assert.is(status, 201)
  const dialled = await media.command('leg.dial')
  assert.equal(dialled.sound, { gainDb: 6, noiseSuppression: true })
  const { body } = await control.ask(`GET /v1/calls/${call.id}/participants`)
  assert.equal(body.data[0].audio, { ...UNSAID, ...audio })
  const refused = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1', audio: { gain_db: 25 } })
  assert.equal([refused.status, refused.body.error.param], [400, 'audio.gain_db'])
  await world.close()
})

test('a participant is changed while the call runs: what is not sent stays, null goes by the room again; 409 once it has left', async () => {
  const world = await makeCallsWorld()
  const { control, media } = world
  const { room } = await media.dialInUntil('leg.answer', 'part_1', '1002')
  const change = (audio?: object) =>
    control.ask(`PATCH /v1/calls/${room.roomId}/participants/part_1`, audio === undefined ? {} : { audio })
  await change({ auto_gain: true, gain_db: -3 })
  const { body } = await change({ gain_db: null, speech_events: true })
  const silent = { speaking: false, level_dbov: -127 }
  assert.equal(body.audio, { ...UNSAID, auto_gain: true, speech_events: true, ...silent })
  assert.equal(media.legs.get('part_1')!.sound, { autoGain: true, gainDb: null, speechEvents: true })
  assert.equal((await change()).body.audio, body.audio)
  assert.is((await control.ask('PATCH /v1/calls/call_none/participants/part_1', {})).status, 404)
  assert.is((await control.ask(`PATCH /v1/calls/${room.roomId}/participants/part_9`, {})).status, 404)
  media.hangUp('part_1')
  await media.committed()
  const late = await change({ auto_gain: false })
  assert.equal([late.status, late.body.error.details.reason], [409, 'not_running'])
  await world.close()
})

test("who speaks, and how loud, is shown as media says at this moment, of a call's participants and of a room's", async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  media.legs.get('part_1')!.voice = { isSpeaking: true, levelDbov: -24 }
  for (const path of [`/v1/conference_rooms/${openRoom}/participants`, `/v1/calls/${room.roomId}/participants`]) {
    const [participant] = (await control.ask(`GET ${path}`)).body.data
    assert.equal([participant.audio.speaking, participant.audio.level_dbov], [true, -24], path)
  }
  await world.close()
})

test("a room's settings go with all who come into it, and a participant of it is changed by the room's own route too", async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  media.dialIn('part_0', '1001')
  assert.is((await media.command('leg.move', 'part_0')).room.sound, undefined, 'nothing by default')
  media.hangUp('part_0')
  await media.committed()
  const settings = { speech_events: true, auto_gain: true }
  const changed = await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings })
  assert.is(changed.body.settings.speech_events && changed.body.settings.auto_gain, true)
  media.dialIn('part_1', '1001')
  const { room } = await media.command('leg.move', 'part_1')
  assert.equal(room.sound, { autoGain: true, noiseSuppression: false, speechEvents: true })
  await media.committed()
  const path = `/v1/conference_rooms/${openRoom}/participants`
  const { body } = await control.ask(`PATCH ${path}/part_1`, { audio: { auto_gain: false }, muted: true })
  assert.equal([body.audio.auto_gain, body.muted], [false, true])
  assert.equal(media.legs.get('part_1')!.sound, { autoGain: false })
  await control.ask(`POST ${path}`, { to: 'sip:bob@127.0.0.1', audio: { gain_db: 3 } })
  assert.equal((await media.command('leg.dial')).sound, { gainDb: 3 })
  await world.close()
})

test('who begins and ends to speak, and the active speaker, are events; the room shows the active speaker', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  media.emit('leg.speaking', { legId: 'part_1', isSpeaking: true })
  media.emit('room.active_speaker', { roomId: room.roomId, legId: 'part_1' })
  await media.committed()
  const shown = async () => (await control.ask(`GET /v1/conference_rooms/${openRoom}`)).body.live.active_speaker_id
  assert.is(await shown(), 'part_1')
  media.emit('leg.speaking', { legId: 'part_1', isSpeaking: false })
  media.emit('room.active_speaker', { roomId: room.roomId, legId: null })
  await media.committed()
  assert.is(await shown(), null)
  const objects = async (type: string) => {
    const { body } = await control.ask(`GET /v1/events?type=${type}`)
    return body.data.map(({ data }: { data: { object: object } }) => data.object)
  }
  const [started] = await objects('call.speaking.started')
  assert.equal(started, {
    object: 'call_speaking',
    call_id: started.call_id,
    session_call_id: room.roomId,
    participant_id: 'part_1',
    livemode: true,
    speaking: true,
  })
  assert.equal(
    (await objects('call.speaking.stopped')).map(({ speaking }: { speaking: boolean }) => speaking),
    [false],
  )
  assert.equal(
    (await objects('conference.active_speaker.changed')).map((one: { participant_id: string }) => one.participant_id),
    [null, 'part_1'],
  )
  media.hangUp('part_1')
  await media.committed()
  media.emit('leg.speaking', { legId: 'part_1', isSpeaking: true })
  media.emit('room.active_speaker', { roomId: room.roomId, legId: 'part_1' })
  await media.committed()
  assert.is((await objects('call.speaking.started')).length, 1, 'nothing of who is gone')
  await world.close()
})

test("a queue's settings go with the agent into the caller's room, so that both have them", async () => {
  const world = await makeQueueWorld()
  const ann = await world.addAgent('ann')
  await world.setStatus(ann, 'available')
  const queue = await world.addQueue({ member_user_ids: [ann], noise_suppression: true })
  await world.call(queue)
  await world.settle()
  const [ringing] = world.ringing(ann)
  world.media.pickUp(ringing!.legId)
  await world.settle()
  const moved = world.media.handled.find(
    ({ name, body }) => name === 'leg.move' && (body as { legId: string }).legId === ringing!.legId,
  )
  const { room } = moved!.body as { room: { sound: object } }
  assert.equal(room.sound, { autoGain: false, noiseSuppression: true, speechEvents: false })
  await world.close()
})

test.run()
