import type {
  CompiledQuery,
  DialectAdapter,
  Kysely,
  KyselyPlugin,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
} from 'kysely'
import type { PreparedStatements } from './prepared-statements.ts'
import type { Database } from './tables.ts'

/** Travels with a database, or a transaction in it, and carries something for whoever has it; queries and results stay as they are. */
export abstract class Carrier implements KyselyPlugin {
  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }
  async transformResult({ result }: PluginTransformResultArgs) {
    return result
  }
}

const shortcuts = new WeakMap<DialectAdapter, PreparedStatements>()

/** Says that the database of this adapter is one of SQLite's, in this thread, with one connection. */
export function withShortcut<A extends DialectAdapter>(adapter: A, statements: PreparedStatements): A {
  shortcuts.set(adapter, statements)
  return adapter
}

/**
 * The statements by which a compiled query can be run at once, or null: Kysely is to be asked. Kysely hands its one connection from promise
 * to promise, which takes longer than SQLite needs for most queries. That is needed only to keep others out of an open transaction: so
 * this is a way for the transaction itself, and for all while none is open. Nor is it one where somebody wants to see the queries.
 */
export function shortcutOf(db: Kysely<Database>): PreparedStatements | null {
  const { adapter, plugins } = db.getExecutor()
  const statements = shortcuts.get(adapter)
  if (statements === undefined || (statements.inTransaction && !db.isTransaction)) return null
  for (const plugin of plugins) if (!(plugin instanceof Carrier)) return null
  return statements
}

/** Statements and transactions of this process so far; empty where nobody counts them (PostgreSQL does itself: `pg_stat_statements`). */
export const storeCounters = (db: Kysely<Database>): Readonly<Record<string, number>> =>
  shortcuts.get(db.getExecutor().adapter)?.counters ?? {}

/**
 * Grows with each write to one of these tables, whoever writes it; null where nobody can say (PostgreSQL, an open transaction). What was
 * read between two times that show the same number is what would be read now.
 */
export function revisionOf(db: Kysely<Database>, tables: readonly (keyof Database)[]): number | null {
  const statements = shortcuts.get(db.getExecutor().adapter)
  return statements === undefined || statements.inTransaction ? null : statements.revisions.of(tables)
}

/** Runs a compiled query with these parameters, as Kysely's driver does. */
export function runAtOnce<R>(
  statements: PreparedStatements,
  { sql }: CompiledQuery<R>,
  parameters: readonly unknown[],
): QueryResult<R> {
  const statement = statements.prepare(sql)
  if (statement.reader) return { rows: statement.all(parameters) as R[] }
  const { changes, lastInsertRowid } = statement.run(parameters)
  return { numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid), rows: [] }
}
