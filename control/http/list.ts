import type { SelectQueryBuilder } from 'kysely'
import Type, { type Static, type TSchema } from 'typebox'
import { type Problem, problem } from './errors.ts'

const DEFAULT_LIMIT = 20
const CURSOR_PREFIX = 'cur_'
const ID = /^[a-z]{1,12}_[0-9a-z]{26}$/

const cursor = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 512, description }))

/** The query parameters of every list; a list with filters spreads them: `Type.Object({ ...listParameters, status: … })`. */
export const listParameters = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: DEFAULT_LIMIT })),
  starting_after: cursor('A cursor or an ID: the objects after it (older).'),
  ending_before: cursor('A cursor or an ID: the objects before it (newer).'),
}

export const listQuery = Type.Object(listParameters, { additionalProperties: false })
export type ListQuery = Static<typeof listQuery>

/** The list envelope around a schema. */
export const listOf = <T extends TSchema>(item: T) =>
  Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
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
 * One page of `rows`, newest first. IDs of a kind sort by time, so a cursor is an ID in disguise and stays true while objects
 * come and go. `rows` is a query that selects `id` among its columns; `ordering` names that column when the query joins tables.
 */
export async function page<Row extends { id: string }, Item>(
  // biome-ignore lint/suspicious/noExplicitAny: any table of the database
  rows: SelectQueryBuilder<any, any, Row>,
  query: ListQuery,
  url: string,
  toObject: (row: Row) => Item,
  ordering = 'id',
): Promise<List<Item> | Problem> {
  const backwards = query.ending_before !== undefined
  const from = readCursor(query, id => ID.test(id))
  if (from !== null && typeof from === 'object') return from
  const limit = query.limit ?? DEFAULT_LIMIT
  const after = from === null ? rows : rows.where(ordering, backwards ? '>' : '<', from)
  const found = await after
    .orderBy(ordering, backwards ? 'asc' : 'desc')
    .limit(limit + 1)
    .execute()
  return envelope(found, { limit, backwards, url }, toObject)
}

/** One page of a list that is the product's own, in its order. */
export function pageOfAll<Item extends { id: string }>(
  items: readonly Item[],
  query: ListQuery,
  url: string,
): List<Item> | Problem {
  const backwards = query.ending_before !== undefined
  const from = readCursor(query, id => items.some(item => item.id === id))
  if (from !== null && typeof from === 'object') return from
  const all = backwards ? items.toReversed() : items
  const after = all.slice(from === null ? 0 : all.findIndex(item => item.id === from) + 1)
  return envelope(after, { limit: query.limit ?? DEFAULT_LIMIT, backwards, url }, item => item)
}

/** `found`: what is after the cursor, in the direction asked for; more than `limit` when there is more. */
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
    return problem('parameter_invalid', 'Send starting_after or ending_before, not both.', { param: 'ending_before' })
  }
  const param = query.ending_before === undefined ? 'starting_after' : 'ending_before'
  const text = query[param]
  if (text === undefined) return null
  const id = text.startsWith(CURSOR_PREFIX)
    ? Buffer.from(text.slice(CURSOR_PREFIX.length), 'base64url').toString('utf8')
    : text
  return isId(id) ? id : problem('parameter_invalid', `${param} is neither a cursor nor an ID.`, { param })
}
