import type {
  DeleteQueryBuilder,
  DeleteResult,
  Insertable,
  Selectable,
  SelectQueryBuilder,
  Updateable,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely'
import { knownRow, type Place, rowBy, rowOf, run, type Values } from './store/compiled.ts'
import type { Db } from './store/store.ts'
import type { Database } from './store/tables.ts'
import type { TenantColumns } from './store/tenant-columns.ts'

/** The owner of rows: an organisation in one mode. A request's `Context` is one. */
export interface Tenant {
  organisationId: string
  livemode: boolean
}

/** The owner of a row. */
export const tenantOf = (row: TenantColumns): Tenant => ({
  organisationId: row.organisation_id,
  livemode: row.livemode === 1,
})

/** The columns of a new row that say whose it is; on a call's way, after the others. */
export const ownedBy = ({ organisationId, livemode }: Tenant): TenantColumns => ({
  organisation_id: organisationId,
  livemode: livemode ? 1 : 0,
})

type TenantTable = { [T in keyof Database]: Database[T] extends TenantColumns ? T : never }[keyof Database]
export type TableWithId = { [T in TenantTable]: Database[T] extends { id: string } ? T : never }[TenantTable]

/** The tables of a database as one tenant sees them: other tenants' rows do not exist. */
export interface TenantDb {
  select<T extends TenantTable>(table: T): SelectQueryBuilder<Database, T, object>
  /** The row with this ID; undefined if there is none, or it is another tenant's. */
  find<T extends TableWithId>(table: T, id: string): Promise<Selectable<Database[T]> | undefined>
  /** The first row with these column values, or undefined. */
  findBy<T extends TenantTable>(
    table: T,
    values: Partial<Selectable<Database[T]>>,
  ): Promise<Selectable<Database[T]> | undefined>
  /** Updates columns of the row with this ID, if it exists. */
  change<T extends TableWithId>(table: T, id: string, columns: Updateable<Database[T]>): Promise<void>
  insert<T extends TenantTable>(table: T, row: Omit<Insertable<Database[T]>, keyof TenantColumns>): Promise<void>
  update<T extends TenantTable>(table: T): UpdateQueryBuilder<Database, T, T, UpdateResult>
  delete<T extends TenantTable>(table: T): DeleteQueryBuilder<Database, T, DeleteResult>
}

/**
 * Every query of a tenant's table goes through here. It adds the organisation and the mode, so that an ID of another
 * organisation or mode is never found. Kysely cannot type a table name that is a type parameter, hence the casts.
 */
export function forTenant(db: Db, tenant: Tenant): TenantDb {
  const livemode = tenant.livemode ? 1 : 0
  // Qualified by the table's name, because joined tables have such columns too.
  const narrowed = <Q>(table: string, query: unknown): Q => {
    const whereable = query as { where(column: string, op: string, value: unknown): typeof whereable }
    const ofOrganisation = whereable.where(`${table}.organisation_id`, '=', tenant.organisationId)
    return ofOrganisation.where(`${table}.livemode`, '=', livemode) as Q
  }
  return {
    select: table => narrowed(table, db.selectFrom(table as never)),
    find: async (table, id) => {
      const known = knownRow(db, table, { id, organisation_id: tenant.organisationId, livemode })
      if (known !== undefined) return known ?? undefined
      const build = (place: Place) =>
        ofTenant(db, table, place)
          .selectAll()
          .where('id' as never, '=', place('id'))
      return (await rowOf(db, `find ${table}`, build, { id, ...valuesOf(tenant) })) as never
    },
    findBy: (table, values) =>
      rowBy(db, table, { organisation_id: tenant.organisationId, livemode, ...values } as never),
    change: async (table, id, columns) => {
      // Sorted, since a client may have chosen the order, and each list of names has a query that is kept.
      const names = Object.entries(columns)
        .flatMap(([name, value]) => (value === undefined ? [] : [name]))
        .sort()
      const build = (place: Place) => {
        const set = Object.fromEntries(names.map(name => [name, place(`to ${name}`)]))
        return changeOf(db, table, place).set(set as never)
      }
      const to = Object.fromEntries(names.map(name => [`to ${name}`, (columns as Values)[name]]))
      await run(db, `change ${table} ${names}`, build, { id, ...to, ...valuesOf(tenant) })
    },
    insert: async (table, row) => {
      const full = { ...row, organisation_id: tenant.organisationId, livemode }
      const columns = Object.entries(full).flatMap(([column, value]) => (value === undefined ? [] : [column]))
      const build = (place: Place) =>
        db.insertInto(table).values(Object.fromEntries(columns.map(column => [column, place(column)])) as never)
      await run(db, `insert ${table} ${columns}`, build, full)
    },
    update: table => narrowed(table, db.updateTable(table as never)),
    delete: table => narrowed(table, db.deleteFrom(table as never)),
  }
}

/** A tenant's rows of a table, in a query that is compiled once (`store/compiled.ts`); its values begin with `valuesOf(tenant)`. */
export const ofTenant = <T extends TenantTable>(
  db: Db,
  table: T,
  place: Place,
): SelectQueryBuilder<Database, T, object> => {
  const all = db.selectFrom(table as never) as unknown as SelectQueryBuilder<Database, 'api_keys', object>
  const ofOrganisation = all.where(`${table as 'api_keys'}.organisation_id`, '=', place('organisation'))
  return ofOrganisation.where(`${table as 'api_keys'}.livemode`, '=', place('livemode')) as never
}

/** An update of a tenant's row with the ID `id`, in a query that is compiled once. */
export const changeOf = <T extends TableWithId>(
  db: Db,
  table: T,
  place: Place,
): UpdateQueryBuilder<Database, T, T, UpdateResult> => {
  const update = db.updateTable(table as never) as unknown as UpdateQueryBuilder<
    Database,
    'users',
    'users',
    UpdateResult
  >
  const ofOrganisation = update.where('organisation_id', '=', place('organisation'))
  return ofOrganisation.where('livemode', '=', place('livemode')).where('id', '=', place('id')) as never
}

export const valuesOf = ({ organisationId, livemode }: Tenant) => ({
  organisation: organisationId,
  livemode: livemode ? 1 : 0,
})
