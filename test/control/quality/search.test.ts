import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeQualityWorld, type QualityWorld } from './quality-world.ts'

const test = suite('control/quality/search')

let world: QualityWorld
let first: string
let second: string
test.before(async () => {
  world = await makeQualityWorld()
  first = await world.call([
    ['agent', 'How can I help?'],
    ['customer', 'My deliveries were late, and the café was closed.'],
  ])
  second = await world.call([
    ['customer', 'The delivery is late again.'],
    ['customer', 'המשלוח לא הגיע בזמן'],
    ['customer', 'Мой сосед.'.normalize('NFD')],
  ])
  for (const id of [first, second]) await world.review(id)
})
test.after(() => world.close())

const search = async (query: string, more = '') =>
  (await world.api(`GET /v1/transcripts/search?query=${encodeURIComponent(query)}${more}`)).data

test('what was said is found in all calls, in any form, newest first, with the place of each word and its time', async () => {
  const hits = await search('late delivery')
  assert.equal(
    hits.map(({ call_id }: { call_id: string }) => call_id),
    [second, first],
  )
  const [{ text, highlights, start_ms }] = (await search('delivery', `&call_id=${first}`)) as [
    { text: string; highlights: { start: number; end: number }[]; start_ms: number },
  ]
  assert.equal(
    highlights.map(({ start, end }) => text.slice(start, end)),
    ['deliveries'],
  )
  assert.is(start_ms, 2000)
  assert.is((await search('המשלוח')).length, 1)
  assert.is((await search('cafe')).length, 1, 'without its accent')
  assert.is((await search('мой')).length, 1, 'a letter in one piece, which was written with a mark of its own')
})

test('words in quotes follow each other; all others may stand apart, but all are there', async () => {
  assert.is((await search('"late again"')).length, 1)
  assert.is((await search('"again late"')).length, 0)
  assert.is((await search('again late')).length, 1)
  assert.is((await search('again closed')).length, 0)
  for (const odd of ['AND', '"', 'late*', "'; drop table calls; --", 'text:late', '(', 'NEAR(late again)']) {
    const answer = await world.ask(`GET /v1/transcripts/search?query=${encodeURIComponent(odd)}`, {
      key: world.ours.keys.live,
    })
    assert.ok(answer.status === 200 || answer.body.error.param === 'query', `${odd}: ${answer.text}`)
  }
})

test('nothing of another organisation or mode is found', async () => {
  for (const key of [world.theirs.keys.live, world.ours.keys.test]) {
    assert.equal((await world.ask('GET /v1/transcripts/search?query=delivery', { key })).body.data, [])
  }
})

test('the list goes on where it ended', async () => {
  const one = await world.api('GET /v1/transcripts/search?query=late&limit=1')
  assert.equal([one.has_more, one.data[0].call_id], [true, second])
  const next = await world.api(`GET /v1/transcripts/search?query=late&limit=1&starting_after=${one.next_cursor}`)
  assert.equal([next.has_more, next.data[0].call_id], [false, first])
  const back = await world.api(`GET /v1/transcripts/search?query=late&limit=1&ending_before=${next.data[0].id}`)
  assert.is(back.data[0].call_id, second)
})

test('a call that is looked at again is found once, and one whose transcript is deleted not at all', async () => {
  await world.review(first)
  assert.is((await search('deliveries', `&call_id=${first}`)).length, 1)
  await world.api(`DELETE /v1/calls/${first}/transcript`)
  assert.equal(
    (await search('late')).map(({ call_id }: { call_id: string }) => call_id),
    [second],
  )
})

test.run()
