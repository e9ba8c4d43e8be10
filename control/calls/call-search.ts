import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { idAt } from '../kernel/ids.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { type CallKey, metadataKey } from './call-keys.ts'
import type { CallRow } from './tables.ts'

/** Search criteria for calls, all of which must match. */
export interface CallSearch {
  number?: string
  to?: string
  from?: string
  direction?: 'inbound' | 'outbound'
  status?: CallRow['status']
  kind?: CallRow['kind']
  room_id?: string
  user_id?: string
  queue_id?: string
  assistant_id?: string
  ended_reason?: string
  answered?: boolean
  created?: { gte?: string; gt?: string; lte?: string; lt?: string }
  metadata?: Record<string, string>
}

/** An ID contains the time of its creation, by a clock that may have been set since: the search allows this much either way [ms]. */
export const CLOCK_SLACK_MS = 24 * 60 * 60 * 1000

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
  return { rows: within(filtered(found, search), search, ordering), ordering }
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

/** IDs sort by time: bounds on IDs find an old period without reading everything after it. */
function within(rows: Rows, { created = {} }: CallSearch, ordering: string): Rows {
  let found = rows
  const bounds = { gte: '>=', gt: '>', lte: '<=', lt: '<' } as const
  for (const [name, operator] of Object.entries(bounds) as [keyof typeof bounds, '>=' | '>' | '<=' | '<'][]) {
    const text = created[name]
    if (text === undefined) continue
    const at = new Date(text)
    const slack = operator.startsWith('>') ? -CLOCK_SLACK_MS : CLOCK_SLACK_MS
    found = found
      .where('calls.created', operator, at.toISOString())
      .where(ordering, operator, idAt('call', at.getTime() + slack))
  }
  return found
}
