import type { Static } from 'typebox'
import { missing } from './errors.ts'
import { listOf, listQuery, pageOfAll } from './list.ts'
import { type ObjectSchema, type Plain, pascal, words } from './plain-resource.ts'
import type { Route } from './route.ts'

/** Objects built into the product, in no table: the same for every organisation. */
export interface Catalogue<R extends ObjectSchema> extends Pick<Plain<'teams', R>, 'api' | 'reply'> {
  description: string
  /** All of them, in list order. */
  all(of: { livemode: boolean }): readonly (Static<R> & { id: string })[]
}

/** GET of the list and of a single object. */
export function catalogueRoutes<R extends ObjectSchema>(catalogue: Catalogue<R>): Route[] {
  const { api, reply, all } = catalogue
  const object = reply.properties.object.const
  const path = `/${object}s`
  return [
    api.get({
      path,
      id: `list${pascal(object)}s`,
      summary: `List ${words(object)}s`,
      description: catalogue.description,
      query: listQuery,
      reply: listOf(reply),
      handler: async (context, { query }) => pageOfAll(all(context), query, `/v1${path}`) as never,
    }),
    api.get({
      path: `${path}/:id`,
      id: `get${pascal(object)}`,
      summary: `Retrieve a ${words(object)}`,
      reply,
      handler: async (context, { params }) =>
        (all(context).find(({ id }) => id === params.id) ?? missing(object, params.id)) as never,
    }),
  ]
}
