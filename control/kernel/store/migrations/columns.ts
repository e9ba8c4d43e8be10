import type { CreateTableBuilder, Kysely } from 'kysely'

type Table = CreateTableBuilder<string, string>

type Type = 'text' | 'integer' | 'bigint' | 'real'

/** `?`: may be null. `key`: the primary key. */
export type Columns = Record<string, Type | `${Type}?` | 'text key' | 'text unique' | 'text? unique'>

/** A table whose rows belong to an organisation and a mode; the caller adds its key. */
export const tenantTable = <DB>(db: Kysely<DB>, name: string): Table => ofTenants(db.schema.createTable(name))

/** The same, for rows that have an ID. */
export const objectTable = <DB>(db: Kysely<DB>, name: string, key = 'id'): Table =>
  ofTenants(db.schema.createTable(name).addColumn(key, 'text', column => column.primaryKey()))

/** A table without an owner; the caller adds its key. */
export const sharedTable = <DB>(db: Kysely<DB>, name: string): Table => db.schema.createTable(name)

const ofTenants = (table: Table): Table =>
  table
    .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
    .addColumn('livemode', 'integer', column => column.notNull())

/** Adds columns: those that may be null, and those that have this value in the rows that are there, whose type is theirs. */
export async function addColumns<DB>(
  db: Kysely<DB>,
  table: string,
  columns: Record<string, 'text?' | 'integer?' | { default: string | number }>,
): Promise<void> {
  for (const [name, kind] of Object.entries(columns)) {
    const isNullable = typeof kind === 'string'
    const type = isNullable ? kind.slice(0, -1) : typeof kind.default === 'string' ? 'text' : 'integer'
    const altered = db.schema.alterTable(table).addColumn(name, type as 'text', column => {
      return isNullable ? column : column.notNull().defaultTo(kind.default)
    })
    await altered.execute()
  }
}

/** `skipsNull`: without the rows in which the first column is null. */
export function addIndex<DB>(
  db: Kysely<DB>,
  name: string,
  table: string,
  columns: string[],
  { isUnique = false, skipsNull = false } = {},
): Promise<void> {
  const whole = db.schema.createIndex(name).on(table).columns(columns)
  const index = skipsNull ? whole.where(columns[0] as never, 'is not', null) : whole
  return (isUnique ? index.unique() : index).execute()
}

/** Creates the table with these columns. */
export function createWith(table: Table, columns: Columns): Promise<void> {
  let built = table
  for (const [name, kind] of Object.entries(columns)) {
    const [type, rule] = kind.split(' ')
    built = built.addColumn(name, type!.replace('?', '') as Type, column => {
      if (rule === 'key') return column.primaryKey()
      const filled = kind.includes('?') ? column : column.notNull()
      return rule === 'unique' ? filled.unique() : filled
    })
  }
  return built.execute()
}
