import Type from 'typebox'
import { type Exists, listReferences, referenceProblem } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { input } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { PassageSearch } from './search.ts'

const api = operations('Knowledge base', 'kb')

interface KbSearchDeps {
  store: Store
  search: PassageSearch
  documentExists: Exists
}

const DEFAULT_LIMIT = 5

const searchBody = input({
  query: Type.String({ minLength: 1, maxLength: 1000 }),
  document_ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      maxItems: 100,
      description: 'Only passages of these documents; empty: of all.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: DEFAULT_LIMIT })),
  min_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 0 })),
})

const passageSchema = Type.Object({
  object: Type.Literal('kb_passage'),
  livemode: Type.Boolean(),
  document_id: Type.String(),
  document_name: Type.String(),
  position: Type.Integer({ description: 'Index in the document, from 0.' }),
  text: Type.String(),
  score: Type.Number({ description: "Share of the query's distinct words that the passage contains, 0 to 1." }),
})

const searchSchema = Type.Object({
  object: Type.Literal('kb_search'),
  livemode: Type.Boolean(),
  query: Type.String(),
  data: Type.Array(passageSchema, { description: 'Best first.' }),
})

export function kbSearchRoutes({ store, search, documentExists }: KbSearchDeps): Route[] {
  return [
    api.post({
      path: '/kb/search',
      id: 'searchKb',
      summary: 'Search the knowledge base',
      scope: 'kb:read',
      body: searchBody,
      reply: searchSchema,
      errors: [409],
      handler: async (context, { body }) => {
        const { query, document_ids: documentIds = [], limit = DEFAULT_LIMIT, min_score: minScore = 0 } = body
        const named = listReferences('document_ids', documentIds, 'kb document', documentExists)
        const refused = await referenceProblem(store.db, context, named)
        if (refused !== null) return refused
        const found = await search.find(store.db, context, query, { documentIds, limit })
        const good = found.filter(({ score }) => score >= minScore)
        const passages = await passagesByIds(
          store,
          context,
          good.map(({ passageId }) => passageId),
        )
        const data = good.flatMap(({ passageId, score }) => {
          const passage = passages.get(passageId)
          return passage === undefined ? [] : [{ ...passage, score }]
        })
        return { object: 'kb_search' as const, livemode: context.livemode, query, data }
      },
    }),
  ]
}

async function passagesByIds({ db }: Store, tenant: Tenant, ids: string[]) {
  if (ids.length === 0) return new Map()
  const rows = await forTenant(db, tenant)
    .select('kb_passages')
    .innerJoin('kb_documents', 'kb_documents.id', 'kb_passages.document_id')
    .select(['kb_passages.id', 'document_id', 'kb_documents.name as document_name', 'position', 'text'])
    .where('kb_passages.id', 'in', ids)
    .execute()
  const about = { object: 'kb_passage' as const, livemode: tenant.livemode }
  return new Map(rows.map(({ id, ...passage }) => [id, { ...about, ...passage }]))
}
