import * as assert from 'uvu/assert'
import { suite } from '../../../harness.ts'
import { type LiveWorld, makeFlow, makeLiveWorld } from '../../assistants/live-world.ts'
import { until } from '../../calls-world.ts'
import { ALL, isKept } from './kept.ts'

const test = suite('control/calls/capture/later-capture')
const LIMIT = { timeoutMs: 60_000 }
const KEPT = { record: true, transcribe: true, streams: [{ url: 'ws://127.0.0.1:9/later' }] }

let world: LiveWorld
let calls = 0
test.before(async () => {
  world = await makeLiveWorld({ allowPrivateUrls: ['127.0.0.0/8'] })
  await world.make('/inbound_routes', { match: { to: '1' }, target: { type: 'echo' } })
})
test.after(() => world.close())

/** Somebody calls, and nothing is kept of it so far. */
async function called(number = '1') {
  const { media } = world
  const legId = `part_later${++calls}`
  const { room } = await media.dialInUntil('leg.answer', legId, number)
  assert.equal(room.capture, { recordingId: null, transcript: null })
  return { legId, callId: room.roomId }
}

const transfer = async (callId: string, target: object) => {
  const { status, text } = await world.ask(`POST /v1/calls/${callId}/transfer`, target)
  assert.is(status, 200, text)
}

const NOTHING = { recording: null, transcript: null, streams: [] as string[] }

/** What media was told to begin. */
const begun = (callId: string) => ({
  recordings: world.media.sent('recording.start').filter(({ recordingId }) => recordingId === callId).length,
  transcripts: world.media.sent('transcript.start').filter(({ transcriptId }) => transcriptId === callId).length,
  streams: world.media.sent('stream.start').filter(({ callSid }) => callSid === callId).length,
})

/** The question that a leg is asked. */
const question = (legId: string) =>
  world.media.sent('leg.collect').filter(body => body.legId === legId && body.collectId === 'consent')

const waiting = (legId: string) =>
  until(() => world.media.sent('leg.play').some(play => play.legId === legId && play.playId === 'hold'))

test(
  'a queue, an assistant and a flow that a call is transferred to begin what they want kept of it, from that moment',
  async () => {
    const queue = await world.make('/queues', { name: 'Help', ...KEPT })
    const assistant = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', ...KEPT })
    const flow = await makeFlow(world, menu(), '200')
    await world.ask(`PATCH /v1/flows/${flow}`, KEPT)
    for (const target of [{ queue_id: queue }, { assistant_id: assistant }, { flow_id: flow }]) {
      const { legId, callId } = await called()
      await isKept(world, callId, NOTHING)
      await transfer(callId, target)
      await until(() => begun(callId).streams > 0 && begun(callId).transcripts > 0)
      await world.media.committed()
      await isKept(world, callId, ALL)
      assert.equal(begun(callId), { recordings: 1, transcripts: 1, streams: 1 })
      assert.equal(question(legId), [], 'nothing is to be said')
      // To the same again: it is kept already.
      await transfer(callId, target)
      await transfer(callId, { queue_id: queue })
      await waiting(legId)
      await isKept(world, callId, ALL)
      assert.equal(begun(callId).streams, 1)
      world.media.hangUp(legId)
      await world.media.committed()
    }
  },
  LIMIT,
)

test(
  'what was said of the call itself stays so, whatever leads it later; what its route said does not',
  async () => {
    const queue = await world.make('/queues', { name: 'Help', ...KEPT })
    const { media } = world
    for (const [said, expected] of [
      [{ record: false }, { ...ALL, recording: null }],
      [{ transcribe: false }, { ...ALL, transcript: null }],
      [{ streams: [] }, { ...ALL, streams: [] }],
      [{ record: false, transcribe: false, streams: [] }, NOTHING],
      [{}, ALL],
    ] as const) {
      const { body: call } = await world.ask('POST /v1/calls', { to: 'sip:bob@127.0.0.1', ...said })
      const { legId } = media.sent('leg.dial').at(-1)!
      media.pickUp(legId)
      await media.committed()
      await transfer(call.id, { queue_id: queue })
      await waiting(legId)
      await media.committed()
      await isKept(world, call.id, expected, JSON.stringify(said))
      media.hangUp(legId)
      await media.committed()
    }
    await world.make('/inbound_routes', { match: { to: '2' }, target: { type: 'echo' }, record: false })
    const { legId, callId } = await called('2')
    await transfer(callId, { queue_id: queue })
    await waiting(legId)
    await isKept(world, callId, ALL)
    media.hangUp(legId)
  },
  LIMIT,
)

test(
  'its announcement is heard before the call is led there, and what is kept begins with it; nobody hears it twice',
  async () => {
    const { media } = world
    const queue = await world.make('/queues', { name: 'Help', ...KEPT, recording_announcement: 'Calls are recorded.' })
    const other = await world.make('/queues', { name: 'More', ...KEPT, streams: [{ url: 'ws://127.0.0.1:9/more' }] })
    await world.ask(`PATCH /v1/queues/${other}`, { recording_announcement: 'They are.' })
    const { legId, callId } = await called()
    await transfer(callId, { queue_id: queue })
    const asked = await media.command('leg.collect', legId)
    assert.equal(
      asked.prompts.map(source => ('text' in source ? source.text : source.kind)),
      ['Calls are recorded.'],
    )
    assert.is(asked.agreement?.digits, null, 'with its first sample')
    const { recordingId, transcript, streams } = asked.agreement!.capture
    assert.equal([recordingId, transcript?.transcriptId, streams?.length], [callId, callId, 1])
    assert.equal([begun(callId).recordings, begun(callId).streams], [0, 0], 'media begins it by itself')
    assert.not(media.sent('leg.play').some(play => play.legId === legId && play.playId === 'hold'))
    const again = await world.ask(`POST /v1/calls/${callId}/transfer`, { queue_id: other })
    assert.equal([again.status, again.body.error.details.reason], [409, 'being_asked'])
    media.press(legId, '', 'timeout')
    await waiting(legId)
    await media.committed()
    await isKept(world, callId, ALL)
    await transfer(callId, { queue_id: other })
    await until(() => begun(callId).streams === 2)
    assert.is(question(legId).length, 1)
    media.hangUp(legId)
    await media.committed()
  },
  LIMIT,
)

test(
  'with a consent key nothing is kept before it is pressed; who presses another goes on, unrecorded, and is not asked again',
  async () => {
    const { media } = world
    const queue = await world.make('/queues', { name: 'Help', ...KEPT, recording_consent: { key: '1' } })
    const first = await called()
    await transfer(first.callId, { queue_id: queue })
    await media.command('leg.collect', first.legId)
    // The process that asked dies: another gets the answer.
    await world.restart()
    assert.equal(begun(first.callId), { recordings: 0, transcripts: 0, streams: 0 })
    await isKept(world, first.callId, { ...NOTHING, streams: ['connecting'] })
    media.press(first.legId, '1')
    await waiting(first.legId)
    await until(() => begun(first.callId).streams === 1)
    await media.committed()
    await isKept(world, first.callId, ALL)
    media.hangUp(first.legId)

    const second = await called()
    await transfer(second.callId, { queue_id: queue })
    await media.command('leg.collect', second.legId)
    media.press(second.legId, '2')
    await waiting(second.legId)
    const unkept = { ...NOTHING, streams: ['stopped'] }
    await isKept(world, second.callId, unkept)
    await transfer(second.callId, { queue_id: queue })
    const { body: events } = await world.ask('GET /v1/events?type=queue.call.joined&limit=100')
    const joined = events.data.filter((event: { data: { object: { call_id: string } } }) => {
      return event.data.object.call_id === second.callId
    })
    assert.is(joined.length, 2)
    assert.is(question(second.legId).length, 1)
    await isKept(world, second.callId, unkept)
    media.hangUp(second.legId)

    await world.ask(`PATCH /v1/queues/${queue}`, { recording_consent: { key: '1', otherwise: 'hang_up' } })
    const third = await called()
    await transfer(third.callId, { queue_id: queue })
    await media.command('leg.collect', third.legId)
    media.press(third.legId, '', 'timeout')
    assert.is((await media.command('leg.hangup', third.legId)).reason, 'rejected')
    await media.committed()
  },
  LIMIT,
)

test(
  "an assistant that a flow gives its call on to keeps what it wants; the organisation's announcement is heard first",
  async () => {
    const { media } = world
    const assistant = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', ...KEPT })
    await makeFlow(world, giving(assistant), '300')
    const silent = await called('300')
    await until(() => begun(silent.callId).streams > 0 && begun(silent.callId).transcripts > 0)
    await media.committed()
    await isKept(world, silent.callId, ALL)
    assert.equal(question(silent.legId), [])
    media.hangUp(silent.legId)
    await media.committed()

    await world.ask('PATCH /v1/organisation', { recording_announcement: 'We record.' })
    const told = await called('300')
    const asked = await media.command('leg.collect', told.legId)
    assert.equal(
      asked.prompts.map(source => ('text' in source ? source.text : source.kind)),
      ['We record.'],
    )
    const greeted = () =>
      media.sent('leg.play').some(({ legId, sources }) => {
        return legId === told.legId && sources.some(source => 'text' in source && source.text === 'Hello.')
      })
    assert.not(greeted())
    media.press(told.legId, '', 'timeout')
    await until(greeted)
    await media.committed()
    await isKept(world, told.callId, ALL)
    const { body: run } = await world.ask(`GET /v1/calls/${told.callId}/flow_run`)
    assert.equal([run.status, run.assistant_id], ['running', assistant])
    media.hangUp(told.legId)
    await world.ask('PATCH /v1/organisation', { recording_announcement: null })
    await media.committed()
  },
  LIMIT,
)

test(
  'who was on hold hears the announcement, an assistant or a room, and what led the call before is silent and deaf',
  async () => {
    const { media } = world
    const queue = await world.make('/queues', { name: 'Help', record: true, recording_announcement: 'We record.' })
    const assistant = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.' })
    await world.make('/inbound_routes', { match: { to: '4' }, target: { type: 'assistant', id: assistant } })
    const { legId, callId } = await called('4')
    await media.command('leg.listen', legId)
    await until(() => world.programs.running > 0)
    await transfer(callId, { queue_id: queue })
    await media.command('leg.collect', legId)
    await until(() => world.programs.running === 0)
    const order = media.handled
      .filter(({ body }) => (body as { legId?: string }).legId === legId)
      .map(({ name }) => name)
    assert.ok(order.lastIndexOf('leg.stop_listen') < order.lastIndexOf('leg.collect'))
    assert.is(order.at(-1), 'leg.collect')
    media.hangUp(legId)
    await media.committed()

    const room = await world.make('/conference_rooms', { name: 'Board' })
    for (const [target, name] of [
      [{ queue_id: queue }, 'leg.collect'],
      [{ assistant_id: assistant }, 'leg.listen'],
      [{ room_id: room }, 'leg.move'],
    ] as const) {
      const held = await called()
      assert.is((await world.ask(`POST /v1/calls/${held.callId}/hold`)).status, 200)
      await until(() => media.sent('leg.hold').some(hold => hold.legId === held.legId && hold.held))
      await transfer(held.callId, target)
      await media.command(name, held.legId)
      assert.is(media.legs.get(held.legId)?.onHold, false, name)
      media.hangUp(held.legId)
      await media.committed()
    }
  },
  LIMIT,
)

const menu = () => ({
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'ask' }] },
    {
      key: 'ask',
      type: 'menu',
      script: 'Press one.',
      input: { modes: ['dtmf'], timeout_ms: 30_000 },
      transitions: [{ condition: { kind: 'else' }, next: 'end' }],
    },
    { key: 'end', type: 'end' },
  ],
})

const giving = (assistant: string) => ({
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'give' }] },
    {
      key: 'give',
      type: 'transfer',
      target: { type: 'assistant', id: assistant },
      transitions: [{ condition: { kind: 'always' }, next: 'end' }],
    },
    { key: 'end', type: 'end' },
  ],
})

test.run()
