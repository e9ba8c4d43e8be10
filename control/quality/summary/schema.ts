import Type, { type Static } from 'typebox'
import { input, nullable, oneOf, partialInput, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { CallSummaryRow } from '../tables.ts'

export const MAX_TEXT = 2000
const MAX_STEPS = 20

const text = (description: string) => nullable(Type.String({ maxLength: MAX_TEXT, description }))
const fields = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 200,
  propertyNames: { maxLength: 64 },
  additionalProperties: { type: 'string', maxLength: MAX_TEXT },
  description: "Extracted details, by the keys of the profile's `fields`.",
})

const evidence = Type.Object({
  segment_id: Type.String(),
  participant_id: Type.String(),
  text: Type.String(),
  start_ms: Type.Integer({ description: 'From the beginning of the transcript [ms].' }),
  end_ms: Type.Integer(),
})
export const evidenceSchema = evidence

const content = {
  reason: text('Why the customer called; null: not understood.'),
  outcome: text('Result of the call.'),
  next_steps: Type.Array(Type.String({ minLength: 1, maxLength: MAX_TEXT }), { maxItems: MAX_STEPS }),
  fields,
  disposition: nullable(
    Type.String({
      maxLength: 64,
      description: "A key of the organisation's `dispositions`; null: none was recognised.",
    }),
  ),
}

const contentSchema = Type.Object({
  ...content,
  made_by: oneOf(['words', 'model']),
  topics: Type.Array(Type.String()),
  evidence: Type.Array(evidence),
})
/** The automatic part of a summary. */
export type SummaryContent = Static<typeof contentSchema>

export const callSummarySchema = Type.Object({
  object: Type.Literal('call_summary'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  made_by: oneOf(['words', 'model'], {
    description: 'words: sentences of the call as they were said; nothing is invented.',
  }),
  ...content,
  disposition_by: nullable(oneOf(['proposal', 'person'], { description: 'Who decided it; null: undecided.' })),
  topics: Type.Array(Type.String()),
  evidence: Type.Array(evidence, { description: 'The lines of the transcript that it is based on.' }),
  corrected: Type.Array(Type.String(), { description: 'Fields that a person has corrected.' }),
  corrected_at: nullable(timestamp()),
  corrected_by_user_id: nullable(Type.String()),
  created: timestamp(),
  updated: timestamp(),
})
export type CallSummary = Static<typeof callSummarySchema>

export const correctBody = input({
  ...partialInput(content).properties,
  user_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'The member who makes the correction.' }),
  ),
})
export type Correction = Partial<Pick<SummaryContent, keyof typeof content>>

export const summaryOf = (row: CallSummaryRow): SummaryContent => JSON.parse(row.summary)
export const correctionOf = (row: CallSummaryRow): Correction => JSON.parse(row.corrected)

export function toCallSummary(row: CallSummaryRow): CallSummary {
  const made = summaryOf(row)
  const corrected = correctionOf(row)
  const { disposition, ...shown } = { ...made, ...corrected }
  return showRow(callSummarySchema, row, {
    call_id: row.id,
    made_by: made.made_by,
    reason: shown.reason,
    outcome: shown.outcome,
    next_steps: shown.next_steps,
    fields: shown.fields,
    disposition,
    disposition_by: disposition === null ? null : 'disposition' in corrected ? 'person' : 'proposal',
    topics: made.topics,
    evidence: made.evidence,
    corrected: Object.keys(corrected).sort(),
    corrected_by_user_id: row.corrected_by,
  })
}
