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
  const before = await tables()
  await migrator.migrateToLatest()
  const after = await tables()
  const wrong: string[] = []
  for (const [table, columns] of before) {
    const now = after.get(table) ?? new Map<string, never>()
    for (const [name, { dataType }] of columns)
      if (now.get(name)?.dataType !== dataType) wrong.push(`${table}.${name} is gone`)
    for (const [name, { isNullable, hasDefaultValue }] of now)
      if (!columns.has(name) && !isNullable && !hasDefaultValue) wrong.push(`${table}.${name} has no default`)
  }
  await db.destroy()
  await remove()
  assert.ok(before.size > 50)
  assert.equal(wrong, [])
})

test.run()
