import Type, { type Static } from 'typebox'
import { listOf, listParameters, pageOf } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { apiObject, input, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Store } from '../kernel/store/store.ts'
import { METERS, type Meter, type UsageEntryRow } from './tables.ts'

const api = operations('Organisation', 'organisation')

const meters = Object.keys(METERS) as Meter[]

const usageEntrySchema = apiObject('usage_entry', {
  meter: oneOf(meters),
  quantity: Type.Integer({ description: 'In `unit`.' }),
  unit: oneOf([...new Set(Object.values(METERS))]),
  source_id: Type.String({
    description:
      'The object that was metered. For recordings and transcripts, the call; for an answer of a model, which has no ID, an ID of its own.',
  }),
  at: timestamp('When the object began, which decides the day of the entry.'),
})

const query = input({
  ...listParameters,
  meter: Type.Optional(oneOf(meters)),
  source_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Usage of one object.' })),
})

export const usageEntryRoutes = ({ store }: { store: Store }): Route[] => [
  api.get({
    path: '/usage/entries',
    id: 'listUsageEntries',
    summary: 'List the entries of usage',
    description:
      'The ledger, newest first: an entry for each meter of each object. Entries are never changed or deleted, even if the object is.',
    query,
    reply: listOf(usageEntrySchema),
    handler: (context, { query: { meter, source_id, ...asked } }) =>
      pageOf(
        { db: store.reads, tenant: context, table: 'usage_entries', where: { meter, source_id } },
        asked,
        '/v1/usage/entries',
        toUsageEntry,
      ),
  }),
]

const toUsageEntry = (row: UsageEntryRow): Static<typeof usageEntrySchema> =>
  showRow(usageEntrySchema, row, { quantity: Number(row.quantity), unit: METERS[row.meter] })
