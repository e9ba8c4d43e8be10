import type { TenantColumns } from '../kernel/store/tenant-columns.ts'

declare module '../kernel/store/tables.ts' {
  interface Database {
    reports: ReportRow
    report_runs: ReportRunRow
    report_artifacts: ReportArtifactTable
  }
}

export interface ReportRow extends TenantColumns {
  id: string
  name: string
  kind: 'calls' | 'queues' | 'agents' | 'topics' | 'summaries' | 'evaluations'
  period: 'day' | 'week' | 'month'
  csv: number
  pdf: number
  /** JSON list of e-mail addresses. */
  recipients: string
  /** Cron with five fields; null: it runs on request only. */
  schedule: string | null
  /** The organisation's time zone when `next_run_at` was set. */
  schedule_timezone: string | null
  next_run_at: string | null
  created: string
}

export interface ReportRunRow extends TenantColumns {
  id: string
  report_id: string
  status: 'queued' | 'running' | 'sent' | 'partially_sent' | 'failed' | 'completed'
  trigger: 'manual' | 'schedule'
  period_from: string
  period_to: string
  started_at: string
  finished_at: string | null
  error: string | null
  /** Whether its pieces are all in `report_artifacts`; `pdf` alike. */
  csv: number
  pdf: number
  recipients: string
  /** JSON list of recipients whose result is known. */
  deliveries: string
}

/** A piece of the file that a run has made. */
interface ReportArtifactTable extends TenantColumns {
  run_id: string
  format: 'csv' | 'pdf'
  /** From 0. */
  position: number
  size_bytes: number
  /** Base64. */
  content: string
}
