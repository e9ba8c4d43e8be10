import Type, { type Static } from 'typebox'
import { invalid, type Problem } from '../http/errors.ts'
import { type Exists, existsIn, listReferences, referenceProblem } from '../http/references.ts'
import { input, nullable, objectName, partialInput } from '../kernel/schema.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { criterionSchema, rubricProblem } from './rubric.ts'

const disposition = input({
  key: Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'Unique in its list.' }),
  label: objectName(),
  phrases: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
    maxItems: 100,
    default: [],
    description: 'Phrases of either side that suggest it. A model also uses the label.',
  }),
})

const percent = (description: string) => Type.Integer({ minimum: 0, maximum: 100, description })
const sampling = {
  percent: percent('Share of the calls with a transcript and an agent that is evaluated automatically.'),
  min_seconds: Type.Integer({
    minimum: 0,
    maximum: 36_000,
    description: 'Shorter calls are not evaluated automatically.',
  }),
  queue_ids: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    maxItems: 1000,
    uniqueItems: true,
    description: 'Only calls of these queues, of either mode; empty: all.',
  }),
  review_percent: percent("Share of the evaluations that need a person's review."),
  review_below: nullable(
    Type.Number({ minimum: 0, maximum: 100, description: 'Evaluations with a lower score need a review too.' }),
  ),
  review_failures: Type.Boolean({ description: 'Evaluations with an automatic failure need a review too.' }),
}

/** What happens to calls after their end. */
export const qualityFields = {
  dispositions: Type.Array(disposition, { maxItems: 200, description: 'Possible outcomes of calls; agents pick one.' }),
  qa_rubric: Type.Array(criterionSchema, {
    maxItems: 200,
    description: 'What calls are evaluated against if their profile has no rubric.',
  }),
  qa_sampling: Type.Object(sampling, { description: 'Which calls are evaluated, and which evaluations are reviewed.' }),
}
export const qualityChange = {
  dispositions: Type.Optional(qualityFields.dispositions),
  qa_rubric: Type.Optional(qualityFields.qa_rubric),
  qa_sampling: Type.Optional(partialInput(sampling)),
}
const schema = Type.Object(qualityFields)
const change = Type.Object(qualityChange)
export type QualitySettings = Static<typeof schema>
export type Disposition = QualitySettings['dispositions'][number]

const DEFAULT_QUALITY: QualitySettings = {
  dispositions: [],
  qa_rubric: [],
  qa_sampling: {
    percent: 100,
    min_seconds: 20,
    queue_ids: [],
    review_percent: 0,
    review_below: null,
    review_failures: true,
  },
}

/** JSON of `organisations.quality`; missing fields have their defaults. */
export function qualityOf(json: string | null): QualitySettings {
  const stored: Static<typeof change> = json === null ? {} : JSON.parse(json)
  return { ...DEFAULT_QUALITY, ...stored, qa_sampling: { ...DEFAULT_QUALITY.qa_sampling, ...stored.qa_sampling } }
}

/** The column, as far as a change touches it. */
export function changedQuality(json: string | null, sent: Static<typeof change>): string | undefined {
  const { dispositions, qa_rubric, qa_sampling } = sent
  if (dispositions === undefined && qa_rubric === undefined && qa_sampling === undefined) return undefined
  const before = qualityOf(json)
  return JSON.stringify({
    dispositions: dispositions ?? before.dispositions,
    qa_rubric: qa_rubric ?? before.qa_rubric,
    qa_sampling: { ...before.qa_sampling, ...qa_sampling },
  })
}

/** Why these settings cannot be used, or null. */
export function qualityProblem({ dispositions = [], qa_rubric = [] }: Static<typeof change>): Problem | null {
  const twice = dispositions.findIndex(({ key }, at) => dispositions.findIndex(other => other.key === key) < at)
  if (twice >= 0) return invalid(`dispositions[${twice}].key`, 'A key is in its list twice.')
  return rubricProblem(qa_rubric, 'qa_rubric')
}

const queueExists = existsIn('queues')
const queueOfEitherMode: Exists = async (db, tenant, id) =>
  (await queueExists(db, tenant, id)) || queueExists(db, { ...tenant, livemode: !tenant.livemode }, id)

/** 400 for the first queue that the change adds and that does not exist. One that has been deleted since may stay. */
export function addedQueuesProblem(
  db: Db,
  tenant: Tenant,
  json: string | null,
  { qa_sampling: { queue_ids = [] } = {} }: Static<typeof change>,
): Promise<Problem | null> {
  const before = qualityOf(json).qa_sampling.queue_ids
  const named = listReferences('qa_sampling.queue_ids', queue_ids, 'queue', queueOfEitherMode)
  const added = named.filter((_, at) => !before.includes(queue_ids[at]!))
  return referenceProblem(db, tenant, added)
}

export async function qualityOfTenant(db: Db, { organisationId }: Tenant): Promise<QualitySettings> {
  const rows = db.selectFrom('organisations').select('quality').where('id', '=', organisationId)
  return qualityOf((await rows.executeTakeFirst())?.quality ?? null)
}
