import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { afterCommit } from '../../../../control/kernel/store/after-commit.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import { forTenant } from '../../../../control/kernel/tenancy.ts'
import { addOrganisation } from '../../../../control/wiring/first-start.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, openTestStore, testEngine } from '../../database.ts'

const test = suite(`control/kernel/store/store on ${testEngine}`)

const add = (store: Store, rows: [string, string][]) =>
  store.db
    .insertInto('settings')
    .values(rows.map(([name, value]) => ({ name, value })))
    .execute()

/** As of two control processes where there can be two. */
async function twoStores(): Promise<{ stores: [Store, Store]; close: () => Promise<void> }> {
  const database = await makeDatabase()
  const first = await openStore(database.target)
  const second = first.engine === 'postgres' ? await openStore(database.target) : first
  const close = async (): Promise<void> => {
    for (const store of new Set([first, second])) await store.close()
    await database.remove()
  }
  return { stores: [first, second], close }
}

test('transactions behave as if one ran after the other: what was read is still so at the commit', async () => {
  const { stores, close } = await twoStores()
  await add(stores[0], [['count', '0']])
  const increment = (store: Store) =>
    store.transaction(async trx => {
      const row = trx.selectFrom('settings').select('value').where('name', '=', 'count')
      const { value } = await row.executeTakeFirstOrThrow()
      await trx
        .updateTable('settings')
        .set({ value: String(Number(value) + 1) })
        .where('name', '=', 'count')
        .execute()
    })
  await Promise.all(Array.from({ length: 24 }, (_, i) => increment(stores[i % 2]!)))
  const { value } = await stores[0].db.selectFrom('settings').select('value').executeTakeFirstOrThrow()
  assert.is(value, '24')
  await close()
})

test('of those who look at once and find nothing one adds the row, and the others find it', async () => {
  const { stores, close } = await twoStores()
  const addOnce = (store: Store) =>
    store.transaction(async trx => {
      const found = await trx.selectFrom('settings').select('name').where('name', '=', 'one').executeTakeFirst()
      if (found !== undefined) return 'found'
      await trx.insertInto('settings').values({ name: 'one', value: '' }).execute()
      return 'added'
    })
  const outcomes = await Promise.all(Array.from({ length: 10 }, (_, i) => addOnce(stores[i % 2]!)))
  assert.is(outcomes.filter(outcome => outcome === 'added').length, 1)
  await close()
})

test('those in whose way others are again and again go on one after the other, so that none is in vain', async () => {
  const store = await openTestStore()
  let [atOnce, most, done] = [0, 0, 0]
  const unlucky = async (): Promise<void> => {
    let tries = 0
    await store.transaction(async trx => {
      const isLate = ++tries > 4
      if (isLate) most = Math.max(most, ++atOnce)
      await trx.selectFrom('settings').select('name').execute()
      if (isLate) atOnce--
      if (tries <= 6) throw Object.assign(new Error('could not serialize access'), { code: '40001' })
    })
    done++
  }
  await Promise.all(Array.from({ length: 10 }, unlucky))
  assert.equal([most, done], [1, 10])
  await store.close()
})

test('what is to follow a transaction follows its commit, in order and once; a transaction that throws is followed by nothing', async () => {
  const store = await openTestStore()
  const told: string[] = []
  let tries = 0
  const rows = () => store.db.selectFrom('settings').select('name').execute()
  await store.transaction(async trx => {
    tries++
    afterCommit(trx, () => void told.push('first'))
    afterCommit(trx, () => void rows().then(found => told.push(`sees ${found.length}`)))
    await trx.insertInto('settings').values({ name: 'followed', value: '' }).execute()
    assert.equal(told, [], 'not before the commit')
    if (tries === 1) throw Object.assign(new Error('in the way'), { code: 'SQLITE_BUSY' })
  })
  while (told.length < 2) await new Promise(resolve => setImmediate(resolve))
  assert.equal(told, ['first', 'sees 1'])
  const failing = store.transaction(async trx => {
    afterCommit(trx, () => void told.push('never'))
    throw new Error('no')
  })
  await failing.catch(() => {})
  assert.is(told.length, 2)
  assert.throws(() => afterCommit(store.db, () => {}), /outside a transaction/)
  await store.close()
})

test('what throws in a transaction leaves nothing behind, and is thrown once', async () => {
  const store = await openTestStore()
  let runs = 0
  const failing = store.transaction(async trx => {
    runs += 1
    await trx.insertInto('settings').values({ name: 'a', value: '' }).execute()
    throw new Error('a bug')
  })
  assert.is(await failing.catch((error: Error) => error.message), 'a bug')
  assert.equal([runs, await store.db.selectFrom('settings').selectAll().execute()], [1, []])
  await store.close()
})

test('a key that is always taken is told after a few tries', async () => {
  const store = await openTestStore()
  await add(store, [['a', '']])
  let runs = 0
  const insert = store.transaction(async trx => {
    runs += 1
    await trx.insertInto('settings').values({ name: 'a', value: '' }).execute()
  })
  assert.instance(await insert.catch((error: unknown) => error), Error)
  assert.is(runs, 3)
  await store.close()
})

test('numbers come as numbers, also beyond 32 bits, counted and summed', async () => {
  const store = await openTestStore()
  const row = { created: '', payload: '{}', kind: 'k', version: 0 }
  const big = 2 ** 40
  const jobs = [1, 2].map(i => ({ ...row, id: `${i}`, attempts: big }))
  await store.db.insertInto('jobs').values(jobs).execute()
  const { rows } = await sql<object>`select count(*) as many, sum(attempts) as total from jobs`.execute(store.db)
  assert.equal(rows, [{ many: 2, total: 2 * big }])
  assert.is((await store.db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow()).attempts, big)
  await store.close()
})

test('text is ordered byte by byte, and a list of nothing finds nothing', async () => {
  const store = await openTestStore()
  await add(
    store,
    ['b', 'B', 'a_b', 'aa', 'ä', '~'].map(name => [name, '']),
  )
  const names = await store.db.selectFrom('settings').select('name').orderBy('name').execute()
  assert.equal(
    names.map(({ name }) => name),
    ['B', 'a_b', 'aa', 'b', '~', 'ä'],
  )
  assert.equal(await store.db.selectFrom('settings').selectAll().where('name', 'in', []).execute(), [])
  await store.close()
})

if (testEngine === 'postgres') {
  test('processes that start at once on an empty database make its tables once', async () => {
    const { target, remove } = await makeDatabase({ blank: true })
    const stores = await Promise.all([openStore(target), openStore(target), openStore(target)])
    await add(stores[0]!, [['a', '']])
    assert.is((await stores[2]!.db.selectFrom('settings').selectAll().execute()).length, 1)
    for (const store of stores) await store.close()
    await remove()
  })

  test('a NUL, which text of PostgreSQL cannot hold, is kept as a broken character', async () => {
    const store = await openTestStore()
    await add(store, [['a', 'x\0y']])
    assert.is((await store.db.selectFrom('settings').selectAll().executeTakeFirstOrThrow()).value, 'x\ufffdy')
    await store.close()
  })

  test('a connection that the server ends is replaced, and the transaction on it is rolled back', async () => {
    const { stores, close } = await twoStores()
    const lost = await stores[0]
      .transaction(async trx => {
        await trx.insertInto('settings').values({ name: 'a', value: '' }).execute()
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
        await sql`select pg_terminate_backend(${rows[0]!.pid})`.execute(stores[1].db)
        await trx.selectFrom('settings').selectAll().execute()
      })
      .catch((error: unknown) => error)
    assert.instance(lost, Error)
    assert.equal(await stores[0].db.selectFrom('settings').selectAll().execute(), [])
    await close()
  })
}

test("a tenant's query may join another tenant's table: whose rows it reads is said of its own", async () => {
  const store = await openTestStore()
  const now = new Date('2026-11-22T10:00:00.000Z')
  const at = now.toISOString()
  const add = () => store.transaction(trx => addOrganisation(trx, { name: 'One', pciEnabled: false, now }))
  const [ours, theirs] = [
    { ...(await add()), livemode: true },
    { ...(await add()), livemode: true },
  ]
  for (const [i, tenant] of [ours, theirs].entries()) {
    const scoped = forTenant(store.db, tenant)
    await scoped.insert('queues', { id: `queue_${i}`, name: 'Help', settings: '{}', created: at, updated: at })
    await scoped.insert('do_not_call', { id: `dnc_${i}`, phone: '+14155550100', reason: 'Help', created: at })
  }
  const joined = await forTenant(store.db, ours)
    .select('queues')
    .innerJoin('do_not_call', 'do_not_call.reason', 'queues.name')
    .select(['queues.id', 'do_not_call.id as listed'])
    .orderBy('listed')
    .execute()
  assert.equal(joined, [
    { id: 'queue_0', listed: 'dnc_0' },
    { id: 'queue_0', listed: 'dnc_1' },
  ])
  await store.close()
})

test('SQLite compiles a query with a limit once: the number is in its text', async () => {
  const store = await openTestStore()
  const query = store.db.selectFrom('queues').select('id').where('name', '=', 'Help').limit(3).compile()
  if (testEngine === 'sqlite') {
    assert.match(query.sql, / limit 3$/)
    assert.equal(query.parameters, ['Help'])
  } else assert.equal(query.parameters, ['Help', 3])
  await store.close()
})

test.run()
