import * as assert from 'uvu/assert'
import type { CallDriver } from '../../../../control/calls/conductor/driver.ts'
import type { MediaClient, MediaHandler } from '../../../../control/media-link/client.ts'
import type { MediaEvent } from '../../../../media/protocol.ts'
import { suite } from '../../../harness.ts'
import { type CallsWorld, eventTypes, makeCallsWorld, ready, startControl, until } from '../../calls-world.ts'

const test = suite('control/calls/conductor/reconcile')

/** A control process that dies at an event: before the commit, between commit and acknowledgement, or after both. */
const dyingAt =
  (name: MediaEvent['name'], when: 'before commit' | 'before ack' | 'before command') =>
  (driver: CallDriver, client: () => MediaClient): MediaHandler => {
    const die = async (): Promise<void> => {
      void client().close()
    }
    let isDead = false
    return {
      followUps: driver.followUps,
      perform: async (task, media) => {
        if (!isDead) await driver.perform(task, media)
      },
      position: () => driver.position(),
      write: () => driver.write(),
      booted: bootId => driver.booted(bootId),
      faults: 0,
      setAside: (numbered, media) => driver.setAside(numbered, media),
      faulted: (key, media, error) => driver.faulted(key, media, error),
      recheck: (snapshot, legIds, media) => driver.recheck(snapshot, legIds, media),
      reconcile: (snapshot, media) => driver.reconcile(snapshot, media),
      events: async batch => {
        const at = batch.findIndex(({ event }) => event.name === name)
        if (at < 0) return driver.events(batch)
        // What came before it is a commit of its own: its commands are sent.
        await driver.events(batch.slice(0, at))
        await driver.followUps.idle()
        isDead = true
        if (when === 'before commit') await die()
        else await driver.events(batch.slice(at))
        if (when === 'before ack') await die()
        if (when === 'before commit') throw new Error('killed')
        if (when === 'before command') setImmediate(() => void die())
      },
    }
  }

async function restart(world: CallsWorld): Promise<void> {
  await world.control.stop()
  world.control = await startControl(world, world.media)
  await ready(world)
}

const DEATHS = ['before commit', 'before ack', 'before command'] as const
const WHOLE_LIFE = [
  'call.answered',
  'call.created',
  'call.ended',
  'conference.ended',
  'conference.participant.joined',
  'conference.participant.left',
  'conference.started',
]

for (const name of ['leg.incoming', 'leg.answered', 'leg.collected', 'leg.joined'] as const) {
  for (const when of DEATHS) {
    test(`control killed at ${name} ${when}: no event is lost or doubled, and the caller gets where it was going`, async () => {
      const world = await makeCallsWorld({ wrap: dyingAt(name, when) })
      const { media } = world
      const pressWhenAsked = async (): Promise<void> => {
        await media.command('leg.collect', 'part_1')
        media.press('part_1', '1234')
      }
      media.dialIn('part_1', '1000')
      if (name === 'leg.collected') await pressWhenAsked()
      if (name === 'leg.joined') await pressWhenAsked()
      await until(() => world.control.client.state !== 'ready')
      await restart(world)
      if (name === 'leg.incoming' || name === 'leg.answered') await pressWhenAsked()
      await media.until(() => media.legs.get('part_1')?.roomId === media.sent('leg.move').at(-1)?.room.roomId)
      await media.committed()
      media.hangUp('part_1')
      await media.committed()
      assert.equal((await eventTypes(world)).sort(), WHOLE_LIFE)
      const calls = await world.store.db.selectFrom('calls').select('ended_at').execute()
      assert.is(calls.length, 2)
      assert.ok(calls.every(call => call.ended_at !== null))
      await world.close()
    })
  }
}

test('an event that is delivered twice is told once', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  media.dialIn('part_1', '1002')
  await media.committed()
  const { room } = await media.command('leg.answer')
  media.emit('leg.dtmf', { legId: 'part_1', key: '5', masked: false, source: 'info' })
  const { seq } = media
  await media.committed()
  const body = { legId: 'part_1', key: '5', masked: false, source: 'info' as const }
  media.repeat(seq, { name: 'leg.dtmf', at: '2026-11-21T10:00:00.000Z', body })
  media.emit('leg.held', { legId: 'part_1' })
  await media.committed()
  assert.equal(await eventTypes(world, room.roomId), ['call.created', 'call.answered', 'call.dtmf', 'call.held'])
  await world.close()
})

test('while control is dead events wait, and the API tells the truth as soon as it is back', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  await media.dialInUntil('leg.play', 'part_1', '1002')
  await world.control.stop()
  media.hangUp('part_1')
  await restart(world)
  const { body } = await world.control.ask('GET /v1/calls')
  assert.is(body.data[0].status, 'completed')
  assert.is(body.data[0].ended_reason, 'caller_hangup')
  await world.close()
})

test('a wrong PIN that was pressed while control was dead is asked for again once, not twice', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  await media.dialInUntil('leg.collect', 'part_1', '1000')
  await world.control.stop()
  media.press('part_1', '1111')
  await restart(world)
  await media.committed()
  assert.is(media.sent('leg.collect').length, 2)
  await world.close()
})

test('a recording that the next media process finds on the disk is ready once that has finished it', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { record: true } })
  const { roomId: recordingId } = (await media.dialInUntil('leg.move', 'part_1', '1001')).room
  await media.die('boot-2')
  await until(() => control.client.state !== 'ready')
  media.recordings.add(recordingId)
  await media.listen()
  await ready(world)
  const recording = async () => (await control.ask(`GET /v1/calls/${recordingId}/recording`)).body
  assert.is((await control.ask(`GET /v1/calls/${recordingId}`)).body.ended_reason, 'media_failed')
  assert.is((await recording()).status, 'recording')
  const file = { file: `${recordingId}.wav`, sampleRateHz: 8000, durationMs: 4000, sizeBytes: 64_044 }
  media.emit('recording.ready', { recordingId, ...file, channels: [{ legId: 'part_1' }], segments: [] })
  await media.committed()
  assert.equal([(await recording()).status, (await recording()).duration_ms], ['ready', 4000])
  const told = (await eventTypes(world)).filter(type => type.startsWith('call.recording'))
  assert.equal(told, ['call.recording.ready'])
  await world.close()
})

test('when media has died, its calls, sessions, streams, pauses and recordings end as media_failed', async () => {
  const world = await makeCallsWorld()
  const { media, control, openRoom } = world
  await control.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings: { record: true } })
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  const own = media.sent('leg.answer')[0]!.room.roomId
  const stream = await control.ask(`POST /v1/calls/${own}/streams`, { url: 'wss://receiver.test/' })
  assert.is(stream.status, 201)
  assert.is((await control.ask(`POST /v1/calls/${own}/pci`, { action: 'pause' })).status, 200)
  const ringing = (await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1' })).body
  await media.die('boot-2')
  await until(() => control.client.state !== 'ready')
  const refused = await control.ask('POST /v1/calls', { to: 'sip:bob@192.0.2.1' })
  assert.is(refused.status, 503)
  assert.is(refused.body.error.code, 'media_unavailable')
  assert.is(refused.headers['retry-after'], '1')
  await media.listen()
  await ready(world)
  const calls = new Map<string, { status: string; ended_reason: string }>(
    (await control.ask('GET /v1/calls')).body.data.map((call: { id: string }) => [call.id, call]),
  )
  assert.is(calls.get(own)?.status, 'completed')
  assert.is(calls.get(own)?.ended_reason, 'media_failed')
  assert.is(calls.get(ringing.id)?.status, 'failed')
  assert.is(calls.get(ringing.id)?.ended_reason, 'media_failed')
  assert.is(calls.get(room.roomId)?.ended_reason, 'media_failed')
  const stopped = (await control.ask(`GET /v1/calls/${own}/streams/${stream.body.id}`)).body
  assert.is(stopped.status, 'stopped')
  assert.is(stopped.ended_reason, 'call_ended')
  assert.is((await control.ask(`GET /v1/calls/${room.roomId}/recording`)).body.status, 'failed')
  assert.equal(await world.store.db.selectFrom('capture_pauses').selectAll().execute(), [])
  const told = await eventTypes(world)
  for (const type of ['call.pci.resumed', 'call.stream.stopped', 'call.recording.failed', 'conference.ended']) {
    assert.is(told.filter(one => one === type).length, 1, type)
  }
  assert.is(told.filter(one => one === 'call.ended').length, 2, 'the call that was refused has left nothing')
  media.dialIn('part_9', '1002')
  await media.command('leg.play', 'part_9')
  await world.close()
})

test('a call and a session that media takes along last as long as the clock says that nobody sets', async () => {
  const world = await makeCallsWorld()
  const { media, control, clock } = world
  const { room } = await media.dialInUntil('leg.move', 'part_1', '1001')
  const own = media.sent('leg.answer')[0]!.room.roomId
  clock.advance(5000)
  clock.set(-3_600_000)
  await media.die('boot-2')
  await until(() => control.client.state !== 'ready')
  await media.listen()
  await ready(world)
  for (const id of [own, room.roomId]) {
    const { ended_reason, duration_ms } = (await control.ask(`GET /v1/calls/${id}`)).body
    assert.equal([ended_reason, duration_ms], ['media_failed', 5000])
  }
  await world.close()
})

test('a call that media does not know any more ends as internal_error', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  await media.dialInUntil('leg.play', 'part_1', '1002')
  media.legs.clear()
  await restart(world)
  const { body } = await world.control.ask('GET /v1/calls')
  assert.is(body.data[0].ended_reason, 'internal_error')
  await world.close()
})

test('a leg whose refusal was lost is turned away', async () => {
  const world = await makeCallsWorld({ wrap: dyingAt('leg.incoming', 'before command') })
  const { media } = world
  media.dialIn('part_1', '7777')
  await until(() => world.control.client.state !== 'ready')
  assert.equal(media.sent('leg.reject'), [])
  await restart(world)
  assert.is((await media.command('leg.reject', 'part_1')).sipCode, 404)
  await world.close()
})

test('streams that were asked for and never started are started', async () => {
  const world = await makeCallsWorld({ wrap: dyingAt('leg.answered', 'before command') })
  const { media, control } = world
  const call = (
    await control.ask('POST /v1/calls', {
      to: 'sip:bob@192.0.2.1',
      streams: [{ url: 'wss://receiver.test/' }],
      record: true,
    })
  ).body
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await until(() => control.client.state !== 'ready')
  assert.equal(media.sent('stream.start'), [])
  await restart(world)
  assert.is((await media.command('stream.start')).callSid, call.id)
  const target = { roomId: call.id }
  assert.equal(await media.command('recording.start'), { recordingId: call.id, target, encrypted: false })
  await world.close()
})

test.run()
