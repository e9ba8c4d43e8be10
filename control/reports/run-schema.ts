import Type, { type Static } from 'typebox'
import { apiObject, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { ReportRunRow } from './tables.ts'

const deliverySchema = Type.Object({
  email: Type.String(),
  status: oneOf(['sent', 'failed', 'suppressed'], { description: 'suppressed: test mode sends no mail.' }),
  error: nullable(Type.String()),
})
export type Delivery = Static<typeof deliverySchema>

/** Specification, "ReportRun". */
export const reportRunSchema = apiObject('report_run', {
  report_id: Type.String(),
  status: oneOf(['queued', 'running', 'sent', 'partially_sent', 'failed', 'completed'], {
    description: 'completed: made, and nobody was to be mailed, or it was in test mode.',
  }),
  trigger: oneOf(['manual', 'schedule']),
  period_from: timestamp(),
  period_to: timestamp('End of the period, exclusive.'),
  started_at: timestamp('While it is queued: the time of the request.'),
  finished_at: nullable(timestamp('null until it is over.')),
  error: nullable(Type.String()),
  artifacts: Type.Object(
    { csv: Type.Boolean(), pdf: Type.Boolean() },
    { description: 'Formats that can be downloaded.' },
  ),
  recipients: Type.Array(Type.String()),
  deliveries: Type.Array(deliverySchema),
})
export type ReportRun = Static<typeof reportRunSchema>

export const toReportRun = (row: ReportRunRow): ReportRun =>
  showRow(reportRunSchema, row, { artifacts: { csv: row.csv === 1, pdf: row.pdf === 1 } })
