import type BetterSqlite3 from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { Revisions } from './revisions.ts'

type Row = Record<string, unknown>
type Parameters = readonly unknown[]

/** How a column converts a value (https://sqlite.org/datatype3.html#determination_of_column_affinity). */
type Affinity = 'text' | 'number' | 'any'

/** A table with a single text column as its key. */
interface Keyed {
  name: string
  key: string
  columns: ReadonlyMap<string, Affinity>
  copyOf: (row: Row) => Row
}

interface Known {
  /** Revisions of the table and of all tables when it was read or written. */
  revision: number
  row: Row
}

/** Maximum size of all rows together, and of one [characters]; rows count by the length of their texts. */
const MAX_CHARACTERS = 8_000_000
const MAX_OF_ROW = 8192
const OF_EACH = 200

const CONDITION = String.raw`(?:"\w+"\.)?"(\w+)" (?:(=) \?|(?:!=|<|<=|>|>=) \?|in \(\?(?:, \?)*\)|is (?:not )?null)`
const CONDITIONS = new RegExp(`^${CONDITION}(?: and ${CONDITION})*$`)
const SELECT = /^select (\*|"\w+"(?:, "\w+")*) from "(\w+)" where (.+?)(?: limit \d+)?$/
const INSERT = /^insert into "(\w+)" \(("\w+"(?:, "\w+")*)\) values ((?:\(\?(?:, \?)*\)(?:, )?)+)$/
const UPDATE = /^update "(\w+)" set (.+?) where (.+?)(?: returning .+)?$/
const SET = /^"(\w+)" = \?$/
const HALF_CHARACTER = /\p{Surrogate}/u
const TABLE = /^\s*(?:insert\s+into|update|delete\s+from)\s+"?(\w+)"?/i

/**
 * Caches rows by key, as they were read or written. A cached row survives writes to other rows, and a write to it updates the cache without a query.
 * The events of one call read the same call and leg some twenty times, while other rows of these tables are written all the time.
 */
export class RowsByKey {
  readonly #sqlite: BetterSqlite3.Database
  readonly #revisions: Revisions
  readonly #rows = new LRUCache<string, Known>({ maxSize: MAX_CHARACTERS })
  /** Counts writes that do not say which row they change. */
  readonly #unsaid = new Map<string, number>()
  readonly #tables = new Map<string, Keyed | null>()
  /** Other tables are not read by key. */
  readonly #asked = new Set<string>()

  constructor(sqlite: BetterSqlite3.Database, revisions: Revisions) {
    this.#sqlite = sqlite
    this.#revisions = revisions
  }

  /** Tables may have new columns. */
  forget(): void {
    this.#tables.clear()
    this.#rows.clear()
  }

  /** Answers a query for one row by its key; null: it is another kind of query. The answer is null if it is not cached. */
  reading(sql: string): Reader | null {
    const [, columns = '', name = '', where = ''] = SELECT.exec(sql) ?? []
    const table = this.#tableOf(name)
    const conditions = conditionsOf(where)
    if (table === null || conditions === null || conditions.some(({ isEqual }) => !isEqual)) return null
    const at = conditions.findIndex(({ column }) => column === table.key)
    if (at < 0) return null
    this.#asked.add(name)
    const wanted = columns === '*' ? null : columns.split(', ').map(column => column.slice(1, -1))
    const others = conditions.filter((_, i) => i !== at)
    return {
      known: parameters => {
        const row = this.#known(table, parameters[at])
        if (row === undefined) return null
        for (const { column, place } of others) {
          const [value, asked] = [row[column], parameters[place]]
          // Only the database knows whether a number equals a text.
          if (typeof value !== typeof asked || value === null) return null
          if (value !== asked) return []
        }
        return [wanted === null ? table.copyOf(row) : Object.fromEntries(wanted.map(column => [column, row[column]]))]
      },
      learn: rows => {
        if (wanted === null && rows.length === 1) this.#keep(table, table.copyOf(rows[0] as Row))
      },
    }
  }

  /** The row of this table with these values, its key among them, without a query; null: there is none; undefined: not cached. */
  rowWith(name: string, values: Row): Row | null | undefined {
    const table = this.#tableOf(name)
    if (table === null) return undefined
    const row = this.#known(table, values[table.key])
    if (row === undefined) return undefined
    for (const column in values) {
      const [value, asked] = [row[column], values[column]]
      // Only the database knows whether a number equals a text.
      if (typeof value !== typeof asked || value === null) return undefined
      if (value !== asked) return null
    }
    return table.copyOf(row)
  }

  /** To be called after this statement has run, with its number of changed rows; null: it failed, or the number is unknown. */
  writing(sql: string): (parameters: Parameters, changes: number | null) => void {
    const name = TABLE.exec(sql)?.[1]
    if (name === undefined) return () => this.#rows.clear()
    const note = this.#inserting(sql) ?? this.#updating(sql)
    return (parameters, changes) => {
      if (changes === 0) return
      if (note === null || changes === null || !note(parameters, changes)) this.#noteUnsaid(name)
    }
  }

  #noteUnsaid(name: string): void {
    this.#unsaid.set(name, (this.#unsaid.get(name) ?? 0) + 1)
  }

  #inserting(sql: string): ((parameters: Parameters, changes: number) => boolean) | null {
    const [, name = '', list = '', values = ''] = INSERT.exec(sql) ?? []
    const table = this.#tableOf(name)
    if (table === null) return null
    const columns = list.split(', ').map(column => column.slice(1, -1))
    const keyAt = columns.indexOf(table.key)
    const rows = values.split('), (').length
    if (keyAt < 0) return null
    const names = [...table.columns.keys()]
    const places = names.map(column => columns.indexOf(column))
    const make = places.includes(-1) ? null : rowMaker(names, places)
    const areExact = exactnessOf(table, columns)
    return (parameters, changes) => {
      if (changes !== rows || parameters.length !== rows * columns.length) return false
      if (!this.#asked.has(name)) return true
      for (let from = 0; from < parameters.length; from += columns.length) {
        const row = parameters.slice(from, from + columns.length)
        if (make !== null && areExact(row)) this.#keep(table, make(row))
        else this.#rows.delete(keyOf(table, row[keyAt]))
      }
      return true
    }
  }

  #updating(sql: string): ((parameters: Parameters, changes: number) => boolean) | null {
    const [, name = '', set = '', where = ''] = UPDATE.exec(sql) ?? []
    const table = this.#tableOf(name)
    const columns = set.split(', ').map(item => SET.exec(item)?.[1])
    const conditions = conditionsOf(where)
    const key = conditions?.find(({ column, isEqual }) => isEqual && column === table?.key)
    // A value that is not set by a parameter may itself contain some.
    if (table === null || key === undefined || columns.includes(undefined) || columns.includes(table.key)) return null
    const areExact = exactnessOf(table, columns as string[])
    return (parameters, changes) => {
      const id = parameters[columns.length + key.place]
      if (changes !== 1 || typeof id !== 'string') return false
      const row = this.#known(table, id)
      if (row === undefined) return true
      if (!areExact(parameters)) return this.#rows.delete(keyOf(table, id))
      const changed = table.copyOf(row)
      for (const [i, column] of columns.entries()) changed[column!] = parameters[i]
      this.#keep(table, changed)
      return true
    }
  }

  #known(table: Keyed, key: unknown): Row | undefined {
    if (typeof key !== 'string') return undefined
    const known = this.#rows.get(keyOf(table, key))
    return known?.revision === this.#revisionOf(table) ? known.row : undefined
  }

  /** `row`: nobody else has it. */
  #keep(table: Keyed, row: Row): void {
    const key = keyOf(table, row[table.key])
    const size = typeof row[table.key] === 'string' ? sizeOf(row) : Number.POSITIVE_INFINITY
    if (size <= MAX_OF_ROW) this.#rows.set(key, { revision: this.#revisionOf(table), row }, { size })
    else this.#rows.delete(key)
  }

  #revisionOf({ name }: Keyed): number {
    return this.#revisions.ofAll() + (this.#unsaid.get(name) ?? 0)
  }

  /** Null: it has no such key, or triggers write to it unreported. */
  #tableOf(name: string): Keyed | null {
    if (name === '' || this.#revisions.isOfTriggers(name)) return null
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const columns = this.#sqlite
      .prepare<[string], { name: string; type: string; pk: number; hidden: number }>(
        'select name, type, pk, hidden from pragma_table_xinfo(?)',
      )
      .all(name)
    const [key, ...more] = columns.filter(({ pk }) => pk > 0)
    const isKeyed = key !== undefined && more.length === 0 && affinityOf(key.type) === 'text'
    const text = this.#sqlite
      .prepare<[string], string>('select sql from sqlite_master where name = ?')
      .pluck()
      .get(name)
    // Texts may be the same in another way, or columns computed.
    const isPlainTable = !/\bcollate\b/i.test(text ?? '') && columns.every(({ hidden }) => hidden === 0)
    const names = columns.map(column => column.name)
    const affinities = new Map(columns.map(column => [column.name, affinityOf(column.type)]))
    const table: Keyed | null =
      isKeyed && isPlainTable ? { name, key: key.name, columns: affinities, copyOf: rowCopier(names) } : null
    this.#tables.set(name, table)
    return table
  }
}

interface Reader {
  /** The answer; null: not cached. */
  known(parameters: Parameters): Row[] | null
  /** Stores the database's answer. */
  learn(rows: readonly unknown[]): void
}

interface Condition {
  column: string
  isEqual: boolean
  /** Position of its first parameter within the condition. */
  place: number
}

/** The columns that a query of one table compares with parameters for equality, all of which must hold; null: it is another kind of query. */
export function equalitiesOf(sql: string): { table: string; columns: { column: string; place: number }[] } | null {
  const [, , table = '', where = ''] = SELECT.exec(sql) ?? []
  const conditions = conditionsOf(where)
  return conditions === null ? null : { table, columns: conditions.filter(({ isEqual }) => isEqual) }
}

/** The conditions of a conjunction; null: it is something else. */
function conditionsOf(where: string): Condition[] | null {
  if (!CONDITIONS.test(where)) return null
  let place = 0
  return [...where.matchAll(new RegExp(CONDITION, 'g'))].map(([text, column, equal]) => {
    const condition = { column: column!, isEqual: equal !== undefined, place }
    place += text.split('?').length - 1
    return condition
  })
}

function affinityOf(type: string): Affinity {
  if (/int/i.test(type)) return 'number'
  if (/char|clob|text/i.test(type)) return 'text'
  if (type === '' || /blob/i.test(type)) return 'any'
  return 'number'
}

/**
 * Tells whether all of these columns return the first of these values unchanged: some turn a number into text, and the driver changes unpaired surrogates.
 */
function exactnessOf({ columns }: Keyed, names: readonly string[]): (values: Parameters) => boolean {
  const affinities = names.map(name => columns.get(name))
  return values => affinities.every((affinity, i) => isExact(affinity, values[i]))
}

function isExact(affinity: Affinity | undefined, value: unknown): boolean {
  if (affinity === undefined) return false
  if (value === null) return true
  if (typeof value === 'string') return affinity !== 'number' && !HALF_CHARACTER.test(value)
  return typeof value === 'number' && Number.isFinite(value) && affinity !== 'text'
}

const keyOf = ({ name }: Keyed, key: unknown): string => `${name} ${key}`

/** Infinite if a value can change: byte arrays do. */
function sizeOf(row: Row): number {
  let size = OF_EACH
  for (const column in row) {
    const value = row[column]
    if (typeof value === 'string') size += value.length
    else if (typeof value !== 'number' && value !== null) return Number.POSITIVE_INFINITY
  }
  return size
}

/**
 * Makes rows of values, as generated code: V8 knows one shape for all of them from the beginning. Wide ones that are filled column by column
 * become dictionaries instead, of which each copy takes 10 µs. `places`: where among the values each column is.
 */
export const rowMaker = (
  columns: readonly string[],
  places: readonly number[] = [...columns.keys()],
): ((values: Parameters) => Row) =>
  new Function(
    'values',
    `return { ${columns.map((name, i) => `${JSON.stringify(name)}: values[${places[i]}]`).join(', ')} }`,
  ) as never

/** Copies rows that have just these columns, as generated code: `{ ...row }` goes property by property where it meets rows of many tables. */
export const rowCopier = (columns: readonly string[]): ((row: Row) => Row) => {
  const properties = columns.map(name => JSON.stringify(name))
  return new Function('row', `return { ${properties.map(name => `${name}: row[${name}]`).join(', ')} }`) as never
}
