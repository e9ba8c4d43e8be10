import {
  type Compilable,
  type CompiledQuery,
  type DialectAdapter,
  type Insertable,
  type Kysely,
  PostgresAdapter,
  type QueryResult,
  type Selectable,
  type SelectQueryBuilder,
} from 'kysely'
import { noteQuery } from './after-commit.ts'
import { asPostgresText } from './postgres-text.ts'
import { runAtOnce, shortcutOf } from './shortcut.ts'
import type { Db } from './store.ts'
import type { Database } from './tables.ts'

/** Placeholder in a query for a value that is given when the query runs, or for one of a list of values. */
class Parameter {
  readonly name: string
  /** Its place in the list; null: it is none. */
  readonly at: number | null
  constructor(name: string, at: number | null) {
    this.name = name
    this.at = at
  }
}

/** Puts a parameter into a query; its type is that of the expression next to it. `at`: its place, if the value is a list. */
export type Place = (name: string, at?: number) => never
const place: Place = (name, at) => new Parameter(name, at ?? null) as never

/** The values of a query's parameters. */
export type Values = Readonly<Record<string, unknown>>

function givenFor({ name, at }: Parameter, values: Values): unknown {
  if (at === null) return values[name]
  const list = values[name] as readonly unknown[]
  return list[Math.min(at, list.length - 1)]
}

/** The compiled queries of each kind of database, by name. */
const compiled = new Map<DialectAdapter['constructor'], Map<string, CompiledQuery>>()

function compiledOnce<R>(db: Kysely<Database>, name: string, build: (place: Place) => Compilable<R>): CompiledQuery<R> {
  const kind = db.getExecutor().adapter.constructor
  const known = compiled.get(kind) ?? new Map<string, CompiledQuery>()
  const query = known.get(name)
  if (query !== undefined) return query as CompiledQuery<R>
  const built = build(place).compile()
  compiled.set(kind, known.set(name, built))
  return built
}

async function execute<R>(db: Db, query: CompiledQuery<R>, given: unknown[]): Promise<QueryResult<R>> {
  noteQuery(db, query.query)
  const shortcut = shortcutOf(db)
  if (shortcut !== null) return runAtOnce(shortcut, query, given)
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return db.executeQuery<R>({ ...query, parameters: isPostgres ? given.map(asPostgresText) : given })
}

/**
 * Runs a query that is built and compiled only once, because Kysely needs many times as long for that as SQLite for the answer. `name`
 * identifies the query: two queries that differ in more than their parameters need two names. All of them are kept, so a name may contain only
 * the product's own words, such as tables and columns, and never client input.
 */
export async function run<R>(
  db: Db,
  name: string,
  build: (place: Place) => Compilable<R>,
  values: Values,
): Promise<QueryResult<R>> {
  const query = compiledOnce(db, name, build)
  const given = query.parameters.map(parameter =>
    parameter instanceof Parameter ? givenFor(parameter, values) : parameter,
  )
  return execute(db, query, given)
}

/** The rows of a query (`run`). */
export const rowsOf = async <R>(
  db: Db,
  name: string,
  build: (place: Place) => Compilable<R>,
  values: Values,
): Promise<R[]> => (await run(db, name, build, values)).rows

/** The first row of a query (`run`), or undefined. */
export const rowOf = async <R>(
  db: Db,
  name: string,
  build: (place: Place) => Compilable<R>,
  values: Values,
): Promise<R | undefined> => (await run(db, name, build, values)).rows[0]

/** A row whose key is among the values, if the store has it in memory; null: there is none; undefined: ask. */
export const knownRow = <T extends keyof Database>(
  db: Db,
  table: T,
  values: Values,
): Selectable<Database[T]> | null | undefined => shortcutOf(db)?.rowWith(table, values) as never

/** Whether it is known without a query that no row of a table has these column values; false: ask. */
export const isKnownAbsent = <T extends keyof Database>(
  db: Db,
  table: T,
  values: Partial<Selectable<Database[T]>>,
): boolean => shortcutOf(db)?.isAbsent(table, values) ?? false

/** The first row of a table with these column values (`run`), or undefined. */
export async function rowBy<T extends keyof Database>(
  db: Db,
  table: T,
  values: Partial<Selectable<Database[T]>>,
): Promise<Selectable<Database[T]> | undefined> {
  // A query that memory answers takes five times as long as the answer.
  const known = knownRow(db, table, values)
  if (known !== undefined) return known ?? undefined
  const columns = Object.keys(values)
  // Kysely cannot type a table name that is a type parameter.
  const build = (place: Place) => {
    const all = db.selectFrom(table as never).selectAll() as unknown as SelectQueryBuilder<Database, 'api_keys', object>
    return columns.reduce((query, column) => query.where(column as 'id', '=', place(column)), all).limit(1)
  }
  return (await rowOf(db, `first ${table} by ${columns}`, build, values)) as never
}

/** Values for `in (…)`. The length is rounded up, so that few queries are compiled, and the last value fills the rest. */
export function inList(name: string, values: readonly unknown[]) {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, values.length)))
  return {
    length,
    places: (place: Place): never[] => Array.from({ length }, (_, i) => place(name, i)),
    values: { [name]: values } as Values,
  }
}

/** Inserts a row. False: there is one with a key of it. */
export async function insertNew<T extends keyof Database>(db: Db, table: T, row: Insertable<Database[T]>) {
  const insert = db.insertInto(table).values(row as never)
  const { numInsertedOrUpdatedRows } = await insert.onConflict(one => one.doNothing()).executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Rows of one INSERT: databases bound the number of values in a statement, and each number of rows is a query of its own. */
const ROWS_AT_ONCE = 64

/** Inserts rows that have the same columns; compiled once for each number of them. `unless`: those of which these columns are taken are left out. */
export async function insertRows<T extends keyof Database>(
  db: Db,
  table: T,
  all: readonly Insertable<Database[T]>[],
  unless: readonly (keyof Database[T] & string)[] = [],
): Promise<void> {
  for (let from = 0; from < all.length; from += ROWS_AT_ONCE) {
    await insertSome(db, table, all.slice(from, from + ROWS_AT_ONCE), unless)
  }
}

async function insertSome<T extends keyof Database>(
  db: Db,
  table: T,
  rows: readonly Insertable<Database[T]>[],
  unless: readonly (keyof Database[T] & string)[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const build = (place: Place) => {
    const row = Object.fromEntries(columns.map(column => [column, place(column)]))
    const insert = db.insertInto(table).values(rows.map(() => row) as never)
    return unless.length === 0 ? insert : insert.onConflict(conflict => conflict.columns(unless as never).doNothing())
  }
  const query = compiledOnce(db, `insert ${table} ${columns} ${rows.length} ${unless}`, build)
  const names = query.parameters.slice(0, columns.length).map(parameter => (parameter as Parameter).name)
  const values = rows.flatMap(row => names.map(name => (row as Record<string, unknown>)[name]))
  await execute(db, query, values)
}
