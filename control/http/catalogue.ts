import type { Static, TSchema } from 'typebox'
import { idParams } from '../kernel/schema.ts'
import { missing } from './errors.ts'
import { listOf, listQuery, pageOfAll } from './list.ts'
import { type Plain, pascal, words } from './plain-resource.ts'
import { type Route, route } from './route.ts'

/** Objects built into the product, in no table: the same for every organisation. */
export interface Catalogue<R extends TSchema>
  extends Pick<Plain<'teams', R>, 'object' | 'path' | 'area' | 'tag' | 'reply'> {
  description: string
  /** All of them, in list order. */
  all(of: { livemode: boolean }): readonly (Static<R> & { id: string })[]
}

/** GET of the list and of a single object. */
export function catalogueRoutes<R extends TSchema>(catalogue: Catalogue<R>): Route[] {
  const { object, path, area, tag, reply, all } = catalogue
  const common = { method: 'GET', tag, scope: `${area}:read` } as const
  return [
    route({
      ...common,
      path,
      id: `list${pascal(object)}s`,
      summary: `List ${words(object)}s`,
      description: catalogue.description,
      query: listQuery,
      reply: listOf(reply),
      handler: async (context, { query }) => pageOfAll(all(context), query, `/v1${path}`) as never,
    }),
    route({
      ...common,
      path: `${path}/:id`,
      id: `get${pascal(object)}`,
      summary: `Retrieve a ${words(object)}`,
      params: idParams,
      reply,
      handler: async (context, { params }) =>
        (all(context).find(({ id }) => id === params.id) ?? missing(object, params.id)) as never,
    }),
  ]
}
