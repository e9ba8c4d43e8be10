import Type, { type Static } from 'typebox'
import type { ReportRow, ReportRunRow } from '../content/tables.ts'
import { appendEvent } from '../events/log.ts'
import type { Context } from '../http/context.ts'
import { missing, type Problem, problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { type Route, route } from '../http/route.ts'
import { idParams, input, oneOf, timestamp } from '../http/schema.ts'
import { newId } from '../ids.ts'
import type { SendMail } from '../mail.ts'
import { lastPeriod, runReport } from '../reports/run.ts'
import type { Period } from '../reports/table.ts'
import { type ReportRun, reportRunSchema, toReportRun } from '../schemas/report-run.ts'
import type { Db, Store } from '../store.ts'
import { forTenant, type Tenant } from '../tenancy.ts'

export interface ReportDeps {
  store: Store
  now: () => Date
  /** Null: there is no mail server. */
  sendMail: SendMail | null
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
}

const MAX_RECIPIENTS = 20

const fields = {
  kind: oneOf(['calls', 'queues'], { description: 'calls: one row a call; queues: one row a queue.' }),
  period: oneOf(['day', 'week', 'month'], {
    description: "A run shows the last whole one, by the organisation's clock.",
  }),
  recipients: Type.Array(Type.String({ format: 'email', maxLength: 254 }), {
    minItems: 1,
    maxItems: MAX_RECIPIENTS,
    uniqueItems: true,
  }),
}

const reportSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('report'),
  livemode: Type.Boolean(),
  name: Type.String(),
  kind: fields.kind,
  period: fields.period,
  formats: Type.Object({ csv: Type.Boolean(), pdf: Type.Boolean() }),
  recipients: Type.Array(Type.String()),
  created: timestamp(),
})
type Report = Static<typeof reportSchema>

const createBody = input({
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\r\\n]*$' }),
  kind: fields.kind,
  period: Type.Optional(fields.period),
  formats: Type.Optional(input({ csv: Type.Optional(Type.Boolean()), pdf: Type.Optional(Type.Boolean()) })),
  recipients: fields.recipients,
})

const runBody = input({
  period_from: Type.Optional(timestamp('With period_to; default: the last whole period.')),
  period_to: Type.Optional(timestamp()),
})

const common = { tag: 'Reports', status: 200 } as const

export function reportRoutes(deps: ReportDeps): Route[] {
  const { store } = deps
  return [
    route({
      ...common,
      method: 'POST',
      path: '/reports',
      id: 'createReport',
      summary: 'Create a report',
      scope: 'reports:write',
      body: createBody,
      status: 201,
      reply: reportSchema,
      errors: [409],
      handler: (context, { body }) => createReport(deps, context, body),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/reports',
      id: 'listReports',
      summary: 'List reports',
      scope: 'reports:read',
      query: listQuery,
      reply: listOf(reportSchema),
      handler: (context, { query }) =>
        page(forTenant(store.db, context).select('reports').selectAll(), query, '/v1/reports', toReport),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/reports/:id',
      id: 'getReport',
      summary: 'Retrieve a report',
      scope: 'reports:read',
      params: idParams,
      reply: reportSchema,
      errors: [404],
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('reports', params.id)
        return row === undefined ? missing('report', params.id) : toReport(row)
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/reports/:id/run',
      id: 'runReport',
      summary: 'Run a report now',
      description: 'Makes it and mails it to its recipients; what fails is told in the run. Test mode mails nobody.',
      scope: 'reports:write',
      params: idParams,
      body: runBody,
      status: 201,
      reply: reportRunSchema,
      errors: [404, 409],
      handler: (context, { params, body }) => run(deps, context, params.id, body),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/reports/:id/runs',
      id: 'listReportRuns',
      summary: "List a report's runs",
      scope: 'reports:read',
      params: idParams,
      query: listQuery,
      reply: listOf(reportRunSchema),
      errors: [404],
      handler: async (context, { params: { id }, query }) => {
        const scoped = forTenant(store.db, context)
        if ((await scoped.find('reports', id)) === undefined) return missing('report', id)
        const runs = scoped.select('report_runs').selectAll().where('report_id', '=', id)
        return page(runs, query, `/v1/reports/${id}/runs`, toReportRun)
      },
    }),
  ]
}

async function createReport(
  { store, now }: ReportDeps,
  context: Context,
  body: Static<typeof createBody>,
): Promise<Report | Problem> {
  const formats = { csv: true, pdf: true, ...body.formats }
  if (!formats.csv && !formats.pdf) {
    return problem('parameter_invalid', 'A report is made as CSV, as PDF or as both.', { param: 'formats' })
  }
  const row = {
    id: newId('report'),
    name: body.name,
    kind: body.kind,
    period: body.period ?? 'day',
    csv: formats.csv ? 1 : 0,
    pdf: formats.pdf ? 1 : 0,
    recipients: JSON.stringify(body.recipients),
    created: now().toISOString(),
  }
  await forTenant(store.db, context).insert('reports', row)
  return toReport({ ...row, organisation_id: context.organisationId, livemode: context.livemode ? 1 : 0 })
}

/** The run is written when it is over: a process that dies in between leaves none, and the same request runs it again. */
async function run(
  deps: ReportDeps,
  context: Context,
  id: string,
  body: Static<typeof runBody>,
): Promise<ReportRun | Problem> {
  const { store, now } = deps
  const report = await forTenant(store.db, context).find('reports', id)
  if (report === undefined) return missing('report', id)
  const startedAt = now()
  const period = periodOf(body) ?? lastPeriod(report.period, startedAt, await deps.timezoneOf(store.db, context))
  if ('problem' in period) return period
  const outcome = await runReport(store.db, context, report, period, deps.sendMail)
  const row: ReportRunRow = {
    id: newId('report_run'),
    organisation_id: context.organisationId,
    livemode: context.livemode ? 1 : 0,
    report_id: id,
    status: outcome.status,
    trigger: 'manual',
    period_from: period.from,
    period_to: period.to,
    started_at: startedAt.toISOString(),
    finished_at: now().toISOString(),
    error: outcome.error,
    csv: outcome.artifacts.csv ? 1 : 0,
    pdf: outcome.artifacts.pdf ? 1 : 0,
    recipients: report.recipients,
    deliveries: JSON.stringify(outcome.deliveries),
  }
  const result = toReportRun(row)
  await store.transaction(async trx => {
    await forTenant(trx, context).insert('report_runs', row)
    const type = row.status === 'failed' ? 'report.run.failed' : 'report.run.completed'
    await appendEvent(trx, context, { type, at: row.finished_at, object: result, request: context })
  })
  return result
}

/** The period that the request names; null: none. */
function periodOf({ period_from: from, period_to: to }: Static<typeof runBody>): Period | Problem | null {
  if (from === undefined && to === undefined) return null
  if (from === undefined || to === undefined) {
    const param = from === undefined ? 'period_from' : 'period_to'
    return problem('parameter_missing', `Missing required parameter: ${param}.`, { param })
  }
  return Date.parse(from) < Date.parse(to)
    ? { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
    : problem('parameter_invalid', 'period_to must be after period_from.', { param: 'period_to' })
}

const toReport = (row: ReportRow): Report => ({
  id: row.id,
  object: 'report',
  livemode: row.livemode === 1,
  name: row.name,
  kind: row.kind,
  period: row.period,
  formats: { csv: row.csv === 1, pdf: row.pdf === 1 },
  recipients: JSON.parse(row.recipients),
  created: row.created,
})
