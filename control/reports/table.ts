import type { ReportRow } from '../content/tables.ts'
import type { Db } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'

/** What a report shows: text in columns. */
export interface ReportTable {
  columns: string[]
  rows: string[][]
}

export interface Period {
  /** ISO-8601 UTC. */
  from: string
  /** Not in the period any more. */
  to: string
}

/** More would not fit into a mail. */
const MAX_ROWS = 50_000

/** The rows of a report; `too_long` when the period has too many. */
export async function reportTable(
  db: Db,
  tenant: Tenant,
  kind: ReportRow['kind'],
  period: Period,
): Promise<ReportTable | 'too_long'> {
  const table = kind === 'calls' ? await callsTable(db, tenant, period) : await queuesTable(db, tenant, period)
  return table.rows.length > MAX_ROWS ? 'too_long' : table
}

/** One row for each call that began in the period. */
async function callsTable(db: Db, tenant: Tenant, { from, to }: Period): Promise<ReportTable> {
  const calls = await forTenant(db, tenant)
    .select('calls')
    .selectAll()
    .where('kind', '=', 'party')
    .where('created', '>=', from)
    .where('created', '<', to)
    .orderBy('id')
    .limit(MAX_ROWS + 1)
    .execute()
  return {
    columns: ['call_id', 'created', 'direction', 'from', 'to', 'status', 'ended_reason', 'duration_s'],
    rows: calls.map(call => [
      call.id,
      call.created,
      call.direction,
      call.from_address,
      call.to_address,
      call.status,
      call.ended_reason ?? '',
      call.answered_at === null || call.ended_at === null ? '' : seconds(call.answered_at, call.ended_at),
    ]),
  }
}

/** One row for each queue there was before the period's end: the calls that wait in it now and joined in the period. */
async function queuesTable(db: Db, tenant: Tenant, { from, to }: Period): Promise<ReportTable> {
  const scoped = forTenant(db, tenant)
  const queues = await scoped
    .select('queues')
    .select(['id', 'name', 'created'])
    .where('created', '<', to)
    .orderBy('id')
    .limit(MAX_ROWS + 1)
    .execute()
  const waiting = await scoped
    .select('queue_calls')
    .select(({ fn }) => ['queue_id', fn.countAll<number | string>().as('count'), fn.min('joined_at').as('oldest')])
    .where('joined_at', '>=', from)
    .where('joined_at', '<', to)
    .groupBy('queue_id')
    .execute()
  const facts = new Map(waiting.map(row => [row.queue_id, row]))
  return {
    columns: ['queue_id', 'name', 'created', 'calls_waiting', 'waiting_since'],
    rows: queues.map(({ id, name, created }) => [
      id,
      name,
      created,
      String(facts.get(id)?.count ?? 0),
      facts.get(id)?.oldest ?? '',
    ]),
  }
}

const seconds = (from: string, to: string): string => String(Math.round((Date.parse(to) - Date.parse(from)) / 1000))
