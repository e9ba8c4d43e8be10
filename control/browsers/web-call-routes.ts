import Type, { type Static } from 'typebox'
import { durationOf } from '../calls/duration.ts'
import { missing } from '../http/errors.ts'
import { listOf, listParameters, page } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { input, metadata, nullable, timestamp } from '../kernel/schema.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'

const api = operations('Calls', 'calls')

const webCallSchema = Type.Object({
  id: Type.String({ description: '`GET /calls/{id}` returns the whole call.' }),
  object: Type.Literal('web_call'),
  livemode: Type.Boolean(),
  status: Type.String({ description: 'Status of the call.' }),
  assistant_id: nullable(Type.String({ description: 'The assistant named by its client token.' })),
  room_id: nullable(Type.String({ description: 'The conference room that the guest joined.' })),
  origin: nullable(Type.String({ description: 'Website of the page that made the call.' })),
  name: Type.String({ description: 'Name that the guest gave.' }),
  ended_reason: nullable(Type.String()),
  duration_ms: nullable(Type.Integer({ description: 'From the answer to the end; null before the end.' })),
  metadata,
  created: timestamp(),
  answered_at: nullable(timestamp()),
  ended_at: nullable(timestamp()),
})

const query = input({
  ...listParameters,
  assistant_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only calls to this assistant.' })),
  room_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only calls of guests of this room.' })),
  origin: Type.Optional(Type.String({ maxLength: 300, description: 'Only calls from this website.' })),
})

/** Routes of calls that browsers made, with a client token or as guests of a room. */
export const webCallRoutes = ({ store }: { store: Store }): Route[] => [
  api.get({
    path: '/web_calls',
    id: 'listWebCalls',
    summary: 'List the calls that browsers made',
    query,
    reply: listOf(webCallSchema),
    handler: (context, { query: { assistant_id, room_id, origin, ...asked } }) => {
      let rows = webCalls(store.db, context)
      if (assistant_id !== undefined) rows = rows.where('web_calls.assistant_id', '=', assistant_id)
      if (room_id !== undefined) rows = rows.where('calls.room_id', '=', room_id)
      if (origin !== undefined) rows = rows.where('web_calls.origin', '=', origin)
      return page(rows, asked, '/v1/web_calls', toWebCall, 'web_calls.id')
    },
  }),
  api.get({
    path: '/web_calls/:id',
    id: 'getWebCall',
    summary: 'Retrieve a call that a browser made',
    reply: webCallSchema,
    handler: async (context, { params: { id } }) => {
      const row = await webCalls(store.db, context).where('web_calls.id', '=', id).executeTakeFirst()
      return row === undefined ? missing('web_call', id) : toWebCall(row)
    },
  }),
]

const webCalls = (db: Db, tenant: Tenant) =>
  db
    .selectFrom('web_calls')
    .innerJoin('calls', 'calls.id', 'web_calls.id')
    .where('web_calls.organisation_id', '=', tenant.organisationId)
    .where('web_calls.livemode', '=', tenant.livemode ? 1 : 0)
    .select([
      'web_calls.id',
      'web_calls.livemode',
      'web_calls.assistant_id',
      'web_calls.origin',
      'web_calls.name',
      'web_calls.created',
      'calls.status',
      'calls.room_id',
      'calls.ended_reason',
      'calls.metadata',
      'calls.answered_at',
      'calls.duration_ms',
      'calls.ended_at',
    ])

type WebCall = Awaited<ReturnType<ReturnType<typeof webCalls>['executeTakeFirstOrThrow']>>

const toWebCall = ({ livemode, metadata, ...row }: WebCall): Static<typeof webCallSchema> => ({
  ...row,
  object: 'web_call',
  livemode: livemode === 1,
  duration_ms: row.ended_at === null ? null : durationOf(row, row.ended_at),
  metadata: JSON.parse(metadata) as Record<string, string>,
})
