import type { Selectable, SelectQueryBuilder } from 'kysely'
import Type, { type Static, type TSchema } from 'typebox'
import { type IdKind, idAt } from '../kernel/ids.ts'
import { nullable, partialInput, timestamp } from '../kernel/schema.ts'
import { type Place, rowsOf } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import { ofTenant, type TableWithId, type Tenant, valuesOf } from '../kernel/tenancy.ts'
import { invalid, isProblem, type Problem } from './errors.ts'

const DEFAULT_LIMIT = 20
const CURSOR_PREFIX = 'cur_'
const ID = /^[a-z]{1,12}_[0-9a-z]{26}$/

const cursor = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 512, description }))

/** The query parameters of every list; a list with filters spreads them: `Type.Object({ ...listParameters, status: … })`. */
export const listParameters = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: DEFAULT_LIMIT })),
  starting_after: cursor('A cursor or an ID: returns the objects after it (older).'),
  ending_before: cursor('A cursor or an ID: returns the objects before it (newer).'),
}

export const listQuery = Type.Object(listParameters, { additionalProperties: false })
export type ListQuery = Static<typeof listQuery>

/** An ID contains the time of its creation, by a clock that may have been set since: a search by time allows this much either way [ms]. */
export const CLOCK_SLACK_MS = 24 * 60 * 60 * 1000

const BOUNDS = { gte: '>=', gt: '>', lte: '<=', lt: '<' } as const
type Range = { [name in keyof typeof BOUNDS]?: string | undefined }

/** A filter by time: `created[gte]=…`. */
export function timeRange(which: string, name = 'created', more = '') {
  const moment = timestamp(`Only ${which} in this range: \`${name}[gte]=2026-11-01T00:00:00Z\`. ${more}`.trimEnd())
  return Type.Optional(partialInput({ gte: moment, gt: moment, lte: moment, lt: moment }))
}

/** The rows whose `column` is in the range. Bounds on `ids`, made at about that time, find an old period without reading everything after it. */
export function within<Rows extends AnyRows>(
  rows: Rows,
  { column, range = {}, ids }: { column: string; range?: Range | undefined; ids?: { kind: IdKind; column: string } },
): Rows {
  let found: AnyRows = rows
  for (const [name, operator] of Object.entries(BOUNDS) as [keyof typeof BOUNDS, (typeof BOUNDS)['gte']][]) {
    const text = range[name]
    if (text === undefined) continue
    const at = new Date(text)
    const slack = operator.startsWith('>') ? -CLOCK_SLACK_MS : CLOCK_SLACK_MS
    found = found.where(column, operator, at.toISOString())
    if (ids !== undefined) found = found.where(ids.column, operator, idAt(ids.kind, at.getTime() + slack))
  }
  return found as Rows
}

/** The list envelope around a schema. */
export const listOf = <T extends TSchema>(item: T) =>
  Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next_cursor: nullable(Type.String()),
    url: Type.String(),
  })

export interface List<T> {
  object: 'list'
  data: T[]
  has_more: boolean
  next_cursor: string | null
  url: string
}

/**
 * One page of `rows`, newest first. IDs of a kind sort by time, so a cursor is an encoded ID and stays valid while objects are added and
 * removed. `rows` is a query that selects `id`; `ordering` names that column if the query joins tables.
 */
export async function page<Row extends { id: string }, Item>(
  // biome-ignore lint/suspicious/noExplicitAny: any table of the database
  rows: SelectQueryBuilder<any, any, Row>,
  query: ListQuery,
  url: string,
  toObject: (row: Row) => Item,
  ordering = 'id',
): Promise<List<Item> | Problem> {
  const at = readPlace(query)
  if (isProblem(at)) return at
  const found = await rowsAt(at, place => placed(rows, { ...place, limit: place.limit + 1 }, ordering).execute())
  return isProblem(found) ? found : envelope(found, { ...at, url }, toObject)
}

/**
 * One page of a tenant's rows with these values in these columns (undefined: any value), newest first. It serves most lists; use `page`
 * for the others. The query is compiled once.
 */
export async function pageOf<T extends TableWithId, Item>(
  { db, tenant, table, where = {} }: TenantRows<T>,
  query: ListQuery,
  url: string,
  toObject: (row: Selectable<Database[T]>) => Item,
): Promise<List<Item> | Problem> {
  const at = readPlace(query)
  if (isProblem(at)) return at
  const asked = Object.entries(where).filter(([, value]) => value !== undefined)
  const columns = asked.map(([column]) => column)
  const read = (at: At) => {
    const direction = at.from === null ? 'all' : at.backwards ? 'before' : 'after'
    const build = (place: Place) => {
      let rows = ofTenant(db, table, place).selectAll() as unknown as AnyRows
      for (const column of columns) rows = rows.where(column, '=', place(column))
      return placed(rows, { ...at, from: at.from && place('from'), limit: place('limit') }, 'id')
    }
    const values = { ...Object.fromEntries(asked), ...valuesOf(tenant), from: at.from, limit: at.limit + 1 }
    return rowsOf(db, `page ${table} ${columns} ${direction}`, build, values) as Promise<{ id: string }[]>
  }
  const found = await rowsAt(at, read)
  return isProblem(found) ? found : envelope(found, { ...at, url }, toObject as never)
}

/** An ID of another list has no place in this one: all of the list would be before or after it, on every page again. */
async function rowsAt<Row extends { id: string }>(at: At, read: (at: At) => Promise<Row[]>): Promise<Row[] | Problem> {
  const found = await read(at)
  if (at.from === null) return found
  const [one] = found.length > 0 ? found : await read({ from: null, backwards: false, limit: 0 })
  const isOfIt = one === undefined || kindOf(one.id) === kindOf(at.from)
  const param = at.backwards ? 'ending_before' : 'starting_after'
  return isOfIt ? found : invalid(param, `${param} is an ID of another list.`)
}

const kindOf = (id: string): string => id.slice(0, id.indexOf('_'))

// biome-ignore lint/suspicious/noExplicitAny: any table of the database
type AnyRows = SelectQueryBuilder<any, any, any>

interface TenantRows<T extends TableWithId> {
  db: Db
  tenant: Tenant
  table: T
  where?: Partial<Selectable<Database[T]>>
}

/** Position of a page: the ID of its cursor, null at the start of the list; and the page size. */
interface At {
  from: string | null
  backwards: boolean
  limit: number
}

function readPlace(query: ListQuery, isId = (id: string): boolean => ID.test(id)): At | Problem {
  const from = readCursor(query, isId)
  if (from !== null && typeof from === 'object') return from
  return { from, backwards: query.ending_before !== undefined, limit: query.limit ?? DEFAULT_LIMIT }
}

/** The rows after the cursor. */
function placed<Rows extends AnyRows>(rows: Rows, { from, backwards, limit }: At, ordering: string): Rows {
  const after = from === null ? rows : rows.where(ordering, backwards ? '>' : '<', from)
  return after.orderBy(ordering, backwards ? 'asc' : 'desc').limit(limit) as Rows
}

/** One page of a built-in list, in its own order. */
export function pageOfAll<Item extends { id: string }>(
  items: readonly Item[],
  query: ListQuery,
  url: string,
): List<Item> | Problem {
  const at = readPlace(query, id => items.some(item => item.id === id))
  if (isProblem(at)) return at
  const all = at.backwards ? items.toReversed() : items
  const after = all.slice(at.from === null ? 0 : all.findIndex(item => item.id === at.from) + 1)
  return envelope(after, { ...at, url }, item => item)
}

/** `found`: the rows after the cursor in the requested direction; more than `limit` if there is another page. */
function envelope<Row extends { id: string }, Item>(
  found: readonly Row[],
  { limit, backwards, url }: { limit: number; backwards: boolean; url: string },
  toObject: (row: Row) => Item,
): List<Item> {
  const hasMore = found.length > limit
  const data = found.slice(0, limit)
  const last = data.at(-1)
  return {
    object: 'list',
    data: (backwards ? data.reverse() : data).map(toObject),
    has_more: hasMore,
    next_cursor: hasMore && last !== undefined ? makeCursor(last.id) : null,
    url,
  }
}

const makeCursor = (id: string): string => CURSOR_PREFIX + Buffer.from(id).toString('base64url')

function readCursor(query: ListQuery, isId: (text: string) => boolean): string | null | Problem {
  if (query.starting_after !== undefined && query.ending_before !== undefined) {
    return invalid('ending_before', 'Send starting_after or ending_before, not both.')
  }
  const param = query.ending_before === undefined ? 'starting_after' : 'ending_before'
  const text = query[param]
  if (text === undefined) return null
  const id = text.startsWith(CURSOR_PREFIX)
    ? Buffer.from(text.slice(CURSOR_PREFIX.length), 'base64url').toString('utf8')
    : text
  return isId(id) ? id : invalid(param, `${param} is neither a cursor nor an ID.`)
}
