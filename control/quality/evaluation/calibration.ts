import { sql } from 'kysely'
import Type, { type Static } from 'typebox'
import { isProblem } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import { input, nullable } from '../../kernel/schema.ts'
import type { Store } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { inPeriod, periodFields, periodOf } from '../period.ts'
import { agreementOf, type Band, bandOf } from './agreement.ts'
import { criteriaOf, reviewsOf } from './schema.ts'

const api = operations('Quality', 'quality')

const agreementSchema = Type.Object({
  count: Type.Integer({ description: 'Number of judgements compared.' }),
  percent: nullable(Type.Number({ description: 'Share of them that agree.' })),
  kappa: nullable(
    Type.Number({ description: "Cohen's kappa: 1 is full agreement, 0 is chance; null: not defined here." }),
  ),
})

const calibrationSchema = Type.Object({
  object: Type.Literal('qa_calibration'),
  livemode: Type.Boolean(),
  from: Type.String(),
  to: Type.String(),
  evaluations: Type.Integer({ description: 'Evaluations that have reviews.' }),
  machine: Type.Object(agreementSchema.properties, { description: 'Reviewers with the machine.' }),
  reviewers: Type.Object(agreementSchema.properties, { description: 'Reviewers with each other.' }),
  criteria: Type.Array(
    Type.Object({ key: Type.String(), label: Type.String(), machine: agreementSchema, reviewers: agreementSchema }),
  ),
})

/** Rows read per query. */
const PAGE_ROWS = 500

type Pair = readonly [Band, Band]
interface Pairs {
  label: string
  machine: Pair[]
  reviewers: Pair[]
}

export const calibrationRoute = ({ store, now }: { store: Store; now: () => Date }): Route =>
  api.get({
    path: '/qa_calibration',
    id: 'getQaCalibration',
    summary: 'Retrieve the agreement of reviewers and the machine',
    description:
      'For evaluations with reviews (`POST /qa_evaluations/{id}/reviews`) of calls made in the period. Scores agree if they are in the same band: not applicable, below 50, below 80, from 80.',
    query: input(periodFields),
    reply: calibrationSchema,
    handler: async (context, { query }) => {
      const period = periodOf(query, now())
      if (isProblem(period)) return period
      const byKey = new Map<string, Pairs>()
      let [evaluations, last] = [0, '']
      for (;;) {
        const rows = await inPeriod(forTenant(store.db, context).select('qa_evaluations').selectAll(), period)
          // In the form of its partial index.
          .where(sql<boolean>`reviews <> '[]'`)
          .where('id', '>', last)
          .orderBy('id')
          .limit(PAGE_ROWS)
          .execute()
        for (const row of rows) collect(byKey, criteriaOf(row), reviewsOf(row))
        evaluations += rows.length
        if (rows.length < PAGE_ROWS) break
        last = rows.at(-1)?.id ?? last
        await new Promise(setImmediate)
      }
      return { object: 'qa_calibration' as const, livemode: context.livemode, ...period, evaluations, ...summed(byKey) }
    },
  })

function collect(
  byKey: Map<string, Pairs>,
  criteria: ReturnType<typeof criteriaOf>,
  reviews: ReturnType<typeof reviewsOf>,
): void {
  for (const { key, label, machine_score: machine, outcome, scored_by } of criteria) {
    const bands = reviews.flatMap(review =>
      review.criteria.filter(one => one.key === key).map(({ score }) => bandOf(score)),
    )
    const pairs = byKey.get(key) ?? { label, machine: [], reviewers: [] }
    // Scores without a machine's judgement are compared with nothing.
    const isJudged = machine !== null || (outcome === 'not_applicable' && scored_by !== 'person')
    if (isJudged) pairs.machine.push(...bands.map((band): Pair => [bandOf(machine), band]))
    for (const [i, one] of bands.entries()) {
      for (const other of bands.slice(i + 1)) pairs.reviewers.push([one, other])
    }
    byKey.set(key, pairs)
  }
}

function summed(
  byKey: Map<string, Pairs>,
): Pick<Static<typeof calibrationSchema>, 'machine' | 'reviewers' | 'criteria'> {
  const all = [...byKey.values()]
  return {
    machine: agreementOf(all.flatMap(({ machine }) => machine)),
    reviewers: agreementOf(all.flatMap(({ reviewers }) => reviewers)),
    criteria: [...byKey].map(([key, { label, machine, reviewers }]) => ({
      key,
      label,
      machine: agreementOf(machine),
      reviewers: agreementOf(reviewers),
    })),
  }
}
