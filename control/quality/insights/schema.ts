import Type, { type Static } from 'typebox'
import { nullable, oneOf, timestamp } from '../../kernel/schema.ts'

export const GROUPS = ['none', 'agent', 'queue', 'team', 'profile', 'day'] as const
export type GroupBy = (typeof GROUPS)[number]

const count = (description = '') => Type.Integer(description === '' ? {} : { description })
const mean = (description: string) => nullable(Type.Number({ description }))

const measures = {
  calls: count('Calls of phones, in both directions; sessions are not counted.'),
  answered: count(),
  transcribed: count('Calls with a transcript. All figures below are about these.'),
  handling_seconds: mean('From answer to end, mean of the answered calls.'),
  talk_ratio: mean("The agent's share of the speech of agent and customer."),
  sentiment: mean("The customer's, -1 to 1; null: no word of a known list was said."),
  sentiment_calls: count('Calls whose sentiment is known: English and Hebrew.'),
  disclosure_rate: mean('Share of the required disclosures that were said, 0 to 1.'),
  qa_score: mean('Mean of the evaluations, 0 to 100.'),
  qa_evaluations: count(),
}
const measuresSchema = Type.Object(measures)
export type Measures = Static<typeof measuresSchema>

/** The change of a measure; null: one of the two values is unknown. */
const changes = Type.Object(
  Object.fromEntries(Object.keys(measures).map(name => [name, nullable(Type.Number())])) as Record<
    keyof typeof measures,
    ReturnType<typeof mean>
  >,
)

const mark = Type.Object({
  value: Type.String({ description: '`GET /insights/calls` lists its calls.' }),
  calls: count(),
  calls_before: count('In the previous period.'),
  sentiment: mean('Of these calls.'),
})

export const insightsSchema = Type.Object({
  object: Type.Literal('insights'),
  livemode: Type.Boolean(),
  from: timestamp(),
  to: timestamp(),
  group_by: oneOf([...GROUPS]),
  total: measuresSchema,
  before: Type.Object(measures, { description: 'The previous period of the same length.' }),
  change: Type.Object(changes.properties, { description: '`total` minus `before`.' }),
  groups: Type.Array(
    Type.Object({
      key: nullable(Type.String({ description: "An ID, or a day in the organisation's time zone; null: none." })),
      label: Type.String(),
      ...measures,
    }),
    { description: 'Most calls first; days in chronological order.' },
  ),
  reasons: Type.Array(mark, { description: 'Why customers called, by the words of the reason.' }),
  topics: Type.Array(mark),
  objections: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      calls: count(),
      calls_before: count(),
      answered: count('Calls in which the agent answered as the library suggests.'),
      dispositions: Type.Array(
        Type.Object({ key: nullable(Type.String()), calls: count() }, { description: 'Outcomes of these calls.' }),
      ),
    }),
  ),
  disclosures: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      calls: count(),
      said: count(),
      calls_before: count('In the previous period.'),
      said_before: count(),
    }),
  ),
  criteria: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      evaluations: count(),
      score: mean('Of the scored ones.'),
      evaluations_before: count('In the previous period.'),
      score_before: mean('In the previous period.'),
      not_applicable: count(),
      needs_model: count(),
    }),
  ),
})
export type Insights = Static<typeof insightsSchema>

export const insightCallSchema = Type.Object({
  id: Type.String({ description: 'ID of the call.' }),
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
