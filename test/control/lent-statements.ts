import type BetterSqlite3 from 'better-sqlite3'
import { PreparedStatements, type Statements } from '../../control/kernel/store/prepared-statements.ts'
import { connectTo } from '../../control/kernel/store/sqlite.ts'

/** A database in memory that is reused by one test after the other. */
interface Kept {
  sqlite: BetterSqlite3.Database
  statements: PreparedStatements
  /** Statement that counts changes of the tables. */
  schema: unknown
  tables: { hasRows: BetterSqlite3.Statement<[], number>; deletion: BetterSqlite3.Statement; isVirtual: boolean }[]
}

const free: Kept[] = []

/**
 * Statements for one store, on a copy of the image that is returned when the store is closed. Opening a new copy and preparing the same
 * statements took a sixth of a test's CPU.
 */
export function lentStatements(image: Buffer): Statements {
  const kept = free.pop() ?? open(image)
  const { statements } = kept
  let isOpen = true
  return {
    // After its store is closed, a test would write into the next one's database.
    prepare: sql => {
      if (!isOpen) throw new Error('The database connection is not open')
      return statements.prepare(sql)
    },
    rowWith: (table, values) => (isOpen ? statements.rowWith(table, values) : undefined),
    isAbsent: (table, values) => isOpen && statements.isAbsent(table, values),
    get counters() {
      return statements.counters
    },
    get inTransaction() {
      return isOpen && statements.inTransaction
    },
    revisions: statements.revisions,
    close: () => {
      if (!isOpen) return
      isOpen = false
      if (empty(kept)) free.push(kept)
      else statements.close()
    },
  }
}

function open(image: Buffer): Kept {
  const sqlite = connectTo(image)
  const all = sqlite
    .prepare<[], { name: string; isVirtual: number }>(
      `select name, sql like 'create virtual table%' as isVirtual from sqlite_master
       where type = 'table' and name not like 'kysely%' and name not like 'sqlite%'`,
    )
    .all()
  const virtual = all.filter(({ isVirtual }) => isVirtual === 1).map(({ name }) => `${name}_`)
  // Without the shadow tables of virtual tables.
  const own = all.filter(({ name }) => !virtual.some(prefix => name.startsWith(prefix)))
  return {
    sqlite,
    statements: new PreparedStatements(sqlite),
    schema: schemaOf(sqlite),
    tables: own.map(({ name, isVirtual }) => ({
      hasRows: sqlite.prepare<[], number>(`select exists (select 1 from "${name}")`).pluck(),
      deletion: sqlite.prepare(`delete from "${name}"`),
      isVirtual: isVirtual === 1,
    })),
  }
}

const schemaOf = (sqlite: BetterSqlite3.Database): unknown => sqlite.pragma('schema_version', { simple: true })

/** Deletes every row. False: the tables have changed. */
function empty({ sqlite, statements, schema, tables }: Kept): boolean {
  if (!sqlite.open || sqlite.inTransaction || schemaOf(sqlite) !== schema) return false
  // No row remains, so foreign keys need not be checked.
  sqlite.pragma('foreign_keys = OFF')
  for (const { hasRows, deletion, isVirtual } of tables) {
    if (hasRows.get() === 0) continue
    // Deleted rows still count in the ranks of a full-text index.
    if (isVirtual) return false
    deletion.run()
  }
  sqlite.pragma('foreign_keys = ON')
  statements.revisions.noteAll()
  return true
}
