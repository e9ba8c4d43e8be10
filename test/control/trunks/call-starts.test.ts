import * as assert from 'uvu/assert'
import { wayTo } from '../../../control/calls/dial.ts'
import { inTurn } from '../../../control/calls/outbound/turns.ts'
import { countStart, mayStartIn, waitToStart } from '../../../control/trunks/call-starts.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/trunks/call-starts')
const START_MS = 1_800_000_000_000
const NUMBER = '+442071838750'

let app: WholeApp
test.beforeEach(async () => {
  app = await makeWholeApp()
})
test.afterEach(() => app.close())

async function trunk(name: string, more: object = {}) {
  const body = { name, kind: 'trunk', host: `${name}.example.com`, ...more }
  const { status, body: made } = await app.live('POST /v1/connections', body)
  assert.is(status, 201, JSON.stringify(made))
  return app.store.db.selectFrom('connections').selectAll().where('id', '=', made.id).executeTakeFirstOrThrow()
}

test('calls out are spaced so that no second has more than it may, by the clock of the far end too; who would wait longer than 2 s is told so', async () => {
  const row = await trunk('four', { calls_per_second: 4 })
  const waits: (number | null)[] = []
  for (let n = 0; n < 11; n++) waits.push(await waitToStart(app.store.db, row, START_MS))
  assert.equal(waits, [0, 263, 525, 788, 1050, 1313, 1575, 1838, null, null, null])
  assert.is(await waitToStart(app.store.db, row, START_MS + 2100), 0)
})

test('turns that are taken at once, as by two nodes, are all different', async () => {
  const row = await trunk('ten', { calls_per_second: 10 })
  const taken = Array.from({ length: 20 }, () => waitToStart(app.store.db, row, START_MS))
  assert.is(new Set(await Promise.all(taken)).size, 20)
})

test('calls in may come as many at once as in a second, and no more behind them; each direction has its own count', async () => {
  const row = await trunk('three', { calls_per_second: 3 })
  const may = (nowMs: number) => mayStartIn(app.store.db, row, nowMs)
  assert.equal([await may(START_MS), await may(START_MS), await may(START_MS)], [true, true, true])
  assert.is(await may(START_MS), false)
  assert.is(await may(START_MS + 300), false)
  assert.equal([await may(START_MS + 340), await may(START_MS + 340)], [true, false])
  assert.is(await waitToStart(app.store.db, row, START_MS), 0)
})

test('a connection without `calls_per_second` takes all, and remembers none', async () => {
  const row = await trunk('any')
  for (let n = 0; n < 5; n++) assert.is(await waitToStart(app.store.db, row, START_MS), 0)
  assert.ok(await mayStartIn(app.store.db, row, START_MS))
  assert.equal(await app.store.db.selectFrom('call_starts').selectAll().execute(), [])
})

test('a clock that was an hour ahead holds nobody up', async () => {
  const row = await trunk('one', { calls_per_second: 1 })
  assert.is(await waitToStart(app.store.db, row, START_MS + 3_600_000), 0)
  assert.is(await waitToStart(app.store.db, row, START_MS), 0)
  assert.is(await waitToStart(app.store.db, row, START_MS), 1050)
})

test('what went over after another connection did not take it counts, and those behind it wait', async () => {
  const row = await trunk('two', { calls_per_second: 2 })
  await countStart(app.store.db, row, START_MS)
  await countStart(app.store.db, row, START_MS)
  assert.is(await waitToStart(app.store.db, row, START_MS), 1050)
})

test('a call takes the next connection when the best one has no turn soon, and is refused when none has', async () => {
  const rated = (cost: number) => ({ rates: [{ prefix: '+', cost }], calls_per_second: 1 })
  const cheap = await trunk('cheap', rated(1))
  const dear = await trunk('dear', rated(2))
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const go = async () => {
    const found = await wayTo(
      app.store.db,
      tenant,
      { to: NUMBER, from: undefined },
      { sipHost: '192.0.2.1', vault: VAULT },
    )
    if ('problem' in found) throw new Error(found.message)
    const turn = await inTurn(app.store.db, found, START_MS)
    return turn === null ? null : [turn.connection?.id, turn.delayMs, turn.alternatives.length]
  }
  const went = []
  for (let n = 0; n < 5; n++) went.push(await go())
  const over = (id: string, more: number) => [0, 1050].map(delayMs => [id, delayMs, more])
  assert.equal(went, [...over(cheap.id, 1), ...over(dear.id, 0), null])
})

test('a connection that goes takes its count with it', async () => {
  const row = await trunk('one', { calls_per_second: 1 })
  await waitToStart(app.store.db, row, START_MS)
  assert.is((await app.live(`DELETE /v1/connections/${row.id}`)).status, 200)
  assert.equal(await app.store.db.selectFrom('call_starts').selectAll().execute(), [])
})

test.run()
