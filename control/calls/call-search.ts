import { type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import Type, { type Static } from 'typebox'
import { listParameters, timeRange, within } from '../http/list.ts'
import { filterText, input, metadata, oneOf } from '../kernel/schema.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { type CallKey, metadataKey } from './call-keys.ts'
import { CALL_STATUSES, type CallRow } from './tables.ts'

const only = (maxLength: number, which: string) => filterText(maxLength, `Only calls ${which}.`)

/** Search criteria for calls, all of which must match. */
export const callSearch = input({
  ...listParameters,
  status: Type.Optional(oneOf([...CALL_STATUSES])),
  kind: Type.Optional(oneOf(['party', 'conference'])),
  direction: Type.Optional(oneOf(['inbound', 'outbound'])),
  number: only(512, 'from or to this number or SIP address; of an address the user part will do'),
  to: only(512, 'to it'),
  from: only(512, 'from it'),
  room_id: only(200, 'of this conference room'),
  user_id: only(200, 'that this member had last'),
  queue_id: only(200, 'that came by this queue'),
  assistant_id: only(200, 'that this assistant led last'),
  ended_reason: only(100, 'that ended so'),
  answered: Type.Optional(
    Type.Boolean({ description: 'true: only answered calls; false: only calls that were not answered.' }),
  ),
  created: timeRange('calls created'),
  metadata: Type.Optional({
    ...metadata,
    maxProperties: 5,
    description: 'Only calls with these metadata pairs: `metadata[order]=7`.',
  }),
})

type CallSearch = Static<typeof callSearch>

// biome-ignore lint/suspicious/noExplicitAny: of the tables that the search goes by
type Rows = SelectQueryBuilder<any, any, CallRow>

/** The matching calls, and the column whose index returns them in list order. */
export function searchCalls(db: Db, tenant: Tenant, search: CallSearch): { rows: Rows; ordering: string } {
  const [first, ...others] = keysIn(search)
  const { rows, ordering } = first === undefined ? byOwner(db, search) : byKey(db, first)
  const table = ordering.split('.', 1)[0] ?? ''
  let found = rows
    .selectAll('calls')
    .where(`${table}.organisation_id`, '=', tenant.organisationId)
    .where(`${table}.livemode`, '=', tenant.livemode ? 1 : 0) as Rows
  for (const key of others) found = found.where(eb => has(eb, key))
  const led = first === undefined ? undefined : search.assistant_id
  if (led !== undefined) found = found.where(eb => isLedBy(eb, led))
  const created = { column: 'calls.created', range: search.created, ids: { kind: 'call', column: ordering } } as const
  return { rows: within(filtered(found, search), created), ordering }
}

/** `to` and `from` are also `number` keys: the keys find the calls, and the columns decide which of the two matched. */
const keysIn = ({ number, to, from, metadata = {} }: CallSearch): CallKey[] => [
  ...[number, to, from].flatMap(value => (value === undefined ? [] : [{ name: 'number', value }])),
  ...Object.entries(metadata).map(([key, value]) => ({ name: metadataKey(key), value })),
]

const byKey = (db: Db, { name, value }: CallKey): { rows: Rows; ordering: string } => ({
  rows: db
    .selectFrom('call_keys')
    .innerJoin('calls', 'calls.id', 'call_keys.call_id')
    .where('call_keys.name', '=', name)
    .where('call_keys.value', '=', value) as unknown as Rows,
  ordering: 'call_keys.call_id',
})

function byOwner(db: Db, { assistant_id }: CallSearch): { rows: Rows; ordering: string } {
  if (assistant_id === undefined) return { rows: db.selectFrom('calls') as unknown as Rows, ordering: 'calls.id' }
  const programs = db
    .selectFrom('call_programs')
    .innerJoin('calls', 'calls.id', 'call_programs.id')
    .where('call_programs.assistant_id', '=', assistant_id)
  return { rows: programs as unknown as Rows, ordering: 'call_programs.id' }
}

// biome-ignore lint/suspicious/noExplicitAny: of the tables that the search goes by
const has = (eb: ExpressionBuilder<any, any>, { name, value }: CallKey) =>
  eb.exists(
    (eb as ExpressionBuilder<Database, 'calls'>)
      .selectFrom('call_keys as other')
      .select('other.call_id')
      .whereRef('other.call_id', '=', 'calls.id')
      .whereRef('other.organisation_id', '=', 'calls.organisation_id')
      .whereRef('other.livemode', '=', 'calls.livemode')
      .where('other.name', '=', name)
      .where('other.value', '=', value),
  )

// biome-ignore lint/suspicious/noExplicitAny: of the tables that the search goes by
const isLedBy = (eb: ExpressionBuilder<any, any>, assistantId: string) =>
  eb.exists(
    (eb as ExpressionBuilder<Database, 'calls'>)
      .selectFrom('call_programs')
      .select('call_programs.id')
      .whereRef('call_programs.id', '=', 'calls.id')
      .where('call_programs.assistant_id', '=', assistantId),
  )

const COLUMNS = ['direction', 'status', 'kind', 'room_id', 'user_id', 'queue_id', 'ended_reason'] as const

function filtered(rows: Rows, search: CallSearch): Rows {
  let found = rows
  for (const column of COLUMNS) {
    if (search[column] !== undefined) found = found.where(`calls.${column}`, '=', search[column])
  }
  // As the indexes of what is seldom there say it.
  if (search.status !== undefined && search.status !== 'completed')
    found = found.where(sql<SqlBool>`calls.status <> 'completed'`)
  if (search.kind === 'conference') found = found.where(sql<SqlBool>`calls.kind <> 'party'`)
  for (const [column, value] of [
    ['to_address', search.to],
    ['from_address', search.from],
  ] as const) {
    if (value !== undefined) found = found.where(eb => isAddress(eb, column, value))
  }
  if (search.answered === undefined) return found
  return found.where('calls.answered_at', search.answered ? 'is not' : 'is', null)
}

/** The address itself, or a SIP address with it as user. */
// biome-ignore lint/suspicious/noExplicitAny: of the tables that the search goes by
function isAddress(eb: ExpressionBuilder<any, any>, column: string, value: string) {
  const begins = (prefix: string) =>
    sql<boolean>`substr(${sql.ref(`calls.${column}`)}, 1, ${sql.lit(prefix.length)}) = ${prefix}`
  return eb.or([eb(`calls.${column}`, '=', value), begins(`sip:${value}@`), begins(`sips:${value}@`)])
}
