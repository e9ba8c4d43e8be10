import Type, { type Static } from 'typebox'
import { apiObject, idParams, input, nullable, oneOf, partialInput, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { ReportRow } from './tables.ts'

const MAX_RECIPIENTS = 20

const fields = {
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\r\\n]*\\S[^\\r\\n]*$' }),
  kind: oneOf(['calls', 'queues', 'agents', 'topics', 'summaries', 'evaluations'], {
    description:
      'One row for each call, each queue (figures of its statistics), each agent (figures of insights), each topic and reason, each summary of a call, or each criterion of each QA evaluation.',
  }),
  period: oneOf(['day', 'week', 'month'], {
    description: "A run covers the last complete period, in the organisation's time zone.",
  }),
  schedule: nullable(
    Type.String({
      maxLength: 100,
      pattern: '^[0-5]?[0-9]( [^ ]+){4}$',
      description:
        "When it runs by itself, in the organisation's time zone: cron with five fields, at most once an hour, for example `0 7 * * 1`; null: never.",
    }),
  ),
  recipients: Type.Array(Type.String({ format: 'email', maxLength: 254 }), {
    maxItems: MAX_RECIPIENTS,
    uniqueItems: true,
    description: 'Who gets the files by mail; empty: nobody, they are downloaded only.',
  }),
}
const formats = input({ csv: Type.Optional(Type.Boolean()), pdf: Type.Optional(Type.Boolean()) })

export const reportSchema = apiObject('report', {
  name: Type.String(),
  kind: fields.kind,
  period: fields.period,
  schedule: nullable(Type.String()),
  next_run_at: nullable(timestamp('Next run by schedule.')),
  formats: Type.Object({ csv: Type.Boolean(), pdf: Type.Boolean() }),
  recipients: Type.Array(Type.String()),
  created: timestamp(),
})
export type Report = Static<typeof reportSchema>

const { kind, ...changeable } = fields
export const changeBody = partialInput({ ...changeable, formats })
export const createBody = input({ ...changeBody.properties, name: fields.name, kind })
export type ChangeBody = Static<typeof changeBody>

export const runBody = input({
  period_from: Type.Optional(timestamp('With period_to; default: the last whole period.')),
  period_to: Type.Optional(timestamp()),
})

export const runParams = Type.Object({ ...idParams.properties, run_id: idParams.properties.id })

export const toReport = (row: ReportRow): Report =>
  showRow(reportSchema, row, { formats: { csv: row.csv === 1, pdf: row.pdf === 1 } })
