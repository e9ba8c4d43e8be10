import type { Selectable } from 'kysely'
import type { Static, TObject, TSchema } from 'typebox'
import { deletedObject } from '../kernel/schema.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import { forTenant, type TableWithId } from '../kernel/tenancy.ts'
import type { Context } from './context.ts'
import { missing, type Problem } from './errors.ts'
import { listOf, listParameters, listQuery, pageOf } from './list.ts'
import { type UsesOf, usedProblem } from './references.ts'
import type { Api, Route } from './route.ts'

/** Parameters of the standard operations, for any kind of object that is a table with a schema. */
export interface Plain<T extends TableWithId, R extends TSchema> {
  store: Store
  table: T
  /** The API's `object`, for example `copilot_profile`; operation IDs and descriptions are derived from it. */
  object: string
  /** Below `/v1`, without an ID. */
  path: string
  /** Declares them in their group, with its scopes. */
  api: Api
  reply: R
  toObject(row: Selectable<Database[T]>): Static<R>
}

/** The schema of an object of the API, which says its `object`. */
export type ObjectSchema = TSchema & { properties: { object: { const: string } } }

/** What the schema and the name of the table say: the API's `object`, and where it is. */
export const plainOf = <T extends TableWithId, R extends ObjectSchema>(
  given: Omit<Plain<T, R>, 'object' | 'path'> & { path?: string },
): Plain<T, R> => ({ path: `/${given.table}`, object: given.reply.properties.object.const, ...given })

/** The form for operation IDs: `copilot_profile` becomes `CopilotProfile`. */
export const pascal = (object: string): string =>
  object.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
export const words = (object: string): string => object.replaceAll('_', ' ')
const one = (object: string): string => `${/^[aeio]/.test(object) ? 'an' : 'a'} ${words(object)}`

type Listing = Partial<Pick<Route, 'id' | 'summary' | 'description' | 'reads'>> & {
  query?: TObject
  /** With a filter it may look through very many rows: calls do not wait for that. */
  isLong?: true
}

/** GET of the list, newest first. A parameter of `query` that is not of every list filters by the column of its name. */
export function listRoute<T extends TableWithId, R extends TSchema>(
  plain: Plain<T, R>,
  { query = listQuery, isLong, ...said }: Listing = {},
): Route {
  const { store, table, object, path, toObject } = plain
  const filters = Object.keys(query.properties).filter(name => !(name in listParameters))
  return plain.api.get({
    path,
    id: `list${pascal(object)}s`,
    summary: `List ${words(object)}s`,
    query,
    reply: listOf(plain.reply),
    ...said,
    handler: (context, { query: asked }: { query: Record<string, unknown> }) => {
      const where = Object.fromEntries(filters.map(name => [name, asked[name]]))
      const db = isLong && filters.some(name => name in asked) ? store.reads : store.db
      return pageOf({ db, tenant: context, table, where: where as never }, asked, `/v1${path}`, toObject) as never
    },
  })
}

/** GET of one by its ID. */
export function retrieveRoute<T extends TableWithId, R extends TSchema>(
  plain: Omit<Plain<T, R>, 'api' | 'toObject'> & {
    api: Pick<Api, 'get'>
    toObject(row: Selectable<Database[T]>, context: Context): Static<R> | Promise<Static<R>>
  },
): Route {
  const { store, table, object, toObject } = plain
  return plain.api.get({
    path: `${plain.path}/:id`,
    id: `get${pascal(object)}`,
    summary: `Retrieve ${one(object)}`,
    reply: plain.reply,
    handler: async (context, { params }) => {
      const row = await forTenant(store.db, context).find(table, params.id)
      return row === undefined ? missing(object, params.id) : (toObject(row, context) as never)
    },
  })
}

type Answer<R extends TSchema> = Promise<Static<R> | Problem>

/** POST of a new one; omitted fields have their defaults. */
function createRoute<T extends TableWithId, R extends TSchema, B extends TSchema>(
  plain: Plain<T, R>,
  body: B,
  create: (context: Context, body: Static<B>) => Answer<R>,
): Route {
  return plain.api.post({
    path: plain.path,
    id: `create${pascal(plain.object)}`,
    summary: `Create ${one(plain.object)}`,
    description: 'Fields that are not sent get their defaults.',
    body,
    status: 201,
    reply: plain.reply,
    errors: [409],
    handler: (context, { body }) => create(context, body) as never,
  })
}

/** PATCH of one by its ID. */
export function changeRoute<T extends TableWithId, R extends TSchema, B extends TSchema>(
  plain: Plain<T, R>,
  body: B,
  change: (context: Context, id: string, body: Static<B>) => Answer<R>,
  description = 'Updates the fields sent. Nested objects merge with stored values; lists replace them.',
): Route {
  return plain.api.patch({
    path: `${plain.path}/:id`,
    id: `update${pascal(plain.object)}`,
    summary: `Change ${one(plain.object)}`,
    description,
    body,
    reply: plain.reply,
    handler: (context, { params, body }) => change(context, params.id, body) as never,
  })
}

/** What prevents the deletion of an object, and what is deleted with it; both run in the transaction of the delete. */
interface Deletion<T extends TableWithId> {
  description: string
  usesOf?: UsesOf
  /** Why it cannot be deleted now, apart from `usesOf`; otherwise it deletes what belongs to the object. */
  before?: (trx: Trx, context: Context, row: Selectable<Database[T]>) => Promise<Problem | null>
}

/** DELETE of one by its ID; 409 with `details.used_by` while others use it. */
export function deleteRoute<T extends TableWithId>(
  plain: Omit<Plain<T, TSchema>, 'store' | 'reply' | 'toObject'>,
  deletion: Deletion<T>,
): Route {
  const { table, object } = plain
  return plain.api.delete({
    path: `${plain.path}/:id`,
    id: `delete${pascal(object)}`,
    summary: `Delete ${one(object)}`,
    description: deletion.description,
    reply: deletedObject(object),
    handler: (context, { params: { id } }) =>
      context.transaction(async trx => {
        const scoped = forTenant(trx, context)
        const row = await scoped.find(table, id)
        if (row === undefined) return missing(object, id)
        const used = deletion.usesOf && usedProblem(words(object), await deletion.usesOf(trx, context, id))
        const refused = used ?? (await deletion.before?.(trx, context, row)) ?? null
        if (refused !== null) return refused
        await deleteRow(scoped, table, id)
        return { object, id, deleted: true as const, livemode: context.livemode }
      }),
  })
}

/** How input is stored; list, retrieve and delete follow from the table. */
interface Writing<R extends TSchema, C extends TSchema, P extends TSchema> {
  createBody: C
  create: (context: Context, body: Static<C>) => Answer<R>
  changeBody: P
  change: (context: Context, id: string, body: Static<P>) => Answer<R>
  changeDescription?: string
  list?: Listing
}

/** All five operations. */
export const plainRoutes = <T extends TableWithId, R extends TSchema, C extends TSchema, P extends TSchema>(
  plain: Plain<T, R>,
  { createBody, create, changeBody, change, changeDescription, list }: Writing<R, C, P>,
  deletion: Deletion<T>,
): Route[] => [
  createRoute(plain, createBody, create),
  listRoute(plain, list),
  retrieveRoute(plain),
  changeRoute(plain, changeBody, change, changeDescription),
  deleteRoute(plain, deletion),
]

/** Kysely cannot type a table that is a type parameter. For every table with an ID this is the same query. */
const deleteRow = (scoped: ReturnType<typeof forTenant>, table: TableWithId, id: string) =>
  scoped
    .delete(table as 'teams')
    .where('id', '=', id)
    .execute()
