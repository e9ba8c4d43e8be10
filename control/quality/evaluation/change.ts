import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { invalid, needed, type Problem } from '../../http/errors.ts'
import { type Exists, referenceProblem } from '../../http/references.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import type { QaEvaluationRow } from '../tables.ts'
import {
  type AutomaticFailure,
  type Change,
  type changeBody,
  criteriaOf,
  failuresOf,
  historyOf,
  type QaEvaluation,
  type reviewBody,
  reviewsOf,
  type ScoredCriterion,
  toQaEvaluation,
} from './schema.ts'
import { totalOf } from './score.ts'

export interface EvaluationDeps {
  store: Store
  now: () => Date
  userExists: Exists
}

/** Maximum history of an evaluation; only the latest changes are kept. */
const MAX_HISTORY = 200
const MAX_REVIEWS = 20

type Sent = Static<typeof changeBody>

/** A person's decision, with its reason and the former value. */
export function changeEvaluation(
  deps: EvaluationDeps,
  context: Context,
  id: string,
  sent: Sent,
): Promise<QaEvaluation | Problem> {
  return context.withRow('qa_evaluations', 'qa_evaluation', id, async (trx, row) => {
    const refused = await refusal(deps, trx, context, row, sent)
    if (refused !== null) return refused
    const redact = await redactorOf(trx, context)
    const at = deps.now().toISOString()
    const reason = redact(sent.reason ?? '')
    const criteria = scoredByPerson(criteriaOf(row), sent, reason)
    const failures = dismissedIn(failuresOf(row), sent)
    const changes = changesOf(row, { criteria, failures, review: sent.review ?? row.review })
    if (changes.length === 0) return toQaEvaluation(row)
    const change: Change = { at, by_user_id: sent.user_id ?? null, reason, changes }
    const waits = criteria.some(({ outcome }) => outcome === 'needs_model')
    return save(trx, context, {
      ...row,
      criteria: JSON.stringify(criteria),
      failures: JSON.stringify(failures),
      review: sent.review ?? row.review,
      status: waits ? row.status : 'scored',
      score: totalOf(criteria, failures),
      history: JSON.stringify([...historyOf(row), change].slice(-MAX_HISTORY)),
      updated: at,
    })
  })
}

async function refusal(
  { userExists }: EvaluationDeps,
  trx: Trx,
  context: Context,
  row: QaEvaluationRow,
  { criteria = [], automatic_failures = [], reason, user_id }: Sent,
): Promise<Problem | null> {
  if (criteria.length + automatic_failures.length > 0 && reason === undefined) {
    return needed('reason', 'Missing required parameter: reason.')
  }
  return (
    unknownKey(criteria, criteriaOf(row), 'criteria', 'criterion') ??
    unknownKey(automatic_failures, failuresOf(row), 'automatic_failures', 'automatic failure') ??
    (await referenceProblem(trx, context, [{ param: 'user_id', id: user_id, kind: 'user', exists: userExists }]))
  )
}

function unknownKey(
  sent: readonly { key: string }[],
  known: readonly { key: string }[],
  param: string,
  what: string,
): Problem | null {
  const i = sent.findIndex(({ key }) => !known.some(one => one.key === key))
  if (i < 0) return null
  return invalid(`${param}[${i}].key`, `The evaluation has no ${what} ${sent[i]?.key}.`)
}

const scoredByPerson = (
  before: readonly ScoredCriterion[],
  { criteria = [] }: Sent,
  reason: string,
): ScoredCriterion[] =>
  before.map(criterion => {
    const found = criteria.find(({ key }) => key === criterion.key)
    if (found === undefined) return criterion
    const outcome = found.score === null ? 'not_applicable' : 'scored'
    return { ...criterion, score: found.score, outcome, scored_by: 'person', reason }
  })

const dismissedIn = (before: readonly AutomaticFailure[], { automatic_failures = [] }: Sent): AutomaticFailure[] =>
  before.map(failure => ({
    ...failure,
    dismissed: automatic_failures.find(({ key }) => key === failure.key)?.dismissed ?? failure.dismissed,
  }))

function changesOf(
  row: QaEvaluationRow,
  after: { criteria: ScoredCriterion[]; failures: AutomaticFailure[]; review: string },
): Change['changes'] {
  const shown = ({ score, outcome }: ScoredCriterion): string => (score === null ? outcome : String(score))
  const counted = ({ dismissed }: AutomaticFailure): string => (dismissed ? 'dismissed' : 'counts')
  const criteria = criteriaOf(row).flatMap((before, i) => {
    const now = after.criteria[i] ?? before
    const isSame = shown(now) === shown(before) && now.scored_by === before.scored_by
    return isSame ? [] : [{ key: before.key, from: shown(before), to: shown(now) }]
  })
  const failures = failuresOf(row).flatMap((before, i) => {
    const now = after.failures[i] ?? before
    return counted(now) === counted(before) ? [] : [{ key: before.key, from: counted(before), to: counted(now) }]
  })
  const review = after.review === row.review ? [] : [{ key: 'review', from: row.review, to: after.review }]
  return [...criteria, ...failures, ...review]
}

async function save(trx: Trx, context: Context, row: QaEvaluationRow): Promise<QaEvaluation> {
  const { criteria, failures, review, status, score, history, reviews, updated } = row
  const change = { criteria, failures, review, status, score, history, reviews, updated }
  await forTenant(trx, context).change('qa_evaluations', row.id, change)
  const object = toQaEvaluation(row)
  await appendEvent(trx, context, { type: 'qa_evaluation.changed', at: updated, object, callId: row.call_id })
  return object
}

/** A reviewer's scores, for calibration only: they change no score. */
export function addReview(
  deps: EvaluationDeps,
  context: Context,
  id: string,
  { reviewer_user_id: reviewer, criteria, note = '' }: Static<typeof reviewBody>,
): Promise<QaEvaluation | Problem> {
  return context.withRow('qa_evaluations', 'qa_evaluation', id, async (trx, row) => {
    const named = [{ param: 'reviewer_user_id', id: reviewer, kind: 'user', exists: deps.userExists }]
    const refused =
      unknownKey(criteria, criteriaOf(row), 'criteria', 'criterion') ?? (await referenceProblem(trx, context, named))
    if (refused !== null) return refused
    const others = reviewsOf(row).filter(({ reviewer_user_id }) => reviewer_user_id !== reviewer)
    if (others.length >= MAX_REVIEWS) {
      return invalid('reviewer_user_id', `An evaluation has ${MAX_REVIEWS} reviewers at most.`)
    }
    const at = deps.now().toISOString()
    const redact = await redactorOf(trx, context)
    const review = { reviewer_user_id: reviewer, criteria, note: redact(note), at }
    return save(trx, context, { ...row, reviews: JSON.stringify([...others, review]), updated: at })
  })
}
