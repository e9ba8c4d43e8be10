import type { Tenant } from '../kernel/tenancy.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'report.run': ReportRunJob
  }
}

/** Payload of a job of kind `report.run`. */
export interface ReportRunJob {
  tenant: Tenant
  run_id: string
  /** The API request that started it; null: the schedule did. */
  request: { requestId: string; idempotencyKey: string | null } | null
}
