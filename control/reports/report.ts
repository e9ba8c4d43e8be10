import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, missing, needed, type Problem } from '../http/errors.ts'
import { newId } from '../kernel/ids.ts'
import { cancel } from '../kernel/jobs/queue.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { Period } from '../quality/period.ts'
import { lastPeriod, nextRun } from './period.ts'
import { removeArtifacts } from './pieces.ts'
import type { ReportRun } from './run-schema.ts'
import { type ChangeBody, type createBody, type Report, type runBody, toReport } from './schema.ts'
import { startRun } from './start.ts'
import type { ReportRow } from './tables.ts'

export interface ReportDeps {
  store: Store
  now: () => Date
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
}

/** Maximum number of waiting runs of one report. */
const MAX_WAITING_RUNS = 20

export async function createReport(
  deps: ReportDeps,
  context: Context,
  body: Static<typeof createBody>,
): Promise<Report | Problem> {
  const blank: ReportRow = {
    id: newId('report'),
    ...ownedBy(context),
    name: body.name,
    kind: body.kind,
    period: 'day',
    csv: 1,
    pdf: 1,
    recipients: '[]',
    schedule: null,
    schedule_timezone: null,
    next_run_at: null,
    created: deps.now().toISOString(),
  }
  const { kind: _, ...change } = body
  return context.transaction(async trx => {
    const row = await changed(deps, trx, context, blank, change)
    if (isProblem(row)) return row
    await forTenant(trx, context).insert('reports', row)
    return toReport(row)
  })
}

export const changeReport = (deps: ReportDeps, context: Context, id: string, body: ChangeBody) =>
  context.transaction(async (trx): Promise<Report | Problem> => {
    const stored = await forTenant(trx, context).find('reports', id)
    if (stored === undefined) return missing('report', id)
    const row = await changed(deps, trx, context, stored, body)
    if (isProblem(row)) return row
    const { id: _id, organisation_id: _organisation, livemode: _mode, ...columns } = row
    await forTenant(trx, context).change('reports', id, columns)
    return toReport(row)
  })

/** The row with a change applied, or what is wrong with it. */
async function changed(
  deps: ReportDeps,
  trx: Trx,
  tenant: Tenant,
  row: ReportRow,
  body: ChangeBody,
): Promise<ReportRow | Problem> {
  const { csv = row.csv === 1, pdf = row.pdf === 1 } = body.formats ?? {}
  if (!csv && !pdf) return invalid('formats', 'A report needs at least one format, CSV or PDF.')
  const times = body.schedule === undefined ? {} : await scheduleColumns(deps, trx, tenant, body.schedule)
  if (isProblem(times)) return times
  return {
    ...row,
    name: body.name ?? row.name,
    period: body.period ?? row.period,
    csv: csv ? 1 : 0,
    pdf: pdf ? 1 : 0,
    recipients: body.recipients === undefined ? row.recipients : JSON.stringify(body.recipients),
    ...times,
  }
}

async function scheduleColumns(deps: ReportDeps, trx: Trx, tenant: Tenant, schedule: string | null) {
  if (schedule === null) return { schedule, schedule_timezone: null, next_run_at: null }
  const timezone = await deps.timezoneOf(trx, tenant)
  const next = readSchedule(schedule, timezone, deps.now())
  if (next === null) return invalid('schedule', 'schedule never occurs.')
  return { schedule, schedule_timezone: timezone, next_run_at: next.toISOString() }
}

function readSchedule(schedule: string, timezone: string, now: Date): Date | null {
  try {
    return nextRun(schedule, timezone, now)
  } catch {
    return null
  }
}

/** Deletes the runs of a report that is being deleted, and cancels those in progress. */
export async function deleteRuns(trx: Trx, context: Context, { id }: ReportRow): Promise<null> {
  const scoped = forTenant(trx, context)
  const rows = await scoped.select('report_runs').select(['id', 'finished_at']).where('report_id', '=', id).execute()
  for (const run of rows) {
    if (run.finished_at === null) await cancel(trx, 'report.run', run.id)
    await removeArtifacts(trx, context, run.id)
  }
  await scoped.delete('report_runs').where('report_id', '=', id).execute()
  return null
}

export async function runNow(
  deps: ReportDeps,
  context: Context,
  id: string,
  body: Static<typeof runBody>,
): Promise<ReportRun | Problem> {
  const asked = periodOf(body)
  if (isProblem(asked)) return asked
  return context.withRow('reports', 'report', id, async (trx, report) => {
    const { waiting } = await forTenant(trx, context)
      .select('report_runs')
      .select(({ fn }) => fn.countAll<number | string>().as('waiting'))
      .where('report_id', '=', id)
      .where('finished_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (Number(waiting) >= MAX_WAITING_RUNS) {
      return conflict('too_many_runs', `${waiting} runs of this report are not over yet.`)
    }
    const now = deps.now()
    const period = asked ?? lastPeriod(report.period, now, await deps.timezoneOf(trx, context))
    const request = { requestId: context.requestId, idempotencyKey: context.idempotencyKey }
    return startRun(trx, context, report, { period, trigger: 'manual', request, now })
  })
}

/** The period that the request names; null: none. */
function periodOf({ period_from: from, period_to: to }: Static<typeof runBody>): Period | Problem | null {
  if (from === undefined && to === undefined) return null
  if (from === undefined || to === undefined) {
    const param = from === undefined ? 'period_from' : 'period_to'
    return needed(param, `Missing required parameter: ${param}.`)
  }
  return Date.parse(from) < Date.parse(to)
    ? { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
    : invalid('period_to', 'period_to must be after period_from.')
}
