import { sql } from 'kysely'
import pg from 'pg'
import * as assert from 'uvu/assert'
import { connectionsTo } from '../../../../control/kernel/store/postgres.ts'
import { openStore, type Trx } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, testEngine } from '../../database.ts'

const test = suite(`control/kernel/store/round trips on ${testEngine}`)

const names = [
  'a transaction asks once for the same rows, until it writes their table',
  'a transaction waits neither for its beginning nor for an insert',
  'an insert that fails fails its transaction, whatever follows',
  'who changes rows that a transaction has read changes nothing of what is read again',
  'no more than 64 inserts of a transaction are unanswered',
] as const

const row = (name: string, value = '1') => ({ name, value })

/** A store on a database of its own, and the statements that its connections have sent. */
async function makeStore() {
  const database = await makeDatabase()
  const sent: string[] = []
  const open = { now: 0, most: 0 }
  class Client extends pg.Client {
    override query(...given: [never]): never {
      const [query] = given as unknown as [string | { text: string }]
      sent.push(typeof query === 'string' ? query : query.text)
      open.most = Math.max(open.most, ++open.now)
      const answer = super.query(...given) as Promise<unknown>
      const over = () => void open.now--
      answer.then(over, over)
      return answer as never
    }
  }
  const store = await openStore(connectionsTo(database.target, { Client: Client as never, max: 1 }))
  const close = async (): Promise<void> => {
    await store.close()
    await database.remove()
  }
  sent.length = 0
  return { store, sent, open, close }
}

const readValue = (trx: Trx, name: string) =>
  trx.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst()
const insert = (trx: Trx, name: string) => trx.insertInto('settings').values(row(name)).execute()
const update = (trx: Trx, name: string, value: string) =>
  trx.updateTable('settings').set({ value }).where('name', '=', name).execute()

for (const name of names) if (testEngine !== 'postgres') test.skip(name, 'SQLite has no round trips')

if (testEngine === 'postgres') {
  test(names[0], async () => {
    const { store, sent, close } = await makeStore()
    await store.transaction(trx => insert(trx, 'one'))
    sent.length = 0
    await store.transaction(async trx => {
      for (let i = 0; i < 5; i++) assert.equal(await readValue(trx, 'one'), { value: '1' })
      await insert(trx, 'two')
      for (let i = 0; i < 5; i++) assert.equal(await readValue(trx, 'two'), { value: '1' })
      await update(trx, 'one', '2')
      for (let i = 0; i < 5; i++) assert.equal(await readValue(trx, 'one'), { value: '2' })
      await trx.deleteFrom('settings').where('name', '=', 'one').execute()
      for (let i = 0; i < 5; i++) assert.is(await readValue(trx, 'one'), undefined)
    })
    assert.is(sent.filter(text => text.startsWith('select')).length, 4)
    // Whatever names its table without quotes is asked each time.
    const count = async (trx: Trx): Promise<number> => (await sql`select name from settings`.execute(trx)).rows.length
    const counts = await store.transaction(async trx => {
      const before = await count(trx)
      await insert(trx, 'five')
      return [before, await count(trx)]
    })
    assert.equal(counts, [1, 2])
    // Another transaction sees what was written since.
    await store.transaction(trx => update(trx, 'two', '3'))
    assert.equal(await store.transaction(trx => readValue(trx, 'two')), { value: '3' })
    await close()
  })

  test(names[1], async () => {
    const { store, sent, close } = await makeStore()
    let [before, after] = [0, 0]
    await store.transaction(async trx => {
      before = sent.length
      await Promise.all(['one', 'two', 'three'].map(name => insert(trx, name)))
      await insert(trx, 'four')
      after = sent.length
      assert.equal(await readValue(trx, 'four'), { value: '1' })
    })
    assert.is(before, 2)
    assert.is(after, 6)
    assert.is((await store.db.selectFrom('settings').select('name').execute()).length, 4)
    await close()
  })

  test(names[4], async () => {
    const { store, open, close } = await makeStore()
    await store.transaction(async trx => {
      for (let i = 0; i < 300; i++) await insert(trx, `${i}`)
    })
    assert.ok(open.most > 8 && open.most <= 65, `${open.most}`)
    assert.is((await store.db.selectFrom('settings').select('name').execute()).length, 300)
    await close()
  })

  test(names[2], async () => {
    const { store, close } = await makeStore()
    await store.transaction(trx => insert(trx, 'one'))
    const outcomes = await Promise.allSettled([
      store.transaction(trx => insert(trx, 'one')),
      store.transaction(async trx => {
        await insert(trx, 'two')
        await insert(trx, 'one')
        await insert(trx, 'three')
      }),
      store.transaction(async trx => {
        await insert(trx, 'one')
        return readValue(trx, 'one')
      }),
      store.transaction(async trx => {
        await insert(trx, 'one')
        await readValue(trx, 'one').catch(() => {})
        return readValue(trx, 'one').catch(() => {})
      }),
    ])
    assert.equal(
      outcomes.map(outcome => (outcome.status === 'rejected' ? outcome.reason.code : outcome.value)),
      ['23505', '23505', '23505', undefined],
    )
    assert.equal(await store.db.selectFrom('settings').select('name').execute(), [{ name: 'one' }])
    await close()
  })

  test(names[3], async () => {
    const { store, close } = await makeStore()
    await store.transaction(trx => insert(trx, 'one'))
    await store.transaction(async trx => {
      Object.assign((await readValue(trx, 'one'))!, { value: 'changed' })
      Object.assign((await readValue(trx, 'one'))!, { value: 'changed' })
      assert.equal(await readValue(trx, 'one'), { value: '1' })
    })
    await close()
  })
}

test.run()
