import { newId } from '../kernel/ids.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { Period } from '../quality/period.ts'
import type { ReportRunJob } from './job.ts'
import { type ReportRun, toReportRun } from './run-schema.ts'
import type { ReportRow } from './tables.ts'

/** What a run was requested for, and by whom. */
interface RunOrder {
  period: Period
  trigger: ReportRun['trigger']
  request: ReportRunJob['request']
  now: Date
}

/** Queues a run, which a job makes after the request. */
export async function startRun(trx: Trx, tenant: Tenant, report: ReportRow, order: RunOrder): Promise<ReportRun> {
  const row = {
    id: newId('report_run'),
    report_id: report.id,
    status: 'queued' as const,
    trigger: order.trigger,
    period_from: order.period.from,
    period_to: order.period.to,
    started_at: order.now.toISOString(),
    finished_at: null,
    error: null,
    csv: 0,
    pdf: 0,
    recipients: report.recipients,
    deliveries: '[]',
  }
  await forTenant(trx, tenant).insert('report_runs', row)
  const { organisationId, livemode } = tenant
  const job = { tenant: { organisationId, livemode }, run_id: row.id, request: order.request }
  await enqueue(trx, 'report.run', job, { now: order.now, organisationId, key: row.id })
  return toReportRun({ ...row, ...ownedBy(tenant) })
}
