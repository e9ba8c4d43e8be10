import Type, { type Static } from 'typebox'
import { apiObject, input, nullable, oneOf, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import { evidenceSchema } from '../summary/schema.ts'
import type { QaEvaluationRow } from '../tables.ts'

const score = nullable(Type.Number({ minimum: 0, maximum: 100, description: '0 to 100; null: not scored.' }))

const criterionSchema = Type.Object({
  key: Type.String(),
  label: Type.String(),
  weight: Type.Number(),
  score,
  outcome: oneOf(['scored', 'not_applicable', 'needs_model'], {
    description: 'needs_model: rules and figures cannot decide it, and no model has.',
  }),
  scored_by: nullable(oneOf(['words', 'model', 'person'])),
  reason: Type.String({ description: 'Reason of the score.' }),
  machine_score: nullable(Type.Number({ description: 'The value before a person changed it.' })),
  evidence: Type.Array(evidenceSchema),
})
export type ScoredCriterion = Static<typeof criterionSchema>

const failureSchema = Type.Object({
  kind: oneOf(['missed_disclosure', 'forbidden_phrase']),
  key: Type.String(),
  label: Type.String(),
  dismissed: Type.Boolean({ description: 'A person has dismissed it.' }),
  evidence: Type.Array(evidenceSchema, { description: 'Where it was said; empty for what was not said.' }),
})
export type AutomaticFailure = Static<typeof failureSchema>

const reviewSchema = Type.Object({
  reviewer_user_id: Type.String(),
  criteria: Type.Array(Type.Object({ key: Type.String(), score })),
  note: Type.String(),
  at: timestamp(),
})
type Review = Static<typeof reviewSchema>

const changeSchema = Type.Object({
  at: timestamp(),
  by_user_id: nullable(Type.String()),
  reason: Type.String(),
  changes: Type.Array(Type.Object({ key: Type.String(), from: Type.String(), to: Type.String() })),
})
export type Change = Static<typeof changeSchema>

export const qaEvaluationSchema = apiObject('qa_evaluation', {
  call_id: Type.String(),
  user_id: nullable(Type.String({ description: 'ID of the agent who is evaluated.' })),
  queue_id: nullable(Type.String()),
  copilot_profile_id: nullable(Type.String()),
  copilot_profile_version: nullable(Type.Integer()),
  rubric: oneOf(['profile', 'organisation'], { description: 'Source of the rubric.' }),
  status: oneOf(['pending', 'scored', 'needs_model'], {
    description: 'pending: a model is working on it. needs_model: some criteria need a model or a person.',
  }),
  score: nullable(
    Type.Number({ description: 'Weighted mean of the scores; 0 with an automatic failure; null: nothing is scored.' }),
  ),
  criteria: Type.Array(criterionSchema),
  automatic_failures: Type.Array(failureSchema),
  review: oneOf(['none', 'wanted', 'done'], { description: 'Whether a person should review it, or has.' }),
  reviews: Type.Array(reviewSchema, { description: 'For calibration: the scores that reviewers would have given.' }),
  history: Type.Array(changeSchema, { description: 'Changes by people, oldest first.' }),
  created: timestamp(),
  updated: timestamp(),
})
export type QaEvaluation = Static<typeof qaEvaluationSchema>

const key = Type.String({ minLength: 1, maxLength: 500 })
const reason = Type.String({ minLength: 1, maxLength: 2000 })
const member = (description: string) => Type.String({ minLength: 1, maxLength: 200, description })
const scores = Type.Array(input({ key, score }), {
  minItems: 1,
  maxItems: 200,
  description: 'A score of null: not applicable.',
})

export const changeBody = input({
  criteria: Type.Optional(scores),
  automatic_failures: Type.Optional(
    Type.Array(input({ key, dismissed: Type.Boolean() }), { minItems: 1, maxItems: 200 }),
  ),
  review: Type.Optional(oneOf(['none', 'wanted', 'done'])),
  reason: Type.Optional({ ...reason, description: 'Required with criteria and automatic_failures.' }),
  user_id: Type.Optional(member('The member who makes the change.')),
})

export const reviewBody = input({
  reviewer_user_id: member('A reviewer has one review; a new one replaces it.'),
  criteria: scores,
  note: Type.Optional(Type.String({ maxLength: 2000, default: '' })),
})

export const criteriaOf = (row: QaEvaluationRow): ScoredCriterion[] => JSON.parse(row.criteria)
export const failuresOf = (row: QaEvaluationRow): AutomaticFailure[] => JSON.parse(row.failures)
export const reviewsOf = (row: QaEvaluationRow): Review[] => JSON.parse(row.reviews)
export const historyOf = (row: QaEvaluationRow): Change[] => JSON.parse(row.history)

export const toQaEvaluation = (row: QaEvaluationRow): QaEvaluation =>
  showRow(qaEvaluationSchema, row, {
    copilot_profile_id: row.profile_id,
    copilot_profile_version: row.profile_version,
    criteria: criteriaOf(row),
    automatic_failures: failuresOf(row),
    reviews: reviewsOf(row),
    history: historyOf(row),
  })
