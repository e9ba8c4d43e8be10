import * as assert from 'uvu/assert'
import { isProblem } from '../../../../control/http/errors.ts'
import {
  endStreams,
  forgetStreams,
  LONGEST_STREAM_MS,
  OpenStreams,
  type StreamLimit,
  type StreamPlace,
  sweepStreams,
} from '../../../../control/http/wire/open-streams.ts'
import { beat } from '../../../../control/kernel/nodes/heartbeat.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeClock } from '../../app-harness.ts'
import { makeDatabase, testEngine } from '../../database.ts'

const test = suite(`control/http/wire/open-streams on ${testEngine}`)

const KEY: StreamLimit = { subject: 'key_a', max: 3, whose: 'with this key' }
const ORGANISATION: StreamLimit = { subject: 'org_a true', max: 5, whose: 'of this organisation' }

/** Two nodes with one database. */
async function makeNodes() {
  const { target, remove } = await makeDatabase()
  const clock = makeClock()
  const stores = [await openStore(target, 'a'), await openStore(target, 'b')] as const
  const [a, b] = [new OpenStreams(stores[0], clock.now), new OpenStreams(stores[1], clock.now)]
  const db = stores[0].db
  return {
    ...{ stores, a, b, db, clock },
    taken: async () => (await db.selectFrom('open_streams').select('id').execute()).length,
    close: async () => {
      for (const store of stores) await store.close()
      await remove()
    },
  }
}

const isPlace = (taken: Awaited<ReturnType<OpenStreams['take']>>): taken is StreamPlace => !isProblem(taken)

async function untilTaken(taken: () => Promise<number>, count: number): Promise<void> {
  while ((await taken()) !== count) await new Promise(resolve => setImmediate(resolve))
}

test('the streams of a key are counted over all nodes, however many ask at once; a place that is left is free', async () => {
  const { a, b, taken, close } = await makeNodes()
  const asked = await Promise.all([a, b, a, b, a, b, a, b].map(node => node.take([KEY])))
  const places = asked.filter(isPlace)
  assert.is(places.length, KEY.max)
  for (const refused of asked.filter(isProblem)) {
    assert.equal([refused.problem, refused.retryAfterS], ['stream_limit', 5])
    assert.match(refused.message, 'with this key')
  }
  assert.ok(isPlace(await b.take([{ ...KEY, subject: 'key_b' }])), 'another key has places of its own')
  places[0]!.leave()
  places[0]!.leave()
  assert.ok(places[0]!.signal.aborted)
  await untilTaken(taken, KEY.max)
  assert.ok(isPlace(await b.take([KEY])))
  assert.ok(isProblem(await a.take([KEY])))
  await close()
})

test('who has reached one of two limits takes nothing of the other', async () => {
  const { a, b, taken, close } = await makeNodes()
  for (const subject of ['key_b', 'key_c']) {
    for (const node of [a, b]) assert.ok(isPlace(await node.take([ORGANISATION, { ...KEY, subject }])))
  }
  assert.ok(isPlace(await a.take([ORGANISATION, KEY])))
  const before = await taken()
  const refused = await b.take([ORGANISATION, KEY])
  assert.match(isProblem(refused) ? refused.message : '', 'of this organisation')
  assert.is(await taken(), before)
  await close()
})

test('the places of a node that is lost, or that is started again, are free; and none is taken for ever', async () => {
  const { stores, a, b, db, clock, taken, close } = await makeNodes()
  for (const store of stores) await beat(store, clock.now())
  for (let i = 0; i < KEY.max; i++) assert.ok(isPlace(await a.take([KEY])))
  assert.ok(isProblem(await b.take([KEY])))
  await db.updateTable('nodes').set({ lost_at: clock.now().toISOString() }).where('id', '=', 'a').execute()
  const place = await b.take([KEY])
  assert.ok(isPlace(place), 'of the lost node nothing counts')
  // It was only cut off: its streams count again.
  await beat(stores[0], clock.now())
  assert.ok(isProblem(await b.take([KEY])))
  await forgetStreams(db)
  assert.is(await taken(), 1)
  assert.ok(isPlace(await a.take([KEY])))
  assert.ok(isPlace(await a.take([KEY])))
  assert.ok(isProblem(await a.take([KEY])))
  clock.advance(LONGEST_STREAM_MS + 60_000)
  assert.ok(isPlace(await b.take([KEY])), 'their time is over')
  await sweepStreams(db, clock.now())
  assert.is(await taken(), 1)
  await close()
})

test('a key that is revoked has its streams ended at every node, under all their limits, and no others', async () => {
  const { stores, a, b, taken, close } = await makeNodes()
  const other = { ...KEY, subject: 'key_b' }
  const places = await Promise.all([a.take([ORGANISATION, KEY]), b.take([KEY]), b.take([ORGANISATION, other])])
  const look = async () => {
    await Promise.all([a.look(), b.look()])
    return places.map(place => isPlace(place) && place.signal.aborted)
  }
  assert.equal(await look(), [false, false, false])
  await stores[0].transaction(trx => endStreams(trx, [KEY.subject]))
  assert.equal(await look(), [true, true, false])
  assert.is(await taken(), 2, 'both places of the other one')
  await close()
})

test.run()
