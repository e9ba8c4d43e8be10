import type {
  CompiledQuery,
  DialectAdapter,
  Kysely,
  KyselyPlugin,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
} from 'kysely'
import type { Statements } from './prepared-statements.ts'
import type { Database } from './tables.ts'

/** Carries something along with a database or a transaction; queries and results pass unchanged. */
export abstract class Carrier implements KyselyPlugin {
  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }
  async transformResult({ result }: PluginTransformResultArgs) {
    return result
  }
}

const shortcuts = new WeakMap<DialectAdapter, Statements>()

/** Marks the adapter's database as SQLite, in this thread, with one connection. */
export function withShortcut<A extends DialectAdapter>(adapter: A, statements: Statements): A {
  shortcuts.set(adapter, statements)
  return adapter
}

/**
 * The statements by which a compiled query can run synchronously, or null: use Kysely. Kysely passes its one connection along by promises,
 * which takes longer than SQLite needs for most queries. That is only needed to keep others out of an open transaction. So the
 * transaction itself may use this shortcut, and everybody may while none is open; not if somebody wants to see the queries.
 */
export function shortcutOf(db: Kysely<Database>): Statements | null {
  const { adapter, plugins } = db.getExecutor()
  const statements = shortcuts.get(adapter)
  if (statements === undefined || (statements.inTransaction && !db.isTransaction)) return null
  for (const plugin of plugins) if (!(plugin instanceof Carrier)) return null
  return statements
}

/** Statements and transactions of this process so far; empty if nobody counts them (PostgreSQL itself does: `pg_stat_statements`). */
export const storeCounters = (db: Kysely<Database>): Readonly<Record<string, number>> =>
  shortcuts.get(db.getExecutor().adapter)?.counters ?? {}

/**
 * Grows with each write to one of these tables, by anybody; null if that is unknown (PostgreSQL, an open transaction). If the number is the
 * same before and after, what was read in between is still current.
 */
export function revisionOf(db: Kysely<Database>, tables: readonly (keyof Database)[]): number | null {
  const statements = shortcuts.get(db.getExecutor().adapter)
  return statements === undefined || statements.inTransaction ? null : statements.revisions.of(tables)
}

/** Runs a compiled query with these parameters, like Kysely's driver. */
export function runAtOnce<R>(
  statements: Statements,
  { sql }: CompiledQuery<R>,
  parameters: readonly unknown[],
): QueryResult<R> {
  const statement = statements.prepare(sql)
  if (statement.reader) return { rows: statement.all(parameters) as R[] }
  const { changes, lastInsertRowid } = statement.run(parameters)
  return { numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid), rows: [] }
}
