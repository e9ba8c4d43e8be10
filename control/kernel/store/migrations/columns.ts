import type { CreateTableBuilder, Kysely } from 'kysely'

type Table = CreateTableBuilder<string, string>

/** `?`: may be null. */
export type Columns = Record<string, 'text' | 'integer' | 'text?' | 'integer?'>

/** A table whose rows belong to an organisation and a mode; the caller adds its key. */
export const tenantTable = <DB>(db: Kysely<DB>, name: string): Table => ofTenants(db.schema.createTable(name))

/** The same, for rows that have an ID. */
export const objectTable = <DB>(db: Kysely<DB>, name: string, key = 'id'): Table =>
  ofTenants(db.schema.createTable(name).addColumn(key, 'text', column => column.primaryKey()))

const ofTenants = (table: Table): Table =>
  table
    .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
    .addColumn('livemode', 'integer', column => column.notNull())

/** Creates the table with these columns. */
export const createWith = (table: Table, columns: Columns): Promise<void> =>
  Object.entries(columns)
    .reduce(
      (built, [name, type]) =>
        type.endsWith('?')
          ? built.addColumn(name, type.slice(0, -1) as 'text')
          : built.addColumn(name, type as 'text', column => column.notNull()),
      table,
    )
    .execute()
