import * as assert from 'uvu/assert'
import { notesHandler, onTranscriptReady, readNotes } from '../../../control/calls/session-notes.ts'
import type { FlowModel } from '../../../control/flows/model.ts'
import { JobRunner } from '../../../control/jobs/runner.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { makeCallsWorld } from '../calls-world.ts'

const test = suite('control/calls/session-notes')

const NOTES = { summary: 'We ship.', decisions: ['Ship on Thursday.'], action_items: ['Ann writes.'] }

/** A session of the open room that is over, and jobs that a model answers by `reply`. */
async function meeting(settings: object, reply: FlowModel['reply'], lines = ['part_1: Let us ship on Thursday.']) {
  const world = await makeCallsWorld()
  const { media, control, openRoom, store, clock } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings })
  media.dialIn('part_1', '1001')
  const { room } = await media.command('leg.move', 'part_1')
  media.hangUp('part_1')
  await media.committed()
  const body = { transcriptId: room.roomId, durationMs: 1000 }
  await store.transaction(trx => onTranscriptReady(trx, { body, at: clock.now().toISOString() }))
  const model = { reply, judge: async () => ({ intent: null }) }
  const handler = notesHandler({
    store,
    now: clock.now,
    log: silent,
    modelFor: async () => model,
    transcriptOf: async () => lines,
  })
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers: { 'conference.notes': handler } })
  const history = async () => (await control.ask(`GET /v1/conference_rooms/${openRoom}/history`)).body.data[0].notes
  const told = async () => (await control.ask('GET /v1/events?type=conference.notes.ready')).body.data
  return { world, jobs, history, told }
}

test('settings.ai_note_taker: the notes are in the history, and conference.notes.ready tells of them', async () => {
  const asked: string[] = []
  const { world, jobs, history, told } = await meeting({ ai_note_taker: true, transcribe: true }, async request => {
    asked.push(request.history[0]!.text)
    return { text: `Here: ${JSON.stringify(NOTES)}`, done: true, value: null }
  })
  await jobs.runDue()
  assert.equal(asked, ['part_1: Let us ship on Thursday.'])
  assert.equal(await history(), NOTES)
  assert.equal(
    (await told()).map((event: { data: { object: { notes: object } } }) => event.data.object.notes),
    [NOTES],
  )
  await jobs.runDue()
  assert.is((await told()).length, 1)
  await jobs.close()
  await world.close()
})

test('without a note taker, or without a model, there are no notes; what fails for now is tried again', async () => {
  const none = await meeting({ transcribe: true }, async () => ({ text: '{}', done: true, value: null }))
  assert.is(await none.jobs.runDue(), 0)
  await none.world.close()
  let tries = 0
  const late = await meeting({ ai_note_taker: true, transcribe: true }, async () => {
    tries++
    if (tries === 1) return { failure: 'timeout', message: 'too slow' }
    return { failure: 'unavailable', message: 'no model provider is configured' }
  })
  await late.jobs.runDue()
  assert.is(tries, 1)
  late.world.clock.advance(60_000)
  await late.jobs.runDue()
  assert.is(tries, 2)
  assert.equal(await late.told(), [])
  await late.jobs.close()
  await late.world.close()
})

test('what a model answers is read as JSON wherever it stands; what is none is a summary', () => {
  assert.equal(readNotes(`\`\`\`json\n${JSON.stringify(NOTES)}\n\`\`\``), NOTES)
  assert.equal(readNotes('We met.'), { summary: 'We met.', decisions: [], action_items: [] })
  assert.equal(readNotes('{"summary": 1, "decisions": "x", "action_items": [1, "a"]}'), {
    summary: '1',
    decisions: [],
    action_items: ['a'],
  })
})

test.run()
