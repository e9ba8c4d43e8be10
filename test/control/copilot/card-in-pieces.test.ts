import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import * as assert from 'uvu/assert'
import { CallLimit } from '../../../control/copilot/deep/call-limit.ts'
import { DeepPath } from '../../../control/copilot/deep/deep-path.ts'
import { Copilot } from '../../../control/copilot/sessions/copilot.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import { ModelMeter } from '../../../control/models/meter.ts'
import type { ChatModel, ChatPart } from '../../../control/models/model.ts'
import { suite } from '../../harness.ts'
import { makeCall } from '../conformance/objects.ts'
import { allRows } from '../conformance/rows.ts'
import { makeDatabase } from '../database.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/card-in-pieces')

/** Words that speak of the digits of a number, as they are written in an answer, a row or a line of a log. */
const CARD = ['4580', '1111', '2222', '3337']
const SPELLED = ['four five eight zero', 'one one one one', 'two two two two', 'three three three seven']

interface Watched {
  world: WholeApp
  id: string
  say: (party: 'agent' | 'customer', text: string, more?: { isFinal?: boolean; id?: string }) => Promise<void>
  copilot: Copilot
  /** All that has left, or is stored: looked at after each word. */
  look: () => Promise<void>
  seen: string[]
  close: () => Promise<void>
}

async function watch(): Promise<Watched> {
  const database = await makeDatabase()
  const seen: string[] = []
  const log = pino({ level: 'trace' }, new Writable({ write: (line, _, done) => done(void seen.push(`log ${line}`)) }))
  const feed = new Feed()
  const world = await makeWholeApp({ log, vault: VAULT }, await openStore(database.target))
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const { store, clock } = world
  const search = passageSearch(store.engine)
  const copilot = new Copilot({ store, now: clock.now, log, feed, search, vault: VAULT })
  const model: ChatModel = {
    name: 'listener',
    async *chat({ instructions, messages }): AsyncGenerator<ChatPart> {
      seen.push(`prompt ${instructions} ${JSON.stringify(messages)}`)
      yield { kind: 'text', text: '{"items":[],"fields":[],"objection":{"key":"","answer":""}}' }
    },
  }
  const models = { for: () => [model] }
  const deep = new DeepPath({
    store,
    now: clock.now,
    feed,
    log,
    models: models as never,
    limit: new CallLimit(),
    meter: new ModelMeter({ store, now: clock.now, log: { warn() {} } as never, prices: new Map() }),
    search,
  })
  feed.onTold((_row, messages) => void seen.push(`told ${JSON.stringify(messages)}`))
  const { id: callId = '', participant_id: agentLeg = '' } = await makeCall({
    ...{ world: world as never, tenant },
    ask: async () => ({}),
  })
  const profile = await world.live('POST /v1/copilot_profiles', { name: 'Sales', ...PROFILE })
  const started = await world.live(`POST /v1/calls/${callId}/copilot`, { profile_id: profile.body.id })
  assert.is(started.status, 201, started.text)
  const id = started.body.id
  const row = await forTenant(store.db, tenant).find('participants', agentLeg)
  const customerLeg = 'part_01k9000000000000000000000z'
  await forTenant(store.db, tenant).insert('participants', { ...row, id: customerLeg, role: 'caller' } as never)
  let serial = 0
  return {
    ...{ world, id, copilot, seen },
    say: async (party, text, { isFinal = true, id: utteranceId = `u${++serial}` } = {}) => {
      clock.advance(1500)
      const legId = party === 'agent' ? agentLeg : customerLeg
      const body = { transcriptId: id, legId, utteranceId, text, isFinal, beganAgoMs: 1200, endedAgoMs: 200 }
      const event = { name: 'transcript.words', at: clock.now().toISOString(), body } as const
      await store.transaction(trx => copilot.on(trx, event))
      const kept = await allRows(store)
      seen.push(`inputs ${kept.get('copilot_inputs')}`)
      await copilot.deal(id)
      await deep.idle()
    },
    look: async () => {
      for (const [table, rows] of await allRows(store)) seen.push(`${table} ${rows}`)
      seen.push((await world.live(`GET /v1/copilot_sessions/${id}`)).text)
      seen.push((await world.live(`GET /v1/copilot_sessions/${id}/stream`)).text)
      if (store.engine !== 'sqlite') return
      // What was written and deleted lies there too.
      const dir = dirname(database.target)
      for (const file of readdirSync(dir)) seen.push(readFileSync(join(dir, file), 'latin1'))
    },
    close: async () => {
      await copilot.idle()
      await deep.close()
      await world.close()
      await database.remove()
    },
  }
}

function hasNone(seen: readonly string[], digits: readonly string[]): void {
  for (const text of seen) {
    const plain = text.replaceAll(/(?<=\d)[ .-](?=\d)/g, '')
    for (const piece of digits) assert.not.ok(plain.includes(piece), `${piece} in ${text.slice(0, 200)}`)
  }
}

for (const [name, pieces] of [
  ['digits', CARD],
  ['words', SPELLED],
  ['halves', ['4580 1111', '2222 3337']],
] as const) {
  test(`a card number said in ${name}, piece by piece, is in no message, event, row, prompt, replay or log at any time`, async () => {
    const call = await watch()
    await call.say('agent', 'May I have the number?')
    for (const [i, piece] of pieces.entries()) {
      const text = i === 0 ? `It is ${piece}` : piece
      await call.say('customer', text, { isFinal: false, id: `p${i}` })
      await call.say('customer', text, { id: `p${i}` })
      await call.look()
      if (i === 1) await call.say('agent', 'Yes, go on')
    }
    await call.say('customer', 'and that is all')
    await call.look()
    await call.copilot.tick()
    await call.look()
    hasNone(call.seen, name === 'words' ? SPELLED : ['45801111', '11112222', '22223337', 'It is 4580'])
    const { data } = (await call.world.live(`GET /v1/copilot_sessions/${call.id}/messages?limit=100`)).body
    const shown = data.filter((one: { type: string; withdraws: null }) => one.type === 'transcript')
    assert.ok(shown.some(({ data: { text } }: { data: { text: string } }) => text === 'It is [card number]'))
    assert.is(call.seen.filter(text => text.startsWith('prompt')).length > 0, true)
    await call.close()
  })
}

test('where a card is spoken of not one of its digits is shown, however few are said at a time', async () => {
  const call = await watch()
  await call.say('agent', 'May I have the number of your credit card?')
  const texts = async (): Promise<string[]> =>
    (await call.world.live(`GET /v1/copilot_sessions/${call.id}/messages?limit=100`)).body.data.flatMap(
      (one: { type: string; data: { text?: string } }) => (one.type === 'transcript' ? [one.data.text] : []),
    )
  for (const [i, piece] of ['458', '0 1', '111', '222 2', '33', '37'].entries()) {
    await call.say('customer', piece, { isFinal: false, id: `p${i}` })
    await call.say('customer', piece, { id: `p${i}` })
    assert.equal(
      (await texts()).filter(text => /\d/.test(text)),
      [],
    )
  }
  await call.say('customer', 'and that is all')
  assert.ok((await texts()).includes('[card number]'))
  await call.close()
})

test('a number that is no card is held for a moment, and whole then: in the transcript and in its field', async () => {
  const call = await watch()
  await call.say('customer', 'well, it is 415 555 0123')
  const messages = async () =>
    (await call.world.live(`GET /v1/copilot_sessions/${call.id}/messages?limit=100`)).body.data
  const texts = async () =>
    (await messages()).flatMap((one: { type: string; data: { text?: string } }) =>
      one.type === 'transcript' ? one.data.text : [],
    )
  assert.equal(await texts(), ['well, it is […]'])
  await call.say('customer', 'any time you like')
  const [, again, first] = (await messages()).filter(({ type }: { type: string }) => type === 'transcript')
  assert.equal([again.data.text, again.replaces], ['well, it is 415 555 0123', first.id])
  const { fields } = (await call.world.live(`GET /v1/copilot_sessions/${call.id}`)).body
  assert.is(fields.find((one: { key: string }) => one.key === 'phone').value, '+14155550123')
  await call.close()
})

test('what was shown, because it was asked for, is taken out of every message when it turns out to be a card', async () => {
  const call = await watch()
  await call.say('agent', 'What is your phone number?')
  await call.say('customer', '4012888888', { id: 'a' })
  const text = async () => {
    const rows = [...(await allRows(call.world.store))].filter(([table]) => table.startsWith('copilot_'))
    return rows.join('\n').replaceAll(/(?<=\d)[ .-](?=\d)/g, '')
  }
  await call.say('customer', '881881', { id: 'b' })
  await call.say('customer', 'that was my card')
  assert.not.match(await text(), /4012888888/)
  assert.not.match((await call.world.live(`GET /v1/copilot_sessions/${call.id}`)).text, /4012888888/)
  await call.close()
})

test.run()
