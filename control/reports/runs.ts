import Type from 'typebox'
import type { Context } from '../http/context.ts'
import { isProblem, missing, type Problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import { downloadAnswer } from '../http/wire/file-answer.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { CONTENT_TYPES, type Format } from './format.ts'
import { artifactSize, readArtifact } from './pieces.ts'
import type { ReportDeps } from './report.ts'
import { reportRunSchema, toReportRun } from './run-schema.ts'
import { runParams } from './schema.ts'
import type { ReportRunRow } from './tables.ts'

const api = operations('Reports', 'reports')

export function reportRunRoutes(deps: ReportDeps): Route[] {
  return [
    api.get({
      path: '/reports/:id/runs',
      id: 'listReportRuns',
      summary: "List a report's runs",
      query: listQuery,
      reply: listOf(reportRunSchema),
      handler: async (context, { params: { id }, query }) => {
        const scoped = forTenant(deps.store.db, context)
        if ((await scoped.find('reports', id)) === undefined) return missing('report', id)
        const runs = scoped.select('report_runs').selectAll().where('report_id', '=', id)
        return page(runs, query, `/v1/reports/${id}/runs`, toReportRun)
      },
    }),
    api.get({
      path: '/reports/:id/runs/:run_id',
      id: 'getReportRun',
      summary: 'Retrieve a run of a report',
      params: runParams,
      reply: reportRunSchema,
      handler: async (context, { params }) => {
        const row = await findRun(deps, context, params)
        return isProblem(row) ? row : toReportRun(row)
      },
    }),
    artifactRoute(deps, 'csv', 'getReportRunCsv'),
    artifactRoute(deps, 'pdf', 'getReportRunPdf'),
  ]
}

const artifactRoute = (deps: ReportDeps, format: Format, id: string): Route =>
  api.get({
    path: `/reports/:id/runs/:run_id/${format}`,
    id,
    summary: `Download a run as ${format.toUpperCase()}`,
    description: 'Available for 90 days after the run. `Range: bytes=…` returns a part.',
    params: runParams,
    reply: Type.String({ format: 'binary' }),
    rawType: CONTENT_TYPES[format],
    errors: [416],
    handler: async (context, { params, headers }) => {
      const row = await findRun(deps, context, params)
      if (isProblem(row)) return row
      const name = { runId: row.id, format }
      const size = row[format] === 1 ? await artifactSize(deps.store.db, context, name) : null
      if (size === null) return missing(`${format} of report_run`, row.id)
      const read = (first?: number, last?: number) => readArtifact(deps.store.db, context, name, first, last)
      return downloadAnswer({ size, read }, CONTENT_TYPES[format], headers.range)
    },
  })

async function findRun(
  { store }: ReportDeps,
  context: Context,
  { id, run_id }: { id: string; run_id: string },
): Promise<ReportRunRow | Problem> {
  const row = await forTenant(store.db, context).find('report_runs', run_id)
  if (row !== undefined && row.report_id === id) return row
  const known = (await forTenant(store.db, context).find('reports', id)) !== undefined
  return known ? { ...missing('report_run', run_id), param: 'run_id' } : missing('report', id)
}
