import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import * as assert from 'uvu/assert'
import { INDEXES_OF_ONE_CALL } from '../../../../control/kernel/store/migrations/400-449/425-of-one-call.ts'
import { MIGRATIONS } from '../../../../control/kernel/store/migrations/all.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, openMigrating, testEngine } from '../../database.ts'

const test = suite('control/kernel/store/older nodes')

/** Nodes of this version and later ones may serve a database while a newer one migrates it. */
const FIRST = '410-steady-agents'

test('a migration takes nothing away that older nodes read, and asks nothing of what they write', async () => {
  const { target, remove } = await makeDatabase({ blank: true })
  const { db, migrateTo } = openMigrating(target)
  const tables = async () => {
    const all = await db.introspection.getTables()
    return new Map(all.map(({ name, columns }) => [name, new Map(columns.map(column => [column.name, column]))]))
  }
  await migrateTo(FIRST)
  const first = await tables()
  assert.ok(first.size > 50)
  /** What a version from then on reads and writes. */
  const read = new Map<string, string>()
  const names = Object.keys(MIGRATIONS)
  for (const name of [FIRST, ...names.slice(names.indexOf(FIRST) + 1)]) {
    await migrateTo(name)
    for (const [table, columns] of await tables())
      for (const { name, dataType } of columns.values()) read.set(`${table}.${name}`, dataType)
  }
  const wrong = new Set(read.keys())
  for (const [table, columns] of await tables())
    for (const { name, dataType, isNullable, hasDefaultValue } of columns.values()) {
      const isOld = first.get(table)?.has(name) ?? true
      if (read.get(`${table}.${name}`) === dataType && (isOld || isNullable || hasDefaultValue))
        wrong.delete(`${table}.${name}`)
    }
  await db.destroy()
  await remove()
  assert.equal([...wrong], [], 'gone, changed, or without a default')
})

const BEFORE = {
  events_call: 'events',
  call_marks_of_call: 'call_marks',
  copilot_sessions_own_call_id: 'copilot_sessions',
}

if (testEngine === 'postgres')
  test('a node that brings indexes of large tables builds them while other nodes write there, and what a killed node has left of one anew', async () => {
    const { target, remove } = await makeDatabase()
    const { db, close } = await openStore(target)
    const names = INDEXES_OF_ONE_CALL.map(index => index.split(' ')[0]!)
    for (const name of names) await db.schema.dropIndex(name).execute()
    for (const [name, table] of Object.entries({ ...BEFORE, call_steps_call: 'call_steps' }))
      await db.schema.createIndex(name).on(table).column('call_id').execute()
    await db.schema.createIndex('events_time').on('events').column('timestamp').execute()
    await sql`delete from kysely_migration where name like '425%'`.execute(db)
    await sql.raw(`create index ${INDEXES_OF_ONE_CALL[0]}`).execute(db)
    await sql`update pg_index set indisvalid = false where indexrelid = 'events_of_call'::regclass`.execute(db)
    let commit: (value?: unknown) => void = () => {}
    const committed = new Promise(resolve => (commit = resolve))
    const older = db.transaction().execute(async trx => {
      await sql`lock table events in row exclusive mode`.execute(trx)
      await committed
    })
    const newer = openStore(target)
    const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    while ((await waiting.execute(db)).rows.length === 0) await sleep(20)
    await db.transaction().execute(async trx => {
      await sql`set local lock_timeout = 500`.execute(trx)
      await sql`lock table events in row exclusive mode`.execute(trx)
    })
    commit()
    await older
    await (await newer).close()
    const valid = sql<{ name: string }>`select indexrelid::regclass::text as name from pg_index where indisvalid`
    const made = (await valid.execute(db)).rows.map(({ name }) => name)
    assert.equal(
      names.filter(name => !made.includes(name)),
      [],
    )
    assert.is(made.includes('events_time'), false)
    await close()
    await remove()
  })

test.run()
