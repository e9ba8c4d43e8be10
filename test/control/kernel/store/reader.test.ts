import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/reader')

const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
let store: Store
test.before(async () => {
  store = await openStore(join(folder, 'tandem.db'))
})
test.after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const numbersTo = (last: number) =>
  sql<{ count: number }>`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${last})
    select count(*) as count from numbers`

test('while somebody asks about years of rows, others read and write', async () => {
  const order: string[] = []
  const long = numbersTo(5_000_000)
    .execute(store.reads)
    .then(({ rows: [row] }) => order.push(`counted ${row!.count}`))
  for (let n = 0; n < 20; n++) {
    await store.transaction(trx =>
      trx
        .insertInto('settings')
        .values({ name: `beside${n}`, value: '1' })
        .execute(),
    )
  }
  order.push('written')
  await long
  assert.equal(order, ['written', 'counted 5000000'])
})

test('what was committed before a question is in its answer', async () => {
  for (let n = 0; n < 50; n++) {
    await store.transaction(trx =>
      trx
        .insertInto('settings')
        .values({ name: `before${n}`, value: 'é' })
        .execute(),
    )
    const rows = await store.reads.selectFrom('settings').select('value').where('name', '=', `before${n}`).execute()
    assert.equal(rows, [{ value: 'é' }])
  }
})

test('a question that fails tells why, and the next one is answered; nobody can write', async () => {
  const error = await sql`select no_such_column from settings`.execute(store.reads).catch((error: Error) => error)
  assert.match((error as Error).message, /no such column/)
  const written = await sql`delete from settings returning name`.execute(store.reads).catch(({ code }) => code)
  assert.is(written, 'SQLITE_READONLY')
  assert.is((await numbersTo(3).execute(store.reads)).rows[0]!.count, 3)
})

test('more questions than it can hold are refused, as by a busy database', async () => {
  const asked = Array.from({ length: 130 }, () => numbersTo(1000).execute(store.reads))
  const answers = await Promise.allSettled(asked)
  const refused = answers.filter(answer => answer.status === 'rejected')
  assert.is(refused.length, 30)
  assert.ok(refused.every(({ reason }) => reason.code === 'SQLITE_BUSY'))
})

test('who closes the store gets the answers to what was asked before', async () => {
  const other = await openStore(join(folder, 'other.db'))
  const answer = numbersTo(300_000).execute(other.reads)
  await Promise.resolve()
  await other.close()
  assert.is((await answer).rows[0]!.count, 300_000)
})

test.run()
