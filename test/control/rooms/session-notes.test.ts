import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import { forTenant, tenantOf } from '../../../control/kernel/tenancy.ts'
import { Models } from '../../../control/models/choice.ts'
import { type WriterFor, writers } from '../../../control/models/writer.ts'
import { removeTranscript } from '../../../control/retention/removal.ts'
import { notesHandler, wantNotes } from '../../../control/rooms/session-notes.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'
import { type CallsWorld, makeCallsWorld } from '../calls-world.ts'

const test = suite('control/rooms/session-notes')

const NOTES = { summary: 'We ship.', decisions: ['Ship on Thursday.'], action_items: ['Ann writes.'] }

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Asked = any

/** A provider on a real socket that answers with these, one after the other; a number is a status. */
async function provider(...answers: (string | number | object)[]) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    asked.push(JSON.parse(text))
    const answer = answers.shift() ?? 500
    if (typeof answer === 'number') return response.writeHead(answer).end()
    const content = typeof answer === 'string' ? answer : JSON.stringify(answer)
    response.end(JSON.stringify({ choices: [{ message: { content } }] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const writerFor = writers(new Models({ baseUrl, apiKey: null, defaultModel: 'm' }))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { asked, writerFor, close }
}

/** The transcript of a session: what a member said, after what the product told her. */
async function say({ store, clock }: CallsWorld, callId: string, lines: string[]): Promise<void> {
  const created = clock.now().toISOString()
  await store.transaction(async trx => {
    const call = await trx.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirstOrThrow()
    const scoped = forTenant(trx, tenantOf(call))
    const ended = { status: 'ready' as const, language: 'en', failed_reason: null, duration_ms: 1000, created }
    await scoped.insert('transcripts', { id: callId, ...ended })
    const told = { speaker: 'product' as const, text: 'You are the first person in this room.' }
    const said = lines.map(text => ({ speaker: 'participant' as const, text }))
    for (const [index, line] of [told, ...said].entries()) {
      const times = { start_ms: index, end_ms: index + 1 }
      await scoped.insert('transcript_segments', {
        id: `seg_${index}`,
        call_id: callId,
        participant_id: 'part_1',
        ...line,
        ...times,
      })
    }
  })
}

/** A session of the open room that is over, and what has its notes written. */
async function meeting(settings: object, writerFor: WriterFor, lines = ['Let us ship on Thursday.']) {
  const world = await makeCallsWorld()
  const { media, control, openRoom, store, clock } = world
  await control.ask(`PATCH /v1/conference_rooms/${openRoom}`, { settings })
  media.dialIn('part_1', '1001')
  const { room } = await media.command('leg.move', 'part_1')
  media.hangUp('part_1')
  await media.committed()
  await store.transaction(trx => wantNotes(trx, room.roomId, clock.now().toISOString()))
  await say(world, room.roomId, lines)
  const handler = notesHandler({ store, now: clock.now, log: silent, writerFor })
  const jobs = new JobRunner({ store, now: clock.now, log: silent, handlers: { 'conference.notes': handler } })
  const history = async () => (await control.ask(`GET /v1/conference_rooms/${openRoom}/history`)).body.data[0].notes
  const told = async () => (await control.ask('GET /v1/events?type=conference.notes.ready')).body.data
  const close = async () => {
    await jobs.close()
    await world.close()
  }
  return { world, jobs, history, told, close }
}

async function forget({ store }: CallsWorld, callId: string): Promise<void> {
  const call = await store.db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirstOrThrow()
  assert.is(await store.transaction(trx => removeTranscript(trx, tenantOf(call), callId)), null)
}

const NOTED = { ai_note_taker: true, transcribe: true }

/** The notes that come of a provider's answers, and what it was asked. */
async function notesFrom(answers: (string | number | object)[], settings: object = NOTED) {
  const { asked, writerFor, close } = await provider(...answers)
  const held = await meeting(settings, writerFor)
  await held.jobs.runDue()
  const notes = await held.history()
  await held.close()
  close()
  return { notes, asked }
}

test('settings.ai_note_taker: the notes are in the history, and conference.notes.ready tells of them once', async () => {
  const { asked, writerFor, close } = await provider(NOTES)
  const { jobs, history, told, close: end } = await meeting(NOTED, writerFor)
  await jobs.runDue()
  assert.equal(await history(), NOTES)
  assert.equal(
    (await told()).map((event: { data: { object: { notes: object } } }) => event.data.object.notes),
    [NOTES],
  )
  await jobs.runDue()
  assert.is((await told()).length, 1)
  const [{ messages, response_format: format }] = asked
  assert.is(messages[1].content, 'part_1: Let us ship on Thursday.')
  assert.equal([format.type, format.json_schema.strict], ['json_schema', true])
  const { schema } = format.json_schema
  assert.equal([schema.required, schema.additionalProperties], [['summary', 'decisions', 'action_items'], false])
  await end()
  close()
})

test('with the transcript of a session its notes are deleted, and the event that tells them; notes that a model writes meanwhile are not stored', async () => {
  const { writerFor, close } = await provider(NOTES)
  const { world, jobs, history, told, close: end } = await meeting(NOTED, writerFor)
  await jobs.runDue()
  const { id } = await world.store.db.selectFrom('transcripts').select('id').executeTakeFirstOrThrow()
  await forget(world, id)
  assert.equal([await history(), await told()], [{ summary: '', decisions: [], action_items: [] }, []])
  await end()
  close()
  const slow: WriterFor = () => ({
    write: async () => {
      await forget(held.world, session)
      return { value: NOTES, text: '' } as never
    },
  })
  const held = await meeting(NOTED, slow)
  const { id: session } = await held.world.store.db.selectFrom('transcripts').select('id').executeTakeFirstOrThrow()
  await held.jobs.runDue()
  assert.equal([await held.history(), await held.told()], [{ summary: '', decisions: [], action_items: [] }, []])
  await held.close()
})

test('a model is asked for one shape, in the language of the room', async () => {
  for (const [language, name] of [
    ['he', 'Hebrew'],
    ['en', 'English'],
  ]) {
    const { asked } = await notesFrom([NOTES], { ...NOTED, language })
    const system: string = asked[0].messages[0].content
    assert.match(system, `Write in ${name}.`)
    assert.not.match(system, /"say"|"done"|phone/)
  }
})

test('ordinary answers give notes: JSON in a fence or among words, and of a provider that knows no structured output', async () => {
  for (const answer of [
    `\`\`\`json\n${JSON.stringify(NOTES, null, 2)}\n\`\`\``,
    `Here are your notes:\n${JSON.stringify(NOTES)}\nAnything else?`,
  ]) {
    const { notes, asked } = await notesFrom([answer])
    assert.equal([notes, asked.length], [NOTES, 1])
  }
  const { notes, asked } = await notesFrom([400, NOTES])
  assert.equal(notes, NOTES)
  assert.equal([asked.length, asked[1].response_format], [2, undefined])
})

test('an answer of another shape is repaired once', async () => {
  const { notes, asked } = await notesFrom([{ say: 'We ship.', done: true }, NOTES])
  assert.equal(notes, NOTES)
  assert.equal(
    asked[1].messages.map(({ role }: Asked) => role),
    ['system', 'user', 'assistant', 'user'],
  )
})

test('what cannot be repaired is plain text, and nothing of it is lost', async () => {
  for (const [answers, expected] of [
    [['We met.', 'We met, I said.'], { summary: 'We met.', decisions: [], action_items: [] }],
    [['We met.', 500], { summary: 'We met.', decisions: [], action_items: [] }],
    [
      [{ summary: 'We met.', decisions: 'Ship.' }, 'no'],
      { summary: 'We met.', decisions: ['Ship.'], action_items: [] },
    ],
    [[{ notes: 'We met.' }, 'no'], { summary: '{"notes":"We met."}', decisions: [], action_items: [] }],
  ] as const) {
    const { notes, asked } = await notesFrom([...answers])
    assert.equal(notes, expected)
    assert.is(asked.length, 2, 'one repair')
  }
})

test('without a note taker, or without a model, there are no notes; of a provider that fails for now they come later', async () => {
  const none = await meeting({ transcribe: true }, () => null)
  assert.is(await none.jobs.runDue(), 0)
  await none.close()
  const silentOperator = await meeting(NOTED, () => null)
  await silentOperator.jobs.runDue()
  assert.equal(await silentOperator.told(), [])
  await silentOperator.close()
  const { writerFor, close } = await provider(503, '', NOTES)
  const late = await meeting(NOTED, writerFor)
  for (let attempt = 1; attempt <= 3; attempt++) {
    assert.equal(await late.told(), [], `before attempt ${attempt}`)
    await late.jobs.runDue()
    late.world.clock.advance(10 * 60_000)
  }
  assert.equal(await late.history(), NOTES)
  await late.close()
  close()
})

test('a test key has notes without reaching anybody', async () => {
  const writer = writers(new Models(null))({ organisationId: 'org_1', livemode: false }, new AbortController().signal)
  const written = await writer!.write({ name: 'n', schema: {}, instructions: '', language: 'en', text: 'hello\nthere' })
  assert.equal(written, { value: null, text: '(mock) hello' })
})

test.run()
