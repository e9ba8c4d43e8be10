import { appendEvent } from '../kernel/events/log.ts'
import type { JobAttempt, JobHandler } from '../kernel/jobs/runner.ts'
import type { SendMail } from '../kernel/mail/mail.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { writeArtifacts } from './artifacts.ts'
import { deliver, reportMail, verdict } from './deliver.ts'
import { FORMATS, type Format } from './format.ts'
import type { ReportRunJob } from './job.ts'
import { ReportTooLarge } from './pieces.ts'
import { type Delivery, toReportRun } from './run-schema.ts'
import { reportTable } from './table.ts'
import type { ReportRow, ReportRunRow } from './tables.ts'

interface ReportJobDeps {
  store: Store
  now: () => Date
  /** Null: there is no mail server. */
  sendMail: SendMail | null
}

const MAX_ATTEMPTS = 4
const BACKOFF_MS = 60_000

/** Makes a run's files and mails them. Each step is recorded, so nothing is repeated after a crash. */
export const reportRunHandler = (deps: ReportJobDeps): JobHandler<ReportRunJob> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: (job, attempt) => run(deps, job, attempt),
})

async function run(deps: ReportJobDeps, { tenant, run_id, request }: ReportRunJob, attempt: JobAttempt): Promise<void> {
  const scoped = forTenant(deps.store.db, tenant)
  const row = await scoped.find('report_runs', run_id)
  const report = row && (await scoped.find('reports', row.report_id))
  // Deleted meanwhile, or finished by a process that died before it could end the job.
  if (row === undefined || report === undefined || row.finished_at !== null) return
  let outcome: Pick<ReportRunRow, 'status' | 'error'>
  try {
    if (row.status === 'queued')
      await note(deps, tenant, row, { status: 'running', started_at: deps.now().toISOString() })
    await make(deps, tenant, report, row, attempt.signal).catch(asFailure)
    outcome = verdict(await mail(deps, tenant, { report, row }, attempt))
  } catch (error) {
    if (!attempt.isLast()) throw error
    outcome = { status: 'failed', error: error instanceof Error ? error.message : String(error) }
  }
  await deps.store.transaction(async trx => {
    await finishRun(trx, tenant, { ...row, ...outcome, finished_at: deps.now().toISOString() }, request)
    await attempt.finish(trx)
  })
}

/** Ends a run, and writes the event. */
export async function finishRun(
  trx: Trx,
  tenant: Tenant,
  row: ReportRunRow & { finished_at: string },
  request: ReportRunJob['request'],
): Promise<void> {
  const { status, error, finished_at } = row
  await forTenant(trx, tenant).change('report_runs', row.id, { status, error, finished_at })
  const type = status === 'failed' ? 'report.run.failed' : 'report.run.completed'
  await appendEvent(trx, tenant, { type, at: finished_at, object: toReportRun(row), ...(request && { request }) })
}

/** Makes the artifacts, unless an earlier attempt has made them. */
async function make(
  deps: ReportJobDeps,
  tenant: Tenant,
  report: ReportRow,
  row: ReportRunRow,
  signal: AbortSignal,
): Promise<void> {
  const formats: Format[] = FORMATS.filter(format => report[format] === 1)
  if (formats.every(format => row[format] === 1)) return
  const period = { from: row.period_from, to: row.period_to }
  const table = reportTable(deps.store.reads, tenant, report.kind, period)
  await writeArtifacts(deps.store, tenant, { runId: row.id, title: report.name, period, formats, table, signal })
  await note(deps, tenant, row, { csv: report.csv, pdf: report.pdf })
}

/** Mails the artifacts to recipients without a result yet. Throws if some are to be repeated. */
async function mail(
  deps: ReportJobDeps,
  tenant: Tenant,
  { report, row }: { report: ReportRow; row: ReportRunRow },
  { isLast, signal }: JobAttempt,
): Promise<Delivery[]> {
  const recipients: string[] = JSON.parse(row.recipients)
  const deliveries: Delivery[] = JSON.parse(row.deliveries)
  let again: string | null = null
  for (const [i, email] of recipients.entries()) {
    if (deliveries.some(delivery => delivery.email === email)) continue
    signal.throwIfAborted()
    const { temporary, ...delivery } = tenant.livemode
      ? await deliver(deps.sendMail, await reportMail(deps.store.db, tenant, { report, run: row, index: i }))
      : ({ email, status: 'suppressed', error: null, temporary: false } as const)
    if (temporary && !isLast()) {
      again = delivery.error
      continue
    }
    deliveries.push(delivery)
    await note(deps, tenant, row, { deliveries: JSON.stringify(inOrder(deliveries, recipients)) })
  }
  if (again !== null) throw new Error(again)
  return inOrder(deliveries, recipients)
}

const inOrder = (deliveries: Delivery[], recipients: string[]): Delivery[] =>
  recipients.flatMap(email => deliveries.find(delivery => delivery.email === email) ?? [])

/** Stores a finished step, in the database and in `row`. */
async function note(
  { store }: ReportJobDeps,
  tenant: Tenant,
  row: ReportRunRow,
  step: Partial<ReportRunRow>,
): Promise<void> {
  await forTenant(store.db, tenant).change('report_runs', row.id, step)
  Object.assign(row, step)
}

/** Database errors are for the log, not for readers of the run. */
function asFailure(error: Error): never {
  if (error instanceof ReportTooLarge || error.name === 'AbortError') throw error
  throw new Error('The report could not be made.', { cause: error })
}
