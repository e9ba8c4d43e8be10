import { Migrator } from 'kysely'
import * as assert from 'uvu/assert'
import { MIGRATIONS } from '../../../../control/kernel/store/migrations/all.ts'
import { ONLY_NODE, sinceBoot } from '../../../../control/kernel/store/node.ts'
import { connectionsTo, postgresDatabase } from '../../../../control/kernel/store/postgres.ts'
import { PreparedStatements } from '../../../../control/kernel/store/prepared-statements.ts'
import { connectTo, sqliteDatabase } from '../../../../control/kernel/store/sqlite.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase, testEngine } from '../../database.ts'

const test = suite('control/kernel/store/older nodes')

/** Nodes of this version and later ones may serve a database while a newer one migrates it. */
const FIRST = '410-steady-agents'

test('a migration takes nothing away that older nodes read, and asks nothing of what they write', async () => {
  const { target, remove } = await makeDatabase({ blank: true })
  const db =
    testEngine === 'sqlite'
      ? sqliteDatabase(new PreparedStatements(connectTo(target)), ONLY_NODE, sinceBoot)
      : postgresDatabase(connectionsTo(target), ONLY_NODE, sinceBoot)
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const tables = async () => {
    const all = await db.introspection.getTables()
    return new Map(all.map(({ name, columns }) => [name, new Map(columns.map(column => [column.name, column]))]))
  }
  await migrator.migrateTo(FIRST)
  const first = await tables()
  assert.ok(first.size > 50)
  /** What a version from then on reads and writes. */
  const read = new Map<string, string>()
  const names = Object.keys(MIGRATIONS)
  for (const name of [FIRST, ...names.slice(names.indexOf(FIRST) + 1)]) {
    await migrator.migrateTo(name)
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

test.run()
