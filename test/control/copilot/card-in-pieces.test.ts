// One database: what is shown is decided by words, before any of them is stored.
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { allRows } from '../conformance/rows.ts'
import { hasNone, watchCall } from './watched-call.ts'

const test = suite('control/copilot/card-in-pieces')

/** Words that speak of the digits of a number, as they are written in an answer, a row or a line of a log. */
const CARD = ['4580', '1111', '2222', '3337']
const SPELLED = ['four five eight zero', 'one one one one', 'two two two two', 'three three three seven']

for (const [name, pieces] of [
  ['digits', CARD],
  ['words', SPELLED],
  ['halves', ['4580 1111', '2222 3337']],
] as const) {
  test(`a card number said in ${name}, piece by piece, is in no message, event, row, prompt, replay or log at any time`, async () => {
    const call = await watchCall()
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
  const call = await watchCall()
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

/** What else ends in digits behind the card, and may become a number of its own. */
const BEHIND = ['and it is good until 28', 'expires twelve twenty eight']

for (const behind of BEHIND) {
  for (const [name, waitMs] of [
    ['at once', 0],
    ['slowly, with most of a minute before the rest', 45_000],
  ] as const) {
    test(`a card said ${name} stays removed where its last piece ends in other digits: ${behind}`, async () => {
      const call = await watchCall()
      await call.say('agent', 'May I have the number of your credit card?')
      await call.say('customer', 'It is 4580')
      await call.say('customer', '1111 2222')
      call.world.clock.advance(waitMs)
      await call.say('customer', `3337 ${behind}`)
      await call.look()
      call.world.clock.advance(waitMs)
      await call.say('customer', 'I do not need anything else')
      await call.copilot.tick()
      await call.look()
      await call.end()
      await call.look()
      hasNone(call.seen, ['45801111', '11112222', '22223337', '3337'])
      await call.close()
    })
  }
}

test('a number that is no card is held for a moment, and whole then: in the transcript and in its field', async () => {
  const call = await watchCall()
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
  const call = await watchCall()
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

for (const [name, after] of [
  ['nobody says anything else', async () => {}],
  ['the customer goes on with something else', async call => call.say('customer', 'that is all, thank you')],
  ['the customer says the end of it once more', async call => call.say('customer', '3337')],
] as [string, (call: Awaited<ReturnType<typeof watchCall>>) => Promise<void>][]) {
  test(`what was said of a number before a payment began is never shown, also where ${name} afterwards`, async () => {
    const call = await watchCall()
    await call.say('agent', 'May I have the number?')
    await call.say('customer', 'It is 4580')
    await call.say('customer', '1111 2222')
    await call.pause(true)
    await call.look()
    call.world.clock.advance(30_000)
    await call.copilot.tick()
    await call.look()
    await call.pause(false)
    await after(call)
    call.world.clock.advance(9000)
    await call.copilot.tick()
    await call.look()
    await call.end()
    await call.look()
    hasNone(call.seen, ['11112222', 'It is 4580', '45801111', '22223337'])
    const { segments } = (await call.world.live(`GET /v1/calls/${call.callId}/transcript`)).body
    assert.equal(
      segments.slice(1, 3).map(({ text }: { text: string }) => text),
      name.includes('once more') ? ['It is [card number]', '[card number]'] : ['It is […]', '[…]'],
    )
    await call.close()
  })
}

for (const setMs of [0, -3_600_000, 3_600_000])
  test(`words that are understood only after a payment has begun are not shown when it is over either: ${setMs}`, async () => {
    const call = await watchCall()
    call.world.clock.set(setMs)
    await call.say('customer', 'It is 4580')
    await call.pause(true)
    await call.say('customer', '1111 2222', { agoMs: 1600 })
    await call.pause(false)
    await call.say('customer', 'that is all, thank you')
    await call.end()
    await call.look()
    hasNone(call.seen, ['11112222', 'It is 4580'])
    await call.close()
  })

test.run()
