import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { sendDue } from '../../../../control/calls/steps/follow.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { suite } from '../../../harness.ts'
import { type LiveWorld, makeLiveWorld } from '../../assistants/live-world.ts'
import { until } from '../../calls-world.ts'
import { ALL, isKept, kept } from './kept.ts'

const test = suite('control/calls/capture/consent-changed')
const LIMIT = { timeoutMs: 60_000 }
const KEPT = { record: true, transcribe: true, streams: [{ url: 'ws://127.0.0.1:9/waits' }] }

let world: LiveWorld
let calls = 0
test.before(async () => {
  world = await makeLiveWorld({ allowPrivateUrls: ['127.0.0.0/8'] })
  await world.ask('PATCH /v1/organisation', { require_consent: ['record'] })
})
test.after(() => world.close())

const phoneOf = (n: number): string => `+1415555${String(1000 + n)}`

/** Somebody calls a number, and the call is answered. */
async function called(number: string) {
  const { media } = world
  const phone = phoneOf(++calls)
  const legId = `part_waits${calls}`
  const { room } = await media.dialInUntil('leg.answer', legId, number, phone)
  return { legId, phone, callId: room.roomId, room }
}

const consents = async (phone: string): Promise<string> => {
  const evidence = { type: 'form', url: 'https://example.com/terms' }
  const { status, body, text } = await world.ask('POST /v1/consents', { phone, purpose: 'record', evidence })
  assert.is(status, 201, text)
  return body.id
}

async function isGone(found: () => Promise<object | undefined>): Promise<void> {
  for (const deadline = Date.now() + 10_000; (await found()) !== undefined; ) {
    assert.ok(Date.now() < deadline, 'it stays')
    await sleep(10)
  }
}

const NONE = { recording: null, transcript: null, streams: [] as string[] }

const route = (to: string, more: object) =>
  world.make('/inbound_routes', { match: { to }, target: { type: 'echo' }, ...more })

const stopped = (callId: string) => [
  world.media.sent('recording.stop').some(({ recordingId }) => recordingId === callId),
  world.media.sent('transcript.stop').some(({ transcriptId }) => transcriptId === callId),
]

test(
  'what a route, a queue and the organisation want begins with a consent that is given while the call runs, and ends with its revocation',
  async () => {
    await route('1', KEPT)
    await route('2', {})
    const queue = await world.make('/queues', { name: 'Help', ...KEPT })
    const begin = {
      route: () => called('1'),
      queue: async () => {
        const call = await called('2')
        const { status, text } = await world.ask(`POST /v1/calls/${call.callId}/transfer`, { queue_id: queue })
        assert.is(status, 200, text)
        return call
      },
      organisation: async () => {
        await world.ask('PATCH /v1/organisation', KEPT)
        const call = await called('2')
        await world.ask('PATCH /v1/organisation', { record: null, transcribe: null, streams: null })
        return call
      },
    }
    for (const [whose, run] of Object.entries(begin)) {
      const { callId, legId, phone, room } = await run()
      assert.equal(room.capture, { recordingId: null, transcript: null }, whose)
      await isKept(world, callId, NONE, whose)
      await consents(phoneOf(999))
      await world.media.committed()
      await isKept(world, callId, NONE, `${whose}: another one's consent`)
      const consent = await consents(phone)
      await isKept(world, callId, ALL, whose)
      await until(() => world.media.sent('recording.start').some(({ recordingId }) => recordingId === callId))
      await until(() => world.media.sent('transcript.start').some(({ transcriptId }) => transcriptId === callId))
      assert.equal(stopped(callId), [false, false])
      const revoked = await world.ask(`POST /v1/consents/${consent}/revoke`)
      assert.is(revoked.status, 200, revoked.text)
      await until(() => stopped(callId).every(Boolean))
      await until(() => world.media.sent('stream.stop').length > 0)
      await world.media.committed()
      assert.is((await world.ask(`POST /v1/calls/${callId}/streams`, KEPT.streams[0])).status, 403)
      world.media.hangUp(legId)
      await world.media.committed()
    }
  },
  LIMIT,
)

/** Transcripts that media has, by the calls of these tests. */
const written = new Set<string>()

for (const [noun, start, isRunning] of [
  ['recording', 'recording.start', (callId: string) => world.media.recordings.has(callId)],
  ['transcript', 'transcript.start', (callId: string) => written.has(callId)],
  ['streams', 'stream.start', () => world.media.streams.size > 0],
] as const) {
  test(
    `what is begun by POST (${noun}) and not yet at media when its consent is withdrawn does not run`,
    async () => {
      const { media } = world
      await route(`by-post-${noun}`, {})
      const { legId, phone, callId } = await called(`by-post-${noun}`)
      media.streams.clear()
      const consent = await consents(phone)
      let arrive = () => {}
      const before = media.sent(start).length
      media.overrides.set(start, () => new Promise<undefined>(resolve => (arrive = () => resolve(undefined))))
      media.overrides.set('transcript.stop', () =>
        written.delete(callId) ? undefined : { failure: 'not_found', message: 'none' },
      )
      const [path, body] = noun === 'streams' ? ['streams', KEPT.streams[0]] : [`${noun}/start`, undefined]
      const started = world.ask(`POST /v1/calls/${callId}/${path}`, body)
      await media.until(() => media.sent(start).length > before)
      assert.is((await world.ask(`POST /v1/consents/${consent}/revoke`)).status, 200)
      await isGone(() =>
        world.store.db.selectFrom('capture_changes').selectAll().where('call_id', '=', callId).executeTakeFirst(),
      )
      if (noun === 'transcript') written.add(callId)
      arrive()
      const answer = await started
      if (noun !== 'streams') assert.equal([answer.status, answer.body.error?.details.reason], [409, 'not_running'])
      await media.until(() => !isRunning(callId))
      await media.committed()
      const left = await kept(world, callId)
      assert.equal(left, {
        recording: noun === 'recording' ? 'failed' : null,
        transcript: noun === 'transcript' ? 'failed' : null,
        streams: noun === 'streams' ? ['stopped'] : [],
      })
      for (const name of [start, 'transcript.stop'] as const) media.overrides.delete(name)
      media.handled.length = 0
      await world.restart()
      assert.equal(media.sent(start), [], 'nor after a restart of control')
      assert.is(isRunning(callId), false)
      media.hangUp(legId)
      await media.committed()
    },
    LIMIT,
  )
}

test(
  'a consent that is withdrawn before the announcement is heard, with which media begins the recording, ends that recording too',
  async () => {
    const { media } = world
    await route('announced', { record: true, recording_announcement: 'Calls are recorded.' })
    const phone = phoneOf(calls + 1)
    const consent = await consents(phone)
    const { legId, callId } = await called('announced')
    const { agreement } = await media.command('leg.collect', legId)
    assert.equal([agreement?.digits, agreement?.capture.recordingId], [null, callId])
    const stops = () => media.sent('recording.stop').filter(({ recordingId }) => recordingId === callId).length
    assert.is((await world.ask(`POST /v1/consents/${consent}/revoke`)).status, 200)
    await until(() => stops() > 0)
    // Its first sample.
    media.recordings.add(callId)
    media.emit('leg.collected', { legId, collectId: 'consent', digits: '', ended: 'timeout', utterance: null })
    await media.until(() => !media.recordings.has(callId))
    await isGone(() =>
      world.store.db.selectFrom('capture_changes').selectAll().where('call_id', '=', callId).executeTakeFirst(),
    )
    await media.committed()
    assert.is((await kept(world, callId)).recording, 'ready')
    media.hangUp(legId)
    await media.committed()
  },
  LIMIT,
)

test(
  'who pressed no key and agrees afterwards by another way is kept from then on',
  async () => {
    await route('3', { ...KEPT, recording_consent: { key: '1', timeout_s: 5 } })
    const { legId, phone, callId } = await called('3')
    await world.media.command('leg.collect', legId)
    world.media.emit('leg.collected', { legId, collectId: 'consent', digits: '2', ended: 'timeout', utterance: null })
    await world.media.committed()
    await isKept(world, callId, { recording: null, transcript: 'failed', streams: ['stopped'] })
    await consents(phone)
    await isKept(world, callId, { ...ALL, streams: ['streaming', 'stopped'] })
    world.media.hangUp(legId)
    await world.media.committed()
  },
  LIMIT,
)

test(
  'a consent that comes while the key is being asked for counts when no key is pressed',
  async () => {
    await route('4', { ...KEPT, recording_consent: { key: '1', timeout_s: 5 } })
    const { legId, phone, callId } = await called('4')
    await world.media.command('leg.collect', legId)
    await consents(phone)
    world.media.emit('leg.collected', { legId, collectId: 'consent', digits: '', ended: 'timeout', utterance: null })
    await world.media.committed()
    await isKept(world, callId, ALL)
    world.media.hangUp(legId)
    await world.media.committed()
  },
  LIMIT,
)

test(
  'what another node has changed, or a process that died, media is told of when its node looks for it',
  async () => {
    await route('5', KEPT)
    const { legId, phone, callId } = await called('5')
    const { store } = world
    await consents(phone)
    await isKept(world, callId, ALL)
    const call = await store.db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirstOrThrow()
    const tenant = { organisationId: call.organisation_id, livemode: call.livemode === 1 }
    const left = () =>
      store.db.selectFrom('capture_changes').selectAll().where('call_id', '=', callId).executeTakeFirst()
    await isGone(left)
    await forTenant(store.db, tenant).insert('capture_changes', {
      call_id: callId,
      node_id: call.node_id,
      action: 'stop',
    })
    sendDue(store)
    await until(() => stopped(callId).every(Boolean))
    await isGone(left)
    world.media.hangUp(legId)
    await world.media.committed()
  },
  LIMIT,
)

test.run()
