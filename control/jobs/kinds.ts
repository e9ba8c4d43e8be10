import type { SummaryJob } from '../callbacks/summary-job.ts'
import type { NotesJob } from '../calls/notes-job.ts'
import type { MailJob } from '../mail-payload.ts'
import type { ReportRunJob } from '../reports/job.ts'

/**
 * Every kind of job and what it carries: IDs, not rows, for what it finds when it runs may have changed. A payload is JSON and
 * outlives a release: fields are added as optional, and none changes its meaning.
 */
export interface JobPayloads {
  'callback.summary': SummaryJob
  'conference.notes': NotesJob
  mail: MailJob
  'report.run': ReportRunJob
}

export type JobKind = keyof JobPayloads & string
