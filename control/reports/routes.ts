import { plainOf, plainRoutes } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { changeReport, createReport, deleteRuns, type ReportDeps, runNow } from './report.ts'
import { reportRunSchema } from './run-schema.ts'
import { reportRunRoutes } from './runs.ts'
import { changeBody, createBody, reportSchema, runBody, toReport } from './schema.ts'

const api = operations('Reports', 'reports')

export function reportRoutes(deps: ReportDeps): Route[] {
  const plain = plainOf({ store: deps.store, table: 'reports', api, reply: reportSchema, toObject: toReport })
  return [
    ...plainRoutes(
      plain,
      {
        createBody,
        create: (context, body) => createReport(deps, context, body),
        changeBody,
        change: (context, id, body) => changeReport(deps, context, id, body),
        changeDescription: 'Updates the fields sent; `recipients` replaces. Runs that have begun are not affected.',
      },
      { description: 'Also deletes its runs and their files.', before: deleteRuns },
    ),
    api.post({
      path: '/reports/:id/run',
      id: 'runReport',
      summary: 'Run a report now',
      description:
        'Returns the run with status `queued`. It is made and mailed in the background; `report.run.completed` or `report.run.failed` reports the end. Test mode sends no mail. 409 with `details.reason` `too_many_runs`.',
      body: runBody,
      status: 201,
      reply: reportRunSchema,
      errors: [409],
      handler: (context, { params, body }) => runNow(deps, context, params.id, body),
    }),
    ...reportRunRoutes(deps),
  ]
}
