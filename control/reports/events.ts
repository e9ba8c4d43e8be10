import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type ReportRun, reportRunSchema } from './run-schema.ts'

const reportRun: ReportRun = {
  id: 'rptrun_01k9000000000000000000001b',
  object: 'report_run',
  livemode: false,
  report_id: 'rpt_01k9000000000000000000001c',
  status: 'sent',
  trigger: 'manual',
  period_from: '2026-10-31T00:00:00.000Z',
  period_to: '2026-11-01T00:00:00.000Z',
  started_at: CREATED,
  finished_at: '2026-11-01T09:00:02.000Z',
  error: null,
  artifacts: { csv: true, pdf: true },
  recipients: ['ann@example.com'],
  deliveries: [{ email: 'ann@example.com', status: 'sent', error: null }],
}

const REFUSED = '550 No such mailbox'

export const reportEvents = {
  'report.run.completed': of(reportRunSchema, reportRun),
  'report.run.failed': of(reportRunSchema, {
    ...reportRun,
    status: 'failed',
    error: REFUSED,
    deliveries: [{ email: 'ann@example.com', status: 'failed', error: REFUSED }],
  }),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof reportEvents, true> {}
}
