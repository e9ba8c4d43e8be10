import { listRoute, type Plain, retrieveRoute } from '../http/plain-resource.ts'
import { type Route, route } from '../http/route.ts'
import { deletedObject } from '../kernel/schema.ts'
import { changeReport, createReport, deleteReport, type ReportDeps, runNow } from './report.ts'
import { reportRunSchema } from './run-schema.ts'
import { reportRunRoutes } from './runs.ts'
import { changeBody, createBody, reportSchema, runBody, toReport } from './schema.ts'

const common = { tag: 'Reports', reply: reportSchema } as const

export function reportRoutes(deps: ReportDeps): Route[] {
  const plain: Plain<'reports', typeof reportSchema> = {
    store: deps.store,
    table: 'reports',
    object: 'report',
    path: '/reports',
    area: 'reports',
    tag: common.tag,
    reply: reportSchema,
    toObject: toReport,
  }
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
      errors: [409],
      handler: (context, { body }) => createReport(deps, context, body),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    route({
      ...common,
      method: 'PATCH',
      path: '/reports/:id',
      id: 'updateReport',
      summary: 'Change a report',
      description: 'Updates the fields sent; `recipients` replaces. Runs that have begun are not affected.',
      scope: 'reports:write',
      body: changeBody,
      handler: (context, { params, body }) => changeReport(deps, context, params.id, body),
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/reports/:id',
      id: 'deleteReport',
      summary: 'Delete a report',
      description: 'Also deletes its runs and their files.',
      scope: 'reports:write',
      reply: deletedObject('report'),
      errors: [409],
      handler: (context, { params }) => deleteReport(context, params.id),
    }),
    route({
      ...common,
      method: 'POST',
      path: '/reports/:id/run',
      id: 'runReport',
      summary: 'Run a report now',
      description:
        'Returns the run with status `queued`. It is made and mailed in the background; `report.run.completed` or `report.run.failed` reports the end. Test mode sends no mail. 409 with `details.reason` `too_many_runs`.',
      scope: 'reports:write',
      body: runBody,
      status: 201,
      reply: reportRunSchema,
      errors: [409],
      handler: (context, { params, body }) => runNow(deps, context, params.id, body),
    }),
    ...reportRunRoutes(deps),
  ]
}
