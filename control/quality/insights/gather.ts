import { DateTime } from 'luxon'
import { durationOf } from '../../calls/duration.ts'
import type { CallRow } from '../../calls/tables.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { CallFigures } from '../figures-row.ts'
import type { Period } from '../period.ts'
import { correctionOf, summaryOf } from '../summary/schema.ts'
import type { CallSummaryRow, QaEvaluationRow } from '../tables.ts'
import type { GroupBy } from './schema.ts'
import type { Counted } from './tally.ts'

/** Only these calls. */
export interface Only {
  userId?: string
  queueId?: string
  profileId?: string
}

/** Read at once; between two pages others get the database. */
const PAGE_ROWS = 500

export interface CountedCall extends Counted {
  call: CallRow
}

/** Every call of the period with what was made of it, a page at a time. */
export async function* callsOf(db: Db, tenant: Tenant, period: Period, only: Only = {}): AsyncGenerator<CountedCall> {
  const scoped = forTenant(db, tenant)
  let last = { created: period.from, id: '' }
  for (;;) {
    let rows = scoped
      .select('calls')
      .selectAll()
      .where('kind', '=', 'party')
      .where('created', '>=', last.created)
      .where('created', '<', period.to)
      .where(eb => eb.or([eb('created', '>', last.created), eb('id', '>', last.id)]))
    if (only.userId !== undefined) rows = rows.where('user_id', '=', only.userId)
    if (only.queueId !== undefined) rows = rows.where('queue_id', '=', only.queueId)
    const calls = await rows.orderBy('created').orderBy('id').limit(PAGE_ROWS).execute()
    if (calls.length > 0) {
      const ids = calls.map(({ id }) => id)
      const summaries = await scoped.select('call_summaries').selectAll().where('id', 'in', ids).execute()
      const evaluations = await scoped.select('qa_evaluations').selectAll().where('call_id', 'in', ids).execute()
      const summaryBy = new Map(summaries.map(row => [row.id, row]))
      const evaluationBy = new Map(evaluations.map(row => [row.call_id, row]))
      for (const call of calls) {
        const counted = countedOf(call, summaryBy.get(call.id), evaluationBy.get(call.id))
        if (only.profileId === undefined || counted.figures?.profile_id === only.profileId) yield { call, ...counted }
      }
    }
    if (calls.length < PAGE_ROWS) return
    last = calls.at(-1) ?? last
  }
}

function countedOf(
  call: CallRow,
  summary: CallSummaryRow | undefined,
  evaluation: QaEvaluationRow | undefined,
): Counted {
  return {
    answered: call.answered_at !== null,
    handlingMs: call.answered_at === null || call.ended_at === null ? null : durationOf(call, call.ended_at),
    figures: summary === undefined ? null : (JSON.parse(summary.figures) as CallFigures),
    summary: summary === undefined ? null : { ...summaryOf(summary), ...correctionOf(summary) },
    evaluation:
      evaluation === undefined ? null : { score: evaluation.score, criteria: JSON.parse(evaluation.criteria) },
  }
}

/** In which group a call is; null: in none of its kind. */
export async function grouping(
  db: Db,
  tenant: Tenant,
  by: GroupBy,
  timezone: string,
): Promise<(call: CountedCall) => string | null> {
  switch (by) {
    case 'agent':
      return ({ call }) => call.user_id
    case 'queue':
      return ({ call }) => call.queue_id
    case 'profile':
      return ({ figures }) => figures?.profile_id ?? null
    case 'day':
      return ({ call }) => DateTime.fromISO(call.created, { zone: timezone }).toISODate()
    case 'team': {
      const users = await forTenant(db, tenant).select('users').select(['id', 'team_id']).execute()
      const teams = new Map(users.map(({ id, team_id }) => [id, team_id]))
      return ({ call }) => (call.user_id === null ? null : (teams.get(call.user_id) ?? null))
    }
    default:
      return () => null
  }
}

const TABLES = { agent: 'users', queue: 'queues', team: 'teams', profile: 'copilot_profiles' } as const

/** What the groups are called; of those that are no more their IDs. */
export async function labelsOf(db: Db, tenant: Tenant, by: GroupBy): Promise<Map<string, string>> {
  const table = TABLES[by as keyof typeof TABLES]
  if (table === undefined) return new Map()
  const rows = await forTenant(db, tenant).select(table).select(['id', 'name']).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}
