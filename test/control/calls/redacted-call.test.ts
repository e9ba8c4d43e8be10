import * as assert from 'uvu/assert'
import { ChatProvider } from '../../fakes/chat-provider.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { callOf, type LiveWorld, makeLiveWorld } from '../assistants/live-world.ts'
import { until } from '../calls-world.ts'
import { allRows } from '../conformance/rows.ts'
import { dispatcherOf } from '../webhooks/webhook-world.ts'
import { VAULT } from '../whole-app.ts'

const test = suite('control/calls/redacted-call')

const SECRETS = ['4111 1111', '11111111', '219-09-9999', 'POL-774411']
const REDACTION = {
  identity_numbers: ['us_ssn'],
  patterns: [{ name: 'policy', pattern: 'POL-[0-9]{6}' }],
}

function saysNone(text: string, where: string): void {
  for (const secret of SECRETS) assert.not.ok(text.includes(secret), `${secret} in ${where}`)
}

/** Every row that the database holds. What an open call has not dealt with yet is sealed. */
async function storedIn({ store }: LiveWorld): Promise<string> {
  return [...(await allRows(store)).entries()].map(([table, rows]) => `${table}: ${rows}`).join('\n')
}

test('what an organisation has redacted is in no row, event, webhook, transcript, turn or prompt of a call', async () => {
  const provider = await ChatProvider.listen(() => ({ text: 'Thank you.' }))
  const receiver = await new WebhookReceiver().listen()
  const world = await makeLiveWorld({
    modelUrl: provider.url,
    modelKey: 'key',
    modelName: 'first',
    allowPrivateUrls: ['127.0.0.0/8'],
  })
  const { media } = world
  await world.ask('PATCH /v1/organisation', { redaction: REDACTION })
  await world.make('/webhook_endpoints', { url: `${receiver.url}/`, event_types: ['*'] })
  const id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', transcribe: true })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  const said = [
    'My card is 4111 1111',
    '1111 1111.',
    'My social is 219-09-9999 and my policy is POL-774411.',
    'That is all.',
  ]
  for (const [i, text] of said.entries()) {
    media.emit('transcript.segment', {
      transcriptId: callId,
      legId: 'part_1',
      speaker: 'party',
      text,
      startMs: i * 1000,
      endMs: i * 1000 + 900,
    })
    media.utter('part_1', text)
    // Each line has its answer before the next one is said.
    await until(() => provider.asked.length > i)
    if (i > 0) continue
    // A possible beginning of a number is not sent before it is known what it is.
    const told = await world.ask(`GET /v1/calls/${callId}/events?limit=100`)
    const segments = told.body.data.filter(({ type }: { type: string }) => type === 'call.transcript.segment')
    assert.match(JSON.stringify(segments), 'My card is […]')
    saysNone(JSON.stringify(segments), 'the first segment')
  }
  await until(() => provider.asked.some(({ messages }) => JSON.stringify(messages).includes('That is all')))
  media.emit('transcript.ready', { transcriptId: callId, durationMs: 4000 })
  media.hangUp('part_1')
  await media.committed()

  const { body: transcript } = await world.ask(`GET /v1/calls/${callId}/transcript`)
  assert.equal(
    transcript.segments.map(({ text }: { text: string }) => text),
    [
      'My card is [card number]',
      '[card number].',
      'My social is [identity number] and my policy is [policy].',
      'That is all.',
    ],
  )
  const { text: turns } = await world.ask(`GET /v1/calls/${callId}/turns`)
  assert.match(turns, 'My card is [card number]')
  saysNone(turns, 'the turns')
  const { text: events } = await world.ask(`GET /v1/calls/${callId}/events?limit=100`)
  assert.match(events, 'My card is [card number]')
  saysNone(events, 'the events')
  saysNone(await storedIn(world), 'the database')

  const dispatcher = dispatcherOf(world, { vault: VAULT })
  dispatcher.start()
  await until(() => receiver.received.some(({ body }) => body.includes('call.ended')))
  await dispatcher.close()
  assert.ok(receiver.received.some(({ body }) => body.includes('My card is [')))
  saysNone(receiver.received.map(({ body }) => body).join('\n'), 'a webhook')

  const prompts = JSON.stringify(provider.asked.at(-1)?.messages)
  assert.match(prompts, 'My card is [card number]')
  saysNone(prompts, 'the last prompt')
  // An assistant hears words at once: of a number said in pieces, the first piece reaches its model before it is recognised.
  const whole = provider.asked.map(({ messages }) => JSON.stringify(messages)).join('\n')
  for (const secret of SECRETS.slice(1)) assert.not.ok(whole.includes(secret), `${secret} in a prompt`)
  await world.close()
  await receiver.close()
  await provider.close()
})

test('after a card was spoken of not one digit of it is in a segment, however few are said at a time', async () => {
  const world = await makeLiveWorld()
  const { media } = world
  const id = await world.make('/assistants', { name: 'Desk', greeting: 'Hello.', transcribe: true })
  await world.make('/inbound_routes', { match: { to: '3000' }, target: { type: 'assistant', id } })
  media.dialIn('part_1', '3000')
  const callId = await callOf(world, 'part_1')
  const segments = async (): Promise<string[]> =>
    (await world.ask(`GET /v1/calls/${callId}/events?limit=100`)).body.data.flatMap(
      ({ type, data }: { type: string; data: { object?: { text: string }; text?: string } }) =>
        type === 'call.transcript.segment' ? [data.object?.text ?? data.text] : [],
    )
  const said = ['I would pay by credit card.', '411', '1 111', '11 11', '11 1', '11', 'That is all.']
  for (const [i, text] of said.entries()) {
    const [startMs, endMs] = [i * 1000, i * 1000 + 900]
    media.emit('transcript.segment', {
      ...{ transcriptId: callId, legId: 'part_1', speaker: 'party', text, startMs, endMs },
    })
    await media.committed()
    assert.is((await segments()).length, i + 1)
    assert.equal(
      (await segments()).filter(one => /\d/.test(one)),
      [],
    )
  }
  assert.equal((await segments()).filter(one => one === '[card number]').length, 5)
  media.hangUp('part_1')
  await media.committed()
  await world.close()
})

test('rules that RE2 does not know are refused, and what is sent of them replaces that part alone', async () => {
  const world = await makeLiveWorld()
  const refused = await world.ask('PATCH /v1/organisation', {
    redaction: { patterns: [{ name: 'x', pattern: '(?=a)' }] },
  })
  assert.equal([refused.status, refused.body.error.param], [400, 'redaction.patterns[0].pattern'])
  const { body } = await world.ask('PATCH /v1/organisation', { redaction: { identity_numbers: ['il_id'] } })
  assert.equal(body.redaction, { card_numbers: true, identity_numbers: ['il_id'], patterns: [] })
  await world.close()
})

test.run()
