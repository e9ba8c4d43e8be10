import * as assert from 'uvu/assert'
import { buildJobs } from '../../../control/wiring/background.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { callOf, type LiveWorld, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'

const test = suite('control/quality/want-review')

let world: LiveWorld
test.before(async () => {
  world = await makeLiveWorld()
  await world.make('/inbound_routes', { match: { to: '1' }, target: { type: 'echo' }, transcribe: true })
})
test.after(() => world.close())

const waiting = (callId: string) =>
  world.store.db.selectFrom('jobs').select('kind').where('kind', '=', 'call.review').where('key', '=', callId).execute()

for (const last of ['call', 'transcript'] as const) {
  test(`a call is looked at when it is over and written down, here the ${last} ends last; its summary is told by an event`, async () => {
    const { media, store, clock } = world
    const legId = `part_${last}`
    media.dialIn(legId, '1')
    const callId = await callOf(world, legId)
    // Of a call that is over by then media would know nothing.
    await until(() => media.sent('transcript.start').some(({ transcriptId }) => transcriptId === callId))
    await media.committed()
    const text = 'I am calling because my invoice is wrong.'
    media.emit('transcript.segment', { transcriptId: callId, legId, speaker: 'party', text, startMs: 0, endMs: 900 })
    const steps = {
      call: () => media.hangUp(legId),
      transcript: () => media.emit('transcript.ready', { transcriptId: callId, durationMs: 1000 }),
    }
    steps[last === 'call' ? 'transcript' : 'call']()
    await media.committed()
    assert.equal(await waiting(callId), [])
    steps[last]()
    await media.committed()
    assert.equal(await waiting(callId), [{ kind: 'call.review' }])
    const jobs = buildJobs({ store, config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent })
    await jobs.runDue()
    await jobs.close()
    const { body: summary } = await world.ask(`GET /v1/calls/${callId}/summary`)
    assert.is(summary.reason, text)
    const { body: events } = await world.ask(`GET /v1/calls/${callId}/events?limit=100`)
    const told = events.data.filter(({ type }: { type: string }) => type === 'call.summary.ready')
    assert.equal(
      told.map(({ data }: { data: { object: object } }) => data.object),
      [summary],
    )
    const { body: found } = await world.ask('GET /v1/transcripts/search?query=invoice')
    assert.ok(found.data.some(({ call_id }: { call_id: string }) => call_id === callId))
  })
}

test.run()
