import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { type LiveWorld, makeFlow, makeLiveWorld } from '../assistants/live-world.ts'

const test = suite('control/capture-settings/capture-settings')

const LIMIT = { timeoutMs: 60_000 }
const GRAPH = {
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
}

let calls = 0
let world: LiveWorld

test.before(async () => {
  world = await makeLiveWorld({ allowPrivateUrls: ['127.0.0.0/8'] })
})
test.after(() => world.close())

/** What is kept of a call from its first sample on. */
async function kept(number: string) {
  const legId = `part_${++calls}`
  const { room } = await world.media.dialInUntil('leg.answer', legId, number)
  const { body: streams } = await world.ask(`GET /v1/calls/${room.roomId}/streams`)
  const { status } = await world.ask(`GET /v1/calls/${room.roomId}/recording`)
  world.media.hangUp(legId)
  await world.media.committed()
  const { recordingId = null, transcript = null } = room.capture ?? {}
  assert.is(status, recordingId === null ? 404 : 200, 'the row says what media does')
  return {
    record: recordingId === room.roomId,
    transcribe: transcript?.transcriptId === room.roomId ? (transcript.language ?? 'any') : false,
    streams: streams.data.map(({ url }: { url: string }) => url),
  }
}

const NOTHING = { record: false, transcribe: false, streams: [] }
const stream = (name: string) => ({ url: `ws://127.0.0.1:9/${name}`, tracks: 'both' })

test(
  'record, transcribe and streams of an inbound route hold from the first sample of its calls',
  async () => {
    const route = {
      match: { to: '1' },
      target: { type: 'echo' },
      record: true,
      transcribe: true,
      streams: [stream('route')],
    }
    const id = await world.make('/inbound_routes', route)
    assert.equal(await kept('1'), { record: true, transcribe: 'any', streams: [stream('route').url] })
    const { body } = await world.ask(`PATCH /v1/inbound_routes/${id}`, { record: false })
    assert.is(body.record, false)
    assert.is(body.transcribe, true)
    assert.equal(await kept('1'), { record: false, transcribe: 'any', streams: [stream('route').url] })
    await world.ask(`PATCH /v1/inbound_routes/${id}`, { record: null, transcribe: null, streams: null })
    assert.equal(await kept('1'), NOTHING)
  },
  LIMIT,
)

test(
  'an assistant, a flow and a queue say what is kept of the calls that they are given, each field by itself; the route wins over them',
  async () => {
    const assistant = await world.make('/assistants', {
      name: 'Desk',
      language: 'en-GB',
      record: true,
      transcribe: true,
    })
    const queue = await world.make('/queues', { name: 'Help', record: true, streams: [stream('queue')] })
    const flow = await makeFlow(world, GRAPH, '30')
    const changed = await world.ask(`PATCH /v1/flows/${flow}`, { record: true })
    assert.is(changed.body.record, true)
    assert.equal(await kept('30'), { ...NOTHING, record: true })
    const target = (type: string, id: string) => ({ target: { type, id } })
    await world.make('/inbound_routes', { match: { to: '31' }, ...target('assistant', assistant) })
    assert.equal(await kept('31'), { ...NOTHING, record: true, transcribe: 'en-GB' })
    await world.make('/inbound_routes', { match: { to: '32' }, ...target('queue', queue) })
    assert.equal(await kept('32'), { ...NOTHING, record: true, streams: [stream('queue').url] })
    await world.make('/inbound_routes', { match: { to: '33' }, ...target('queue', queue), record: false })
    assert.equal(await kept('33'), { ...NOTHING, streams: [stream('queue').url] })
  },
  LIMIT,
)

test(
  "the organisation's settings are the default of every call but those into conference rooms, whose own settings hold",
  async () => {
    const changed = await world.ask('PATCH /v1/organisation', { record: true, transcribe: true })
    assert.is(changed.body.record, true)
    await world.make('/inbound_routes', { match: { to: '4' }, target: { type: 'echo' } })
    assert.equal(await kept('4'), { ...NOTHING, record: true, transcribe: 'any' })
    await world.make('/inbound_routes', { match: { to: '41' }, target: { type: 'echo' }, record: false })
    assert.equal(await kept('41'), { ...NOTHING, transcribe: 'any' })
    const room = await world.make('/conference_rooms', { name: 'Board' })
    await world.make('/inbound_routes', { match: { to: '42' }, target: { type: 'room', id: room } })
    assert.equal(await kept('42'), NOTHING)
    const placed = async (body: object) => {
      const { body: call } = await world.ask('POST /v1/calls', { to: 'sip:bob@127.0.0.1', ...body })
      const { legId, room } = world.media.sent('leg.dial').at(-1)!
      world.media.hangUp(legId)
      await world.media.committed()
      return room.capture?.recordingId === call.id
    }
    assert.is(await placed({}), true)
    assert.is(await placed({ record: false }), false)
    await world.ask('PATCH /v1/organisation', { record: null, transcribe: null })
    assert.is(await placed({}), false)
    assert.is(await placed({ record: true }), true)
  },
  LIMIT,
)

test('streams that lead to a private address, or have too many tracks, are refused wherever they are set', async () => {
  const strict = await makeLiveWorld()
  const queue = await strict.make('/queues', { name: 'Help' })
  const assistant = await strict.make('/assistants', { name: 'Desk' })
  const flow = await strict.make('/flows', { name: 'Flow' })
  const streams = [stream('x')]
  for (const [line, body] of [
    ['POST /v1/inbound_routes', { match: {}, target: { type: 'echo' }, streams }],
    [`PATCH /v1/queues/${queue}`, { streams }],
    [`PATCH /v1/assistants/${assistant}`, { streams }],
    [`PATCH /v1/flows/${flow}`, { streams }],
    ['PATCH /v1/organisation', { streams }],
  ] as const) {
    const refused = await strict.ask(line, body)
    assert.is(refused.status, 400, line)
    assert.is(refused.body.error.param, 'streams[0].url')
  }
  const three = [1, 2, 3].map(n => ({ url: `ws://192.0.2.${n}/`, tracks: 'both' }))
  assert.is((await strict.ask('PATCH /v1/organisation', { streams: three })).status, 400)
  await strict.close()
})

test.run()
