import Type, { type Static } from 'typebox'
import { listOf, listParameters, pageOf } from '../http/list.ts'
import { type Route, route } from '../http/route.ts'
import { oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Store } from '../kernel/store/store.ts'
import { METERS, type Meter, type UsageEntryRow } from './tables.ts'

const meters = Object.keys(METERS) as Meter[]

export const usageEntrySchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('usage_entry'),
  livemode: Type.Boolean(),
  meter: oneOf(meters),
  quantity: Type.Integer({ description: 'In `unit`.' }),
  unit: oneOf([...new Set(Object.values(METERS))]),
  source_id: Type.String({
    description:
      'What it counts. Of recordings and transcripts the call; of an answer of a model, which has no ID, one of its own.',
  }),
  at: timestamp('When that began: the day that it belongs to.'),
})

const query = Type.Object(
  {
    ...listParameters,
    meter: Type.Optional(oneOf(meters)),
    source_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'What one object has used.' })),
  },
  { additionalProperties: false },
)

export const usageEntryRoutes = ({ store }: { store: Store }): Route[] => [
  route({
    method: 'GET',
    path: '/usage/entries',
    id: 'listUsageEntries',
    summary: 'List the entries that usage is added up from',
    description:
      'The ledger, newest first: an entry for each meter of each object. None is changed or deleted, whatever becomes of the object.',
    tag: 'Organisation',
    scope: 'organisation:read',
    query,
    reply: listOf(usageEntrySchema),
    handler: (context, { query: { meter, source_id, ...asked } }) =>
      pageOf(
        { db: store.db, tenant: context, table: 'usage_entries', where: { meter, source_id } },
        asked,
        '/v1/usage/entries',
        toUsageEntry,
      ),
  }),
]

const toUsageEntry = (row: UsageEntryRow): Static<typeof usageEntrySchema> =>
  showRow(usageEntrySchema, row, {
    quantity: Number(row.quantity),
    unit: METERS[row.meter],
  })
