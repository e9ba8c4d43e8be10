import * as assert from 'uvu/assert'
import { suite } from '../../../harness.ts'
import { type LiveWorld, makeLiveWorld } from '../../assistants/live-world.ts'
import { eventTypes, until } from '../../calls-world.ts'

const test = suite('control/calls/capture/consent')
const LIMIT = { timeoutMs: 60_000 }

let world: LiveWorld
let calls = 0
test.before(async () => {
  world = await makeLiveWorld({ allowPrivateUrls: ['127.0.0.0/8'] })
})
test.after(() => world.close())

/** Somebody calls a number, and is answered by its announcement. */
async function asked(number: string) {
  const { media } = world
  const legId = `part_consent${++calls}`
  media.dialIn(legId, number)
  const { room } = await media.command('leg.answer', legId)
  const collect = await media.command('leg.collect', legId)
  const { body: call } = await world.ask(`GET /v1/calls/${room.roomId}`)
  assert.is(call.answered_at, null, 'nothing else has begun')
  return { legId, room, collect, callId: room.roomId }
}

const end = (legId: string, collectId: string, digits: string): Promise<void> => {
  world.media.emit('leg.collected', { legId, collectId, digits, ended: 'timeout', utterance: null })
  return world.media.committed()
}

const route = (to: string, more: object) =>
  world.make('/inbound_routes', { match: { to }, target: { type: 'echo' }, record: true, transcribe: true, ...more })

test(
  'an announcement is heard before anything else, recorded itself; then the call goes on as answered',
  async () => {
    await route('1', { recording_announcement: 'Calls are recorded.' })
    const { legId, room, collect, callId } = await asked('1')
    assert.equal(room.capture, { recordingId: null, transcript: null }, 'nothing before it')
    assert.is(collect.agreement?.digits, null, 'with its first sample')
    assert.is(collect.agreement?.capture.recordingId, callId)
    assert.is(collect.agreement?.capture.transcript?.transcriptId, callId)
    assert.equal(
      collect.prompts.map(source => ('text' in source ? source.text : source.kind)),
      ['Calls are recorded.'],
    )
    await end(legId, collect.collectId, '')
    await until(() => world.media.sent('leg.play').some(body => body.legId === legId))
    assert.is((await world.ask(`GET /v1/calls/${callId}`)).body.status, 'in_progress')
    assert.is((await world.ask(`GET /v1/calls/${callId}/recording`)).body.status, 'recording')
    world.media.hangUp(legId)
  },
  LIMIT,
)

test(
  'with a consent key nothing is kept before it is pressed, all of it after; of who presses another, nothing, and the call goes on',
  async () => {
    const streams = [{ url: 'ws://127.0.0.1:9/' }]
    await route('2', { recording_consent: { key: '1', timeout_s: 5 }, streams })
    const first = await asked('2')
    assert.equal(first.room.capture, { recordingId: null, transcript: null })
    assert.is(first.collect.firstDigitTimeoutMs, 5000)
    const { digits, capture } = first.collect.agreement!
    assert.is(digits, '1')
    assert.equal([capture.recordingId, capture.transcript?.transcriptId], [first.callId, first.callId])
    assert.equal(
      capture.streams?.map(({ url, target }) => [url, target]),
      [['ws://127.0.0.1:9/', { legId: first.legId }]],
    )
    await end(first.legId, first.collect.collectId, '1')
    await until(() => world.media.sent('recording.start').some(({ recordingId }) => recordingId === first.callId))
    await until(() => world.media.sent('transcript.start').some(({ transcriptId }) => transcriptId === first.callId))
    await until(() => world.media.sent('stream.start').some(({ callSid }) => callSid === first.callId))
    world.media.hangUp(first.legId)

    for (const digits of ['', '2']) {
      const { legId, collect, callId } = await asked('2')
      await end(legId, collect.collectId, digits)
      await until(() => world.media.sent('leg.play').some(body => body.legId === legId))
      assert.is((await world.ask(`GET /v1/calls/${callId}`)).body.status, 'in_progress')
      assert.is((await world.ask(`GET /v1/calls/${callId}/recording`)).status, 404)
      assert.is((await world.ask(`GET /v1/calls/${callId}/transcript`)).body.status, 'failed')
      const { body } = await world.ask(`GET /v1/calls/${callId}/streams`)
      assert.equal(
        body.data.map(({ status }: { status: string }) => status),
        ['stopped'],
      )
      assert.not(world.media.sent('recording.start').some(({ recordingId }) => recordingId === callId))
      assert.not(world.media.sent('stream.start').some(({ callSid }) => callSid === callId))
      world.media.hangUp(legId)
      await world.media.committed()
    }
  },
  LIMIT,
)

test(
  'while the caller is asked, capture can be paused: what is typed is masked, and is no answer; resumed, the question stands',
  async () => {
    await world.ask('PATCH /v1/organisation', { pci: { enabled: true } })
    for (const [to, more] of [
      ['6', { recording_consent: { key: '1' } }],
      ['7', { recording_announcement: 'Calls are recorded.' }],
    ] as const) {
      await route(to, more)
      const { legId, collect, callId } = await asked(to)
      const paused = await world.ask(`POST /v1/calls/${callId}/pci`, { action: 'pause' })
      assert.equal([paused.status, paused.body.paused], [200, true], paused.text)
      assert.equal(world.media.sent('capture.pause').at(-1)?.target, { legId })
      // Media masks; control does so again.
      for (const key of '4111') world.media.emit('leg.dtmf', { legId, key, masked: false, source: 'rfc4733' })
      await world.media.committed()
      const { body: events } = await world.ask(`GET /v1/events?type=call.dtmf&limit=100`)
      const keys = events.data
        .map((event: { data: { object: { call_id: string; digit: string } } }) => event.data.object)
        .filter((object: { call_id: string }) => object.call_id === callId)
      assert.equal(
        keys.map(({ digit }: { digit: string }) => digit),
        ['*', '*', '*', '*'],
      )
      const resumed = await world.ask(`POST /v1/calls/${callId}/pci`, { action: 'resume' })
      assert.equal([resumed.status, resumed.body.paused], [200, false], resumed.text)
      await end(legId, collect.collectId, to === '6' ? '1' : '')
      assert.is((await world.ask(`GET /v1/calls/${callId}`)).body.status, 'in_progress')
      world.media.hangUp(legId)
      await world.media.committed()
    }
  },
  LIMIT,
)

test(
  'while the announcement is heard the recording can be paused, resumed and stopped: it has begun',
  async () => {
    await route('8', { recording_announcement: 'Calls are recorded.' })
    const { media } = world
    for (const name of ['recording.pause', 'recording.resume'] as const) media.overrides.set(name, () => ({}))
    const { legId, collect, callId } = await asked('8')
    await until(() => media.sent('transcript.start').some(({ transcriptId }) => transcriptId === callId))
    for (const [what, status] of [
      ['pause', 'paused'],
      ['resume', 'recording'],
      ['pause', 'paused'],
    ]) {
      const done = await world.ask(`POST /v1/calls/${callId}/recording/${what}`)
      assert.equal([done.status, done.body.status], [200, status], done.text)
    }
    await end(legId, collect.collectId, '')
    const { body } = await world.ask(`GET /v1/calls/${callId}/recording`)
    assert.is(body.status, 'paused', 'it stays so once the call goes on')
    media.hangUp(legId)
    await media.committed()
  },
  LIMIT,
)

test(
  'who hangs up during the announcement leaves a recording and a transcript that are listed, not a file of nobody',
  async () => {
    const { media } = world
    for (const isNoted of [true, false]) {
      if (!isNoted) media.overrides.set('leg.collect', () => 'silence')
      const { legId, callId } = await asked('8')
      const read = (what: string) => world.ask(`GET /v1/calls/${callId}/${what}`)
      if (isNoted) await until(() => media.sent('transcript.start').some(({ transcriptId }) => transcriptId === callId))
      media.hangUp(legId)
      media.emit('recording.ready', {
        ...{ recordingId: callId, file: `${callId}.wav`, sampleRateHz: 8000, durationMs: 900, sizeBytes: 28_892 },
        channels: [{ legId }],
        segments: [],
      })
      media.emit('transcript.ready', { transcriptId: callId, durationMs: 900 })
      await media.committed()
      const { body } = await read('recording')
      assert.equal([body.status, body.duration_ms], ['ready', 900])
      if (isNoted) assert.is((await read('transcript')).body.status, 'ready')
      media.overrides.delete('leg.collect')
    }
  },
  LIMIT,
)

test(
  'the question is asked in the language of who leads the call, by the key that agrees; whatever is recorded of it is named',
  async () => {
    const { media } = world
    const assistants = new Map<string, string>()
    for (const language of ['he', 'es-MX', 'fr', 'de', 'pt', 'it', 'en', 'ja']) {
      assistants.set(language, await world.make('/assistants', { name: language, language }))
    }
    const heard = async (number: string, target: object, key: string) => {
      await route(number, { target, recording_consent: { key } })
      const { legId, collect } = await asked(number)
      media.hangUp(legId)
      await media.committed()
      const [question] = collect.prompts
      if (question?.kind !== 'speech') throw new Error('nothing is said')
      return question
    }
    for (const [language, id] of assistants) {
      const question = await heard(`90${language}`, { type: 'assistant', id }, '7')
      assert.is(question.language, language === 'ja' ? null : language)
      assert.equal(question.recorded, ['consent-before', 'place-7', 'consent-behind'])
      assert.match(question.text, /7/)
    }
    const queue = await world.make('/queues', { name: 'Hilfe', voice_assistant_id: assistants.get('de') })
    const inLine = await heard('91', { type: 'queue', id: queue }, '*')
    assert.equal([inLine.language, inLine.recorded?.[1]], ['de', 'key-star'])
    assert.match(inLine.text, /Sterntaste/)
    const room = await world.make('/conference_rooms', { name: 'Sala', settings: { language: 'es' } })
    const inRoom = await heard('92', { type: 'room', id: room }, '0')
    assert.equal([inRoom.language, inRoom.recorded?.[1]], ['es', 'key-0'])
  },
  LIMIT,
)

test(
  'who does not agree is hung up where that is wanted',
  async () => {
    await route('3', { recording_consent: { key: '#', otherwise: 'hang_up' } })
    const { legId, collect, callId } = await asked('3')
    await end(legId, collect.collectId, '')
    const { reason } = await world.media.command('leg.hangup', legId)
    assert.is(reason, 'rejected')
    await world.media.committed()
    const { body } = await world.ask(`GET /v1/calls/${callId}`)
    assert.is(body.status, 'completed')
    assert.equal(await eventTypes(world, callId), ['call.created', 'call.answered', 'call.ended'])
  },
  LIMIT,
)

test(
  'a restart of control in the middle of the question loses neither it nor its answer',
  async () => {
    await route('4', { recording_consent: { key: '1' } })
    const { legId, collect, callId } = await asked('4')
    await world.restart()
    await end(legId, collect.collectId, '1')
    await until(() => world.media.sent('recording.start').some(({ recordingId }) => recordingId === callId))
    world.media.hangUp(legId)
  },
  LIMIT,
)

test(
  'of a call whose announcement nobody here can say nothing is kept, and it goes on',
  async () => {
    await route('5', { recording_announcement: 'Calls are recorded.' })
    const { media } = world
    media.overrides.set('leg.collect', () => ({ failure: 'invalid', message: 'no voice' }))
    media.dialIn('part_unheard', '5')
    const { room } = await media.command('leg.answer', 'part_unheard')
    await until(() => media.sent('leg.collect').some(({ collectId }) => collectId === 'consent-unheard'))
    assert.equal(room.capture, { recordingId: null, transcript: null })
    const unheard = media.sent('leg.collect').find(({ collectId }) => collectId === 'consent-unheard')
    assert.is(unheard?.agreement, undefined, 'not even for the moment of trying')
    media.overrides.delete('leg.collect')
    await end('part_unheard', 'consent-unheard', '')
    await until(() => media.sent('leg.play').some(({ legId }) => legId === 'part_unheard'))
    assert.is((await world.ask(`GET /v1/calls/${room.roomId}/recording`)).status, 404)
    media.hangUp('part_unheard')
  },
  LIMIT,
)

test(
  'where the organisation demands consent to record: who has given it is recorded unasked, others are asked by the key or not recorded',
  async () => {
    await world.ask('PATCH /v1/organisation', { require_consent: ['record'] })
    await route('31', {})
    await route('32', { recording_consent: { key: '1' } })
    const dial = async (to: string, phone: string) => {
      const legId = `part_consent${++calls}`
      world.media.dialIn(legId, to, phone)
      return { legId, room: (await world.media.command('leg.answer', legId)).room }
    }
    const recorded = ({ room }: { room: { capture?: { recordingId: string | null } } }) =>
      room.capture?.recordingId ?? null
    const stranger = await dial('31', '+14155550151')
    assert.is(recorded(stranger), null)
    await until(() => world.media.sent('leg.play').some(({ legId }) => legId === stranger.legId))
    const refused = await world.ask(`POST /v1/calls/${stranger.room.roomId}/recording/start`)
    assert.equal([refused.status, refused.body.error.code], [403, 'consent_missing'])
    const streamed = (roomId: string) => world.ask(`POST /v1/calls/${roomId}/streams`, { url: 'ws://127.0.0.1:9/' })
    const unsent = await streamed(stranger.room.roomId)
    assert.equal([unsent.status, unsent.body.error?.code], [403, 'consent_missing'])
    assert.equal((await world.ask(`GET /v1/calls/${stranger.room.roomId}/streams`)).body.data, [], 'nothing is kept')

    const asked = await dial('32', '+14155550152')
    const { collectId } = await world.media.command('leg.collect', asked.legId)
    world.clock.advance(4000)
    world.clock.set(-3_600_000)
    await end(asked.legId, collectId, '1')
    world.clock.set(3_600_000)
    const { data } = (await world.ask(`GET /v1/consents?phone=${encodeURIComponent('+14155550152')}`)).body
    assert.equal(
      data.map((consent: { purpose: string; evidence: object }) => [consent.purpose, consent.evidence]),
      [['record', { ...data[0].evidence, type: 'call', call_id: asked.room.roomId, text: 'Key 1' }]],
    )
    assert.is(data[0].evidence.offset_ms, 4000, 'by the steady clock, which this test has moved')
    assert.is((await streamed(asked.room.roomId)).status, 201, 'whoever has agreed is streamed')
    for (const to of ['31', '32']) {
      const known = await dial(to, '+14155550152')
      assert.is(recorded(known), known.room.roomId, 'from the first sample on')
      world.media.hangUp(known.legId)
    }
    await world.ask(`POST /v1/consents/${data[0].id}/revoke`)
    const revoked = await dial('31', '+14155550152')
    assert.is(recorded(revoked), null)
    for (const { legId } of [stranger, asked, revoked]) world.media.hangUp(legId)
    await world.media.committed()
    await world.ask('PATCH /v1/organisation', { require_consent: [] })
  },
  LIMIT,
)

test.run()
