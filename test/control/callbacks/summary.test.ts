import * as assert from 'uvu/assert'
import { summaryHandler } from '../../../control/callbacks/summary.ts'
import { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import type { Writer } from '../../../control/models/writer.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { callOf, type LiveWorld, makeFlow, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'

const test = suite('control/callbacks/summary')

const SAID = 'My fridge is broken, number 4711.'
const always = (next: string) => [{ condition: { kind: 'always' }, next }]

/** A flow that asks what it is about and books a callback. */
const GRAPH = {
  kind: 'voice',
  nodes: [
    { key: 'start', type: 'start', transitions: always('ask') },
    { key: 'ask', type: 'question', script: 'What is it about?', transitions: always('book') },
    { key: 'book', type: 'callback', transitions: always('bye') },
    { key: 'bye', type: 'end', script: 'Goodbye.' },
  ],
}

const jobsOf = ({ store, clock }: LiveWorld, writer: Writer | null) =>
  new JobRunner({
    store,
    now: clock.now,
    log: silent,
    handlers: { 'callback.summary': summaryHandler({ store, now: clock.now, writerFor: () => writer }) },
  })

const waiting = ({ store }: LiveWorld) =>
  store.db.selectFrom('jobs').select('key').where('kind', '=', 'callback.summary').execute()

const callback = async (world: LiveWorld) => (await world.ask('GET /v1/callbacks')).body.data[0]

/** A call that asked for a callback in words, and is over. */
async function asked(world: LiveWorld, graph = GRAPH, words = SAID): Promise<string> {
  const { media } = world
  await makeFlow(world, graph)
  media.dialIn('part_1', '2000', '+15550100199')
  const callId = await callOf(world, 'part_1')
  await media.command('leg.collect', 'part_1')
  // A callback whose call goes on has no summary yet.
  assert.equal(await waiting(world), [])
  media.say('part_1', words)
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  return callId
}

async function run(world: LiveWorld, writer: Writer | null): Promise<void> {
  const jobs = jobsOf(world, writer)
  await jobs.runDue()
  await jobs.close()
}

test("a callback's summary is what a model makes of the call that asked for it, once that is over", async () => {
  const world = await makeLiveWorld()
  const callId = await asked(world)
  assert.equal(await waiting(world), [{ key: callId }])
  assert.is((await callback(world)).summary, null)
  const read: string[] = []
  const write = async ({ text }: { text: string }) => {
    read.push(text)
    return { value: { summary: 'The fridge is broken.' }, text: '' }
  }
  await run(world, { write } as unknown as Writer)
  assert.is((await callback(world)).summary, 'The fridge is broken.')
  assert.equal(read, [`We: What is it about?\nCaller: ${SAID}\nWe: Goodbye.`])
  assert.equal(await waiting(world), [])
  await world.close()
})

test('without a model the summary is what the caller said, and nothing is made up', async () => {
  const world = await makeLiveWorld()
  await asked(world)
  await run(world, null)
  assert.is((await callback(world)).summary, SAID)
  await world.close()
})

test('of a call that a member placed, the words are those of the person who is called back, though the member was on the line first', async () => {
  const world = await makeLiveWorld()
  const callId = await asked(world)
  const { db } = world.store
  const leg = await db.selectFrom('participants').selectAll().where('id', '=', 'part_1').executeTakeFirstOrThrow()
  const member = { ...leg, id: 'part_0', ring_id: 'ring_0', created: '2026-01-01T00:00:00.000Z' }
  await db.insertInto('participants').values(member).execute()
  const { organisation_id, livemode } = leg
  const said = { organisation_id, livemode, call_id: callId, speaker: 'participant' as const, end_ms: 9 }
  const lines = [
    { ...said, id: 'seg_1', participant_id: 'part_0', text: 'How can I help?', start_ms: 1 },
    { ...said, id: 'seg_2', participant_id: 'part_1', text: 'My cellar is wet.', start_ms: 2 },
  ]
  await db.insertInto('transcript_segments').values(lines).execute()
  await run(world, null)
  assert.is((await callback(world)).summary, 'My cellar is wet.')
  await world.close()
})

test('a callback that an assistant has booked has its summary too, of what its caller said', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const id = await world.make('/assistants', { name: 'Desk' })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  media.dialIn('part_1', '3000', '+15550100199')
  await callOf(world, 'part_1')
  await media.command('leg.listen', 'part_1')
  media.utter('part_1', 'My fridge is broken, please call me back.')
  const isTold = () =>
    media.sent('leg.play').some(({ sources }) => sources.some(one => 'text' in one && /call you back/.test(one.text)))
  await until(isTold)
  media.utter('part_1', 'No thank you, goodbye.')
  await until(() => !media.legs.has('part_1'))
  await media.committed()
  await run(world, null)
  const { source, summary } = await callback(world)
  assert.is(source, 'ai')
  assert.match(summary, /My fridge is broken/)
  await world.close()
})

test('a model that does not answer is asked again; at last the summary is what the caller said', async () => {
  const world = await makeLiveWorld()
  await asked(world)
  let tries = 0
  const write = async () => {
    tries++
    return { failure: 'unavailable', message: 'it is away' }
  }
  for (let i = 0; i < 5; i++) {
    assert.is((await callback(world)).summary, null)
    await run(world, { write } as unknown as Writer)
    await world.store.db.updateTable('jobs').set({ due_at: world.clock.now().toISOString() }).execute()
  }
  assert.is(tries, 5)
  assert.is((await callback(world)).summary, SAID)
  await world.close()
})

test('a call in which nothing was said has no summary', async () => {
  const world = await makeLiveWorld()
  const [start, , book, bye] = GRAPH.nodes as [object, object, object, object]
  await makeFlow(world, { ...GRAPH, nodes: [{ ...start, transitions: always('book') }, book, bye] })
  world.media.dialIn('part_1', '2000', '+15550100199')
  await until(() => world.media.sent('leg.play').length > 0 && !world.media.legs.has('part_1'))
  await world.media.committed()
  await run(world, { write: async () => ({ value: null, text: 'Something made up.' }) })
  assert.is((await callback(world)).summary, null)
  await world.close()
})

test('a call that is transcribed is summed up from its transcript, when that is whole', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '192.0.2.1' })
  const callId = await world.make('/calls', { to: '+15550100199', transcribe: true })
  const { legId } = await media.command('leg.dial')
  media.pickUp(legId)
  await media.command('transcript.start')
  await world.make('/callbacks', { phone: '+15550100199', call_id: callId })
  const line = { transcriptId: callId, legId, startMs: 100, endMs: 900 }
  media.emit('transcript.segment', { ...line, speaker: 'product', text: 'Good day.' })
  media.emit('transcript.segment', { ...line, speaker: 'party', text: SAID, startMs: 1000 })
  media.hangUp(legId)
  await media.committed()
  assert.equal(await waiting(world), [])
  media.emit('transcript.ready', { transcriptId: callId, durationMs: 2000 })
  await media.committed()
  await run(world, null)
  assert.is((await callback(world)).summary, SAID)
  // When words are deleted, results made from them are deleted too.
  const { id } = await callback(world)
  assert.is((await world.ask(`POST /v1/callbacks/${id}/cancel`)).status, 200)
  const told = async () =>
    (await world.ask(`GET /v1/events?object_id=${id}`)).body.data.map(({ type }: { type: string }) => type)
  assert.equal(await told(), ['callback.cancelled', 'callback.created'])
  assert.is((await world.ask(`DELETE /v1/calls/${callId}/transcript`)).status, 200)
  assert.is((await callback(world)).summary, null)
  assert.equal(await told(), ['callback.created'], 'neither do events quote them')
  await world.close()
})

test('a summary that a model writes while the words are deleted is not stored', async () => {
  const world = await makeLiveWorld()
  const callId = await asked(world)
  const write = async () => {
    assert.is((await world.ask(`DELETE /v1/calls/${callId}/transcript`)).status, 200)
    return { value: { summary: SAID }, text: '' }
  }
  await run(world, { write } as unknown as Writer)
  assert.is((await callback(world)).summary, null)
  await world.close()
})

test.run()
