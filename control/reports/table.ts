import { durationOf } from '../calls/duration.ts'
import type { CallRow } from '../calls/tables.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Period } from '../quality/period.ts'
import { DEFAULT_SERVICE_S, queueStatsOf } from '../queues/settings/stats.ts'
import { agentTable, evaluationTable, summaryTable, topicTable } from './quality-rows.ts'
import type { ReportTable } from './report-table.ts'
import type { ReportRow } from './tables.ts'

/** Rows per query; other work gets the database between two. */
const PAGE_ROWS = 1000

const QUEUE_FIGURES = ['answered', 'abandoned', 'other', 'average_wait_ms', 'service_level_pct'] as const

/** Makes the table of each kind of report. */
const TABLES: Record<ReportRow['kind'], (db: Db, tenant: Tenant, period: Period) => ReportTable> = {
  calls: (db, tenant, period) => ({
    columns: [
      'call_id',
      'created',
      'direction',
      'from',
      'to',
      'status',
      'ended_reason',
      'duration_s',
      'queue_id',
      'user_id',
    ],
    rows: callRows(db, tenant, period),
  }),
  queues: (db, tenant, period) => ({
    columns: ['queue_id', 'name', ...QUEUE_FIGURES],
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
  call.queue_id ?? '',
  call.user_id ?? '',
]

/** One row for each queue that existed before the period's end, with the figures of calls that left it in the period. */
async function* queueRows(db: Db, tenant: Tenant, period: Period): AsyncGenerator<string[]> {
  let last = ''
  for (;;) {
    const queues = await forTenant(db, tenant)
      .select('queues')
      .selectAll()
      .where('created', '<', period.to)
      .where('id', '>', last)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    if (queues.length === 0) return
    const stats = await queueStatsOf(db, tenant, queues, { ...period, serviceS: DEFAULT_SERVICE_S })
    for (const queue of stats)
      yield [queue.queue_id, queue.name, ...QUEUE_FIGURES.map(name => String(queue[name] ?? ''))]
    last = queues.at(-1)!.id
  }
}
