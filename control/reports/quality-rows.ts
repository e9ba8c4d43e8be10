import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { criteriaOf, failuresOf } from '../quality/evaluation/schema.ts'
import type { CallFigures } from '../quality/figures-row.ts'
import { gatherInsights } from '../quality/insights/insights.ts'
import type { Measures } from '../quality/insights/schema.ts'
import type { Period } from '../quality/period.ts'
import { correctionOf, summaryOf } from '../quality/summary/schema.ts'
import type { ReportTable } from './report-table.ts'

const shown = (value: string | number | null | undefined): string => (value == null ? '' : String(value))

const MEASURES: (keyof Measures)[] = [
  'calls',
  'answered',
  'transcribed',
  'handling_seconds',
  'talk_ratio',
  'sentiment',
  'disclosure_rate',
  'qa_evaluations',
  'qa_score',
]

/** One row for each agent with calls in the period, those with most calls first. */
export const agentTable = (db: Db, tenant: Tenant, period: Period): ReportTable => ({
  columns: ['user_id', 'name', ...MEASURES],
  rows: agentRows(db, tenant, period),
})

async function* agentRows(db: Db, tenant: Tenant, period: Period): AsyncGenerator<string[]> {
  const { groups } = await gatherInsights(db, tenant, { period, by: 'agent', timezone: 'UTC' })
  for (const group of groups) {
    if (group.key !== null) yield [group.key, group.label, ...MEASURES.map(name => shown(group[name]))]
  }
}

/** One row for each topic and reason, with the previous period. */
export const topicTable = (db: Db, tenant: Tenant, period: Period): ReportTable => ({
  columns: ['kind', 'value', 'calls', 'calls_before', 'sentiment'],
  rows: topicRows(db, tenant, period),
})

async function* topicRows(db: Db, tenant: Tenant, period: Period): AsyncGenerator<string[]> {
  const { reasons, topics } = await gatherInsights(db, tenant, { period, by: 'none', timezone: 'UTC' })
  for (const [kind, marks] of [
    ['reason', reasons],
    ['topic', topics],
  ] as const) {
    for (const mark of marks) {
      yield [kind, mark.value, shown(mark.calls), shown(mark.calls_before), shown(mark.sentiment)]
    }
  }
}

/** One row for each call of the period that has a summary. */
export const summaryTable = (db: Db, tenant: Tenant, period: Period): ReportTable => ({
  columns: ['call_id', 'created', 'user_id', 'queue_id', 'reason', 'outcome', 'disposition', 'topics', 'sentiment'],
  rows: summaryRows(db, tenant, period),
})

async function* summaryRows(db: Db, tenant: Tenant, { from, to }: Period): AsyncGenerator<string[]> {
  let last = { call_at: from, id: '' }
  for (;;) {
    const rows = await forTenant(db, tenant)
      .select('call_summaries')
      .innerJoin('calls', 'calls.id', 'call_summaries.id')
      .selectAll('call_summaries')
      .select(['calls.user_id', 'calls.queue_id'])
      .where('call_at', '>=', last.call_at)
      .where('call_at', '<', to)
      .where(eb => eb.or([eb('call_at', '>', last.call_at), eb('call_summaries.id', '>', last.id)]))
      .orderBy('call_at')
      .orderBy('call_summaries.id')
      .limit(PAGE_ROWS)
      .execute()
    for (const row of rows) {
      const { reason, outcome, disposition, topics } = { ...summaryOf(row), ...correctionOf(row) }
      const { sentiment } = JSON.parse(row.figures) as CallFigures
      const cells = [reason, outcome, disposition, topics.join(', '), sentiment]
      yield [row.id, row.call_at, shown(row.user_id), shown(row.queue_id), ...cells.map(shown)]
    }
    if (rows.length < PAGE_ROWS) return
    last = rows.at(-1) ?? last
  }
}

/** Rows per query; other work gets the database between two. */
const PAGE_ROWS = 500

/** One row for each criterion of each evaluation of a call of the period. */
export const evaluationTable = (db: Db, tenant: Tenant, period: Period): ReportTable => ({
  columns: [
    ...['evaluation_id', 'call_id', 'call_created', 'user_id', 'queue_id', 'score', 'automatic_failures'],
    ...['criterion', 'criterion_score', 'outcome', 'scored_by'],
  ],
  rows: evaluationRows(db, tenant, period),
})

async function* evaluationRows(db: Db, tenant: Tenant, { from, to }: Period): AsyncGenerator<string[]> {
  let last = { call_at: from, id: '' }
  for (;;) {
    const rows = await forTenant(db, tenant)
      .select('qa_evaluations')
      .selectAll()
      .where('call_at', '>=', last.call_at)
      .where('call_at', '<', to)
      .where(eb => eb.or([eb('call_at', '>', last.call_at), eb('id', '>', last.id)]))
      .orderBy('call_at')
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    for (const row of rows) {
      const counted = failuresOf(row).filter(({ dismissed }) => !dismissed)
      const own = [row.id, row.call_id, row.call_at, shown(row.user_id), shown(row.queue_id), shown(row.score)]
      for (const { key, score, outcome, scored_by } of criteriaOf(row)) {
        yield [...own, counted.map(failure => failure.key).join(', '), key, shown(score), outcome, shown(scored_by)]
      }
    }
    if (rows.length < PAGE_ROWS) return
    last = rows.at(-1) ?? last
  }
}
