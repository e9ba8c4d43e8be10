import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, testEngine } from '../../database.ts'

const test = suite(`control/kernel/store/named statements on ${testEngine}`)

const names = [
  'a query that comes again and again is planned once by each connection',
  'while another node changes the tables, what this one asks again and again goes on, in transactions too',
  'where a pooler gives the connections of the server to others, what is asked again and again goes on, in transactions too',
] as const

/** A store with one row of settings that was asked for again and again; `prepared`: the statements that its only connection keeps. */
async function makeStore() {
  const database = await makeDatabase()
  const store = await openStore(database.target)
  await store.db.insertInto('settings').values({ name: 'one', value: '1' }).execute()
  for (let i = 0; i < 8; i++) await read(store)
  const prepared = async () =>
    (
      await sql<{
        uses: number
      }>`select generic_plans as uses from pg_prepared_statements where statement like ${'%"settings"%'}`.execute(
        store.db,
      )
    ).rows
  const close = async (): Promise<void> => {
    await store.close()
    await database.remove()
  }
  return { store, prepared, close }
}

const rows = (db: Pick<Store['db'], 'selectFrom'>) =>
  db.selectFrom('settings').selectAll().where('name', '=', 'one').execute()
const read = (store: Store) => rows(store.db)
const row = { name: 'one', value: '1' }

for (const name of names) if (testEngine !== 'postgres') test.skip(name, 'SQLite: see prepared-statements.test.ts')

if (testEngine === 'postgres') {
  test(names[0], async () => {
    const { store, prepared, close } = await makeStore()
    const [statement, ...others] = await prepared()
    assert.equal(others, [])
    assert.ok(statement!.uses >= 1)
    assert.equal(await read(store), [row])
    await close()
  })

  test(names[1], async () => {
    const { store, close } = await makeStore()
    await sql`alter table settings add column more text`.execute(store.db)
    assert.equal(await read(store), [{ ...row, more: null }])
    for (let i = 0; i < 8; i++) await read(store)
    await sql`alter table settings add column most text`.execute(store.db)
    let tries = 0
    const read2 = store.transaction(trx => {
      tries++
      return rows(trx)
    })
    assert.equal(await read2, [{ ...row, more: null, most: null }])
    assert.is(tries, 2)
    await sql`alter table settings drop column more, drop column most`.execute(store.db)
    assert.equal(await read(store), [row])
    await close()
  })

  test(names[2], async () => {
    for (const inTransaction of [false, true]) {
      const { store, prepared, close } = await makeStore()
      await sql`deallocate all`.execute(store.db)
      assert.equal(await (inTransaction ? store.transaction(rows) : read(store)), [row])
      for (let i = 0; i < 8; i++) assert.equal(await read(store), [row])
      assert.equal(await prepared(), [])
      await close()
    }
  })
}

test.run()
