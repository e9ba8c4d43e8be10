import * as assert from 'uvu/assert'
import { SharedRates, sweepBudgets } from '../../../../control/http/wire/shared-rates.ts'
import { type Db, openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeClock } from '../../app-harness.ts'
import { makeDatabase, testEngine } from '../../database.ts'
import { makeWholeApp } from '../../whole-app.ts'

const test = suite('control/http/wire/shared-rates')

const RATE = { burst: 60, perSecond: 20 }
/** What one node takes at once. */
const SLICE = 5

test('nodes that share a limit let through no more than it together, and at most a slice each beyond it, in any time', async () => {
  const { target, remove } = await makeDatabase()
  const clock = makeClock()
  const stores = await Promise.all(['a', 'b', 'c'].map(node => openStore(target, node, clock.steadyMs)))
  const nodes = stores.map(({ db }) => new SharedRates(db, clock.now, RATE))
  const passed: number[] = []
  const began = clock.now().getTime()
  for (let round = 0; round < 60; round++) {
    // Now one of them is asked, now all, ever more than may pass.
    const asked = round % 3 === 0 ? nodes : [nodes[round % nodes.length]!]
    const waits = await Promise.all(asked.flatMap(node => Array.from({ length: 30 }, () => node.take('org_a', RATE))))
    for (const wait of waits) if (wait === 0) passed.push(clock.now().getTime() - began)
    assert.ok(waits.every(wait => wait >= 0 && wait <= 1))
    clock.advance(round % 7 === 0 ? 1300 : 90)
  }
  const beyond = passed.map((from, i) =>
    Math.max(...passed.slice(i).map((to, n) => n + 1 - RATE.burst - (RATE.perSecond * (to - from)) / 1000)),
  )
  assert.ok(Math.max(...beyond) <= nodes.length * SLICE, `${Math.max(...beyond)} beyond`)
  // What may pass does: nobody is asked in vain for more than a slice's time.
  const seconds = (clock.now().getTime() - began) / 1000
  assert.ok(passed.length >= RATE.burst + RATE.perSecond * (seconds - 2), `${passed.length} in ${seconds} s`)
  assert.is(await nodes[0]!.take('org_b', RATE), 0)
  await Promise.all(stores.map(store => store.close()))
  await remove()
})

test('a slice takes one statement, and who is refused asks nothing until there is more', async () => {
  const { target, remove } = await makeDatabase()
  const clock = makeClock()
  const store = await openStore(target, 'a', clock.steadyMs)
  let statements = 0
  let isAway = false
  const watched = {
    getExecutor: () => store.db.getExecutor(),
    insertInto: () => {
      statements++
      if (isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      return store.db.insertInto('request_budgets')
    },
  } as unknown as Db
  const node = new SharedRates(watched, clock.now, RATE)
  for (let i = 0; i < RATE.burst; i++) assert.is(await node.take('key_a', RATE), 0)
  assert.is(statements, RATE.burst / SLICE)
  for (let i = 0; i < 100; i++) assert.is(await node.take('key_a', RATE), 1)
  assert.is(statements, RATE.burst / SLICE + 1)
  await sweepBudgets(store.db, clock.now())
  assert.is((await store.db.selectFrom('request_budgets').selectAll().execute()).length, 1)
  clock.advance(2 * 3_600_000)
  await sweepBudgets(store.db, clock.now())
  assert.is((await store.db.selectFrom('request_budgets').selectAll().execute()).length, 0)
  // A clock that is set back refuses nobody.
  while ((await node.take('key_c', RATE)) === 0) {}
  clock.set(-3_600_000)
  clock.advance(1000)
  assert.is(await node.take('key_c', RATE), 0)
  // While the database is away it counts alone, and asks once a second whether it is back.
  isAway = true
  statements = 0
  for (let i = 0; i < RATE.burst; i++) assert.is(await node.take('key_b', RATE), 0)
  assert.is(await node.take('key_b', RATE), 1)
  assert.is(statements, 1)
  clock.set(-3_600_000)
  clock.advance(1000)
  isAway = false
  assert.is(await node.take('key_b', RATE), 0)
  assert.is(statements, 2)
  await store.close()
  await remove()
})

test("an organisation's requests are limited over all nodes of a database, and so are a key's", async () => {
  const { target, remove } = await makeDatabase()
  const first = await makeWholeApp({}, await openStore(target))
  const others =
    testEngine === 'postgres' ? [await makeWholeApp({ now: first.clock.now }, await openStore(target))] : []
  const nodes = [first, ...others]
  const { id } = (await first.live('POST /v1/partner/organisations', { name: 'C', limits: { requests_per_second: 8 } }))
    .body
  const keys = []
  for (let i = 0; i < 3; i++)
    keys.push((await first.live(`POST /v1/partner/organisations/${id}/api_keys`, {})).body.secret as string)
  const answers = []
  for (let i = 0; i < 120; i++) {
    answers.push(await nodes[i % nodes.length]!.live('GET /v1/teams', undefined, { key: keys[i % keys.length]! }))
  }
  const passed = answers.filter(({ status }) => status === 200).length
  assert.is(passed, 24)
  const refused = answers.find(({ status }) => status === 429)
  assert.equal([refused?.body.error.code, refused?.headers['retry-after']], ['rate_limited', '1'])
  // Another organisation has limits of its own.
  for (const { live } of nodes) assert.is((await live('GET /v1/teams')).status, 200)
  for (const { app } of others) await app.close()
  for (const { store } of others) await store.close()
  await first.close()
  await remove()
})

test.run()
