import { durationOf } from '../calls/duration.ts'
import type { CallRow } from '../calls/tables.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Period } from './period.ts'
import { agentTable, evaluationTable, summaryTable, topicTable } from './quality-rows.ts'
import type { ReportTable } from './report-table.ts'
import type { ReportRow } from './tables.ts'

/** Read at once; between two pages others get the database. */
const PAGE_ROWS = 1000

/** Makes the table of each kind of report. */
const TABLES: Record<ReportRow['kind'], (db: Db, tenant: Tenant, period: Period) => ReportTable> = {
  calls: (db, tenant, period) => ({
    columns: ['call_id', 'created', 'direction', 'from', 'to', 'status', 'ended_reason', 'duration_s'],
    rows: callRows(db, tenant, period),
  }),
  queues: (db, tenant, period) => ({
    columns: ['queue_id', 'name', 'created', 'calls_waiting', 'waiting_since'],
    rows: queueRows(db, tenant, period),
  }),
  agents: agentTable,
  topics: topicTable,
  summaries: summaryTable,
  evaluations: evaluationTable,
}

export const reportTable = (db: Db, tenant: Tenant, kind: ReportRow['kind'], period: Period): ReportTable =>
  TABLES[kind](db, tenant, period)

/** One row for each call that began in the period. */
async function* callRows(db: Db, tenant: Tenant, { from, to }: Period): AsyncGenerator<string[]> {
  let last = { created: from, id: '' }
  for (;;) {
    const calls: CallRow[] = await forTenant(db, tenant)
      .select('calls')
      .selectAll()
      .where('kind', '=', 'party')
      .where('created', '>=', last.created)
      .where('created', '<', to)
      .where(eb => eb.or([eb('created', '>', last.created), eb('id', '>', last.id)]))
      .orderBy('created')
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    for (const call of calls) yield cellsOf(call)
    if (calls.length < PAGE_ROWS) return
    last = calls.at(-1)!
  }
}

const cellsOf = (call: CallRow): string[] => [
  call.id,
  call.created,
  call.direction,
  call.from_address,
  call.to_address,
  call.status,
  call.ended_reason ?? '',
  call.answered_at === null || call.ended_at === null ? '' : String(Math.round(durationOf(call, call.ended_at) / 1000)),
]

/** One row for each queue there was before the period's end: the calls that wait in it now and joined in the period. */
async function* queueRows(db: Db, tenant: Tenant, { from, to }: Period): AsyncGenerator<string[]> {
  const scoped = forTenant(db, tenant)
  let last = ''
  for (;;) {
    const queues = await scoped
      .select('queues')
      .select(['id', 'name', 'created'])
      .where('created', '<', to)
      .where('id', '>', last)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    if (queues.length === 0) return
    const ids = queues.map(({ id }) => id)
    const waiting = await scoped
      .select('queue_calls')
      .select(({ fn }) => ['queue_id', fn.countAll<number | string>().as('count'), fn.min('joined_at').as('oldest')])
      .where('queue_id', 'in', ids)
      .where('joined_at', '>=', from)
      .where('joined_at', '<', to)
      .groupBy('queue_id')
      .execute()
    const facts = new Map(waiting.map(row => [row.queue_id, row]))
    for (const { id, name, created } of queues) {
      yield [id, name, created, String(facts.get(id)?.count ?? 0), facts.get(id)?.oldest ?? '']
    }
    last = ids.at(-1)!
  }
}
