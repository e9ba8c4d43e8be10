import Type, { type Static } from 'typebox'
import { nullable, oneOf, timestamp } from '../../kernel/schema.ts'

export const GROUPS = ['none', 'agent', 'queue', 'team', 'profile', 'day'] as const
export type GroupBy = (typeof GROUPS)[number]

const count = (description = '') => Type.Integer(description === '' ? {} : { description })
const mean = (description: string) => nullable(Type.Number({ description }))

export const measures = {
  calls: count('Calls of one phone, in and out.'),
  answered: count(),
  transcribed: count('Of which was written down what was said: all that follows is of these.'),
  handling_seconds: mean('From the answer to the end, the mean of the answered calls.'),
  talk_ratio: mean("The agent's share of what agent and customer said."),
  sentiment: mean("The customer's, -1 to 1; null: no word of a known list was said."),
  sentiment_calls: count('Calls of which it is known: English and Hebrew.'),
  disclosure_rate: mean('Of the disclosures that were required so many were said, 0 to 1.'),
  qa_score: mean('The mean of the evaluations, 0 to 100.'),
  qa_evaluations: count(),
}
const measuresSchema = Type.Object(measures)
export type Measures = Static<typeof measuresSchema>

/** What a measure has changed by; null: one of both is unknown. */
const changes = Type.Object(
  Object.fromEntries(Object.keys(measures).map(name => [name, nullable(Type.Number())])) as Record<
    keyof typeof measures,
    ReturnType<typeof mean>
  >,
)

const mark = Type.Object({
  value: Type.String({ description: '`GET /insights/calls` lists its calls.' }),
  calls: count(),
  calls_before: count('In the period before.'),
  sentiment: mean('Of these calls.'),
})

export const insightsSchema = Type.Object({
  object: Type.Literal('insights'),
  livemode: Type.Boolean(),
  from: timestamp(),
  to: timestamp(),
  group_by: oneOf([...GROUPS]),
  total: measuresSchema,
  before: Type.Object(measures, { description: 'The period of the same length before it.' }),
  change: Type.Object(changes.properties, { description: '`total` less `before`.' }),
  groups: Type.Array(
    Type.Object({
      key: nullable(Type.String({ description: 'An ID, or a day by the clock of the organisation; null: none.' })),
      label: Type.String(),
      ...measures,
    }),
    { description: 'Those with most calls first; days in their order.' },
  ),
  reasons: Type.Array(mark, { description: 'What customers called about, by the words of their reason.' }),
  topics: Type.Array(mark),
  objections: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      calls: count(),
      calls_before: count(),
      answered: count("Calls in which the agent's next words were those of the library."),
      dispositions: Type.Array(
        Type.Object({ key: nullable(Type.String()), calls: count() }, { description: 'How these calls ended.' }),
      ),
    }),
  ),
  disclosures: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      calls: count(),
      said: count(),
      calls_before: count('In the period before.'),
      said_before: count(),
    }),
  ),
  criteria: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      evaluations: count(),
      score: mean('Of those that are scored.'),
      evaluations_before: count('In the period before.'),
      score_before: mean('In the period before.'),
      not_applicable: count(),
      needs_model: count(),
    }),
  ),
})
export type Insights = Static<typeof insightsSchema>

export const insightCallSchema = Type.Object({
  id: Type.String({ description: 'The call.' }),
  object: Type.Literal('insight_call'),
  livemode: Type.Boolean(),
  created: timestamp(),
  user_id: nullable(Type.String()),
  queue_id: nullable(Type.String()),
  reason: nullable(Type.String()),
  outcome: nullable(Type.String()),
  disposition: nullable(Type.String()),
  sentiment: nullable(Type.Number()),
})
