import { appendEvent, type Cause } from '../../kernel/events/log.ts'
import { newId } from '../../kernel/ids.ts'
import { enqueue } from '../../kernel/jobs/queue.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../../kernel/tenancy.ts'
import type { ChatModel } from '../../models/model.ts'
import type { QualitySettings } from '../../organisation/quality.ts'
import type { Criterion } from '../../organisation/rubric.ts'
import type { Conversation } from '../analysis/conversation.ts'
import type { QaEvaluationRow } from '../tables.ts'
import { wantsReview } from './sampling.ts'
import { criteriaOf, failuresOf, type ScoredCriterion, toQaEvaluation } from './schema.ts'
import { automaticFailures, scoreByWords, totalOf } from './score.ts'

interface EvaluateOptions {
  settings: QualitySettings
  /** Models for what words cannot decide; empty: those criteria wait for a person. */
  models: readonly ChatModel[]
  at: string
  request?: Cause
}

/** The profile's rubric, otherwise the organisation's. Empty: there is none. */
export function rubricOf(
  { profile }: Pick<Conversation, 'profile'>,
  settings: QualitySettings,
): { rubric: Criterion[]; whose: QaEvaluationRow['rubric'] } {
  const own = profile?.settings.qa_rubric ?? []
  return own.length > 0 ? { rubric: own, whose: 'profile' } : { rubric: settings.qa_rubric, whose: 'organisation' }
}

/**
 * Evaluates a call by its words, and replaces an earlier evaluation, except people's decisions. A job asks a model for the rest. Null: there is no rubric.
 */
export async function evaluate(
  trx: Trx,
  tenant: Tenant,
  conversation: Conversation,
  options: EvaluateOptions,
): Promise<QaEvaluationRow | null> {
  const { rubric, whose } = rubricOf(conversation, options.settings)
  if (rubric.length === 0) return null
  const { call, profile } = conversation
  const before = await forTenant(trx, tenant).findBy('qa_evaluations', { call_id: call.id })
  const criteria = withPersons(scoreByWords(rubric, conversation), before)
  const dismissed = new Set(
    before === undefined ? [] : failuresOf(before).flatMap(one => (one.dismissed ? [one.key] : [])),
  )
  const failures = automaticFailures(conversation).map(one => ({ ...one, dismissed: dismissed.has(one.key) }))
  const waits = criteria.some(({ outcome }) => outcome === 'needs_model')
  const row: QaEvaluationRow = {
    id: before?.id ?? newId('qa_evaluation'),
    ...ownedBy(tenant),
    call_id: call.id,
    call_at: call.created,
    user_id: call.user_id,
    queue_id: call.queue_id,
    profile_id: profile?.id ?? null,
    profile_version: profile?.version ?? null,
    rubric: whose,
    status: !waits ? 'scored' : options.models.length > 0 ? 'pending' : 'needs_model',
    review: before?.review ?? 'none',
    score: totalOf(criteria, failures),
    criteria: JSON.stringify(criteria),
    failures: JSON.stringify(failures),
    reviews: before?.reviews ?? '[]',
    history: before?.history ?? '[]',
    created: before?.created ?? options.at,
    updated: options.at,
  }
  await store(trx, tenant, row, before !== undefined)
  if (row.status !== 'pending') return settle(trx, tenant, row, options)
  const job = { tenant: { organisationId: tenant.organisationId, livemode: tenant.livemode }, evaluation_id: row.id }
  await enqueue(trx, 'call.judge', job, {
    now: new Date(options.at),
    organisationId: tenant.organisationId,
    key: row.id,
  })
  return row
}

/** People's scores override new results. */
function withPersons(criteria: readonly ScoredCriterion[], before: QaEvaluationRow | undefined): ScoredCriterion[] {
  const persons = before === undefined ? [] : criteriaOf(before).filter(({ scored_by }) => scored_by === 'person')
  return criteria.map(criterion => {
    const person = persons.find(({ key }) => key === criterion.key)
    if (person === undefined) return criterion
    const { score, outcome, scored_by, reason } = person
    return { ...criterion, score, outcome, scored_by, reason }
  })
}

async function store(trx: Trx, tenant: Tenant, row: QaEvaluationRow, isThere: boolean): Promise<void> {
  const { organisation_id: _o, livemode: _l, ...columns } = row
  const scoped = forTenant(trx, tenant)
  if (isThere) await scoped.change('qa_evaluations', row.id, columns)
  else await scoped.insert('qa_evaluations', columns)
}

/** Called once everything that can be scored has been: sends the event, and requests a review if the rules want one. */
export async function settle(
  trx: Trx,
  tenant: Tenant,
  row: QaEvaluationRow,
  { settings, at }: Pick<EvaluateOptions, 'settings' | 'at'>,
): Promise<QaEvaluationRow> {
  const failed = failuresOf(row).some(({ dismissed }) => !dismissed)
  const wants = row.review === 'none' && wantsReview(row.call_id, { score: row.score, failed }, settings.qa_sampling)
  const settled: QaEvaluationRow = { ...row, review: wants ? 'wanted' : row.review }
  await store(trx, tenant, settled, true)
  const object = toQaEvaluation(settled)
  await appendEvent(trx, tenant, { type: 'qa_evaluation.scored', at, object, callId: row.call_id })
  return settled
}
