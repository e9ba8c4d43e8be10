import type {
  DeleteQueryBuilder,
  DeleteResult,
  Insertable,
  Selectable,
  SelectQueryBuilder,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely'
import { type Place, rowOf, run } from './store/compiled.ts'
import type { Db } from './store/store.ts'
import type { Database } from './store/tables.ts'
import type { TenantColumns } from './store/tenant-columns.ts'

/** Whose rows: an organisation in one mode. A request's `Context` is one. */
export interface Tenant {
  organisationId: string
  livemode: boolean
}

type TenantTable = { [T in keyof Database]: Database[T] extends TenantColumns ? T : never }[keyof Database]
export type TableWithId = { [T in TenantTable]: Database[T] extends { id: string } ? T : never }[TenantTable]

/** The tables of a database, seen by one tenant: the rows of others do not exist. */
export interface TenantDb {
  select<T extends TenantTable>(table: T): SelectQueryBuilder<Database, T, object>
  /** The row with this ID, or undefined: also when it is another tenant's. */
  find<T extends TableWithId>(table: T, id: string): Promise<Selectable<Database[T]> | undefined>
  insert<T extends TenantTable>(table: T, row: Omit<Insertable<Database[T]>, keyof TenantColumns>): Promise<void>
  update<T extends TenantTable>(table: T): UpdateQueryBuilder<Database, T, T, UpdateResult>
  delete<T extends TenantTable>(table: T): DeleteQueryBuilder<Database, T, DeleteResult>
}

/**
 * Every query of a tenant's table goes through here: it adds the organisation and the mode, so that an ID of another
 * organisation or mode is not found by construction. Kysely cannot follow a table name that is a type parameter, hence the casts.
 */
export function forTenant(db: Db, tenant: Tenant): TenantDb {
  const livemode = tenant.livemode ? 1 : 0
  // By the table's name: what a query joins has such columns too.
  const narrowed = <Q>(table: string, query: unknown): Q => {
    const whereable = query as { where(column: string, op: string, value: unknown): typeof whereable }
    const ofOrganisation = whereable.where(`${table}.organisation_id`, '=', tenant.organisationId)
    return ofOrganisation.where(`${table}.livemode`, '=', livemode) as Q
  }
  return {
    select: table => narrowed(table, db.selectFrom(table as never)),
    find: async (table, id) => {
      const build = (place: Place) =>
        ofTenant(db, table, place)
          .selectAll()
          .where('id' as never, '=', place('id'))
      return (await rowOf(db, `find ${table}`, build, { id, ...valuesOf(tenant) })) as never
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

export const valuesOf = ({ organisationId, livemode }: Tenant) => ({
  organisation: organisationId,
  livemode: livemode ? 1 : 0,
})
