import Type, { type Static } from 'typebox'
import { missing } from '../http/errors.ts'
import { listOf, listParameters, pageOf } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Store } from '../kernel/store/store.ts'
import type { RequestLogRow } from '../kernel/store/tables.ts'
import { forTenant } from '../kernel/tenancy.ts'

const api = operations('Organisation', 'organisation')

interface RequestLogDeps {
  store: Store
  /** Resolves when the requests answered so far can be read. */
  written: () => Promise<void>
}

const METHODS = oneOf(['GET', 'POST', 'PATCH', 'PUT', 'DELETE'])

const requestLogSchema = Type.Object({
  id: Type.String({ description: 'The `Request-Id` of the answer, and `request_id` of an error.' }),
  object: Type.Literal('request_log'),
  livemode: Type.Boolean(),
  method: METHODS,
  path: Type.String({ description: 'Including IDs, without the query.' }),
  operation: Type.String({ description: '`operationId` in the OpenAPI description.' }),
  status: Type.Integer(),
  error_code: nullable(Type.String({ description: 'Code of the error, if any.' })),
  api_key_id: Type.String(),
  api_version: Type.String({ description: 'The version that rendered the answer.' }),
  duration_ms: Type.Integer(),
  created: timestamp('When it was answered.'),
})

const query = input({
  ...listParameters,
  method: Type.Optional(METHODS),
  operation: Type.Optional(Type.String({ maxLength: 100, description: 'Only this operation.' })),
  status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599, description: 'Only answers of this status.' })),
  api_key_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only requests with this key.' })),
})

export function requestLogRoutes({ store, written }: RequestLogDeps): Route[] {
  return [
    api.get({
      path: '/request_logs',
      id: 'listRequestLogs',
      summary: 'List requests',
      description:
        'Requests with the keys of this mode, newest first, without parameters and answers. Kept for seven days at most.',
      query,
      reply: listOf(requestLogSchema),
      handler: async (context, { query: asked }) => {
        await written()
        const { method, operation, status, api_key_id } = asked
        const where = { method, operation, status, api_key_id }
        const rows = { db: store.reads, tenant: context, table: 'request_logs', where } as const
        return pageOf(rows, asked, '/v1/request_logs', toRequestLog)
      },
    }),
    api.get({
      path: '/request_logs/:id',
      id: 'getRequestLog',
      summary: 'Retrieve a request',
      reply: requestLogSchema,
      handler: async (context, { params: { id } }) => {
        await written()
        const row = await forTenant(store.db, context).find('request_logs', id)
        return row === undefined ? missing('request', id) : toRequestLog(row)
      },
    }),
  ]
}

const toRequestLog = (row: RequestLogRow): Static<typeof requestLogSchema> =>
  showRow(requestLogSchema, row, { method: row.method as Static<typeof METHODS> })
