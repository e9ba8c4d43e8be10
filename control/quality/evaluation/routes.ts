import Type from 'typebox'
import type { Context } from '../../http/context.ts'
import { conflict, type Problem } from '../../http/errors.ts'
import { listOf, listParameters, page, timeRange, within } from '../../http/list.ts'
import { plainOf, retrieveRoute } from '../../http/plain-resource.ts'
import { operations, type Route } from '../../http/route.ts'
import { input, oneOf } from '../../kernel/schema.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { Models } from '../../models/choice.ts'
import { qualityOfTenant } from '../../organisation/quality.ts'
import { readConversation } from '../analysis/conversation.ts'
import { modelsFor } from '../models-for.ts'
import { only } from '../period.ts'
import { calibrationRoute } from './calibration.ts'
import { addReview, changeEvaluation, type EvaluationDeps } from './change.ts'
import { evaluate } from './evaluate.ts'
import { changeBody, type QaEvaluation, qaEvaluationSchema, reviewBody, toQaEvaluation } from './schema.ts'

const api = operations('Quality', 'quality')

interface EvaluationRouteDeps extends EvaluationDeps {
  models: Models
}

const listQuery = input({
  ...listParameters,
  call_id: only('of this call'),
  user_id: only('of this agent'),
  queue_id: only('of calls that came by this queue'),
  copilot_profile_id: only('of calls with this profile'),
  status: Type.Optional(oneOf(['pending', 'scored', 'needs_model'])),
  review: Type.Optional(oneOf(['none', 'wanted', 'done'])),
  call_created: timeRange('evaluations of calls created', 'call_created'),
})

export function evaluationRoutes(deps: EvaluationRouteDeps): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'qa_evaluations',
    api,
    reply: qaEvaluationSchema,
    toObject: toQaEvaluation,
  })
  return [
    api.get({
      path: '/qa_evaluations',
      id: 'listQaEvaluations',
      summary: 'List QA evaluations',
      query: listQuery,
      reply: listOf(qaEvaluationSchema),
      handler: (context, { query }) => {
        const { call_id, user_id, queue_id, copilot_profile_id: profile_id, status, review } = query
        let rows = forTenant(deps.store.reads, context).select('qa_evaluations').selectAll()
        for (const [column, value] of Object.entries({ call_id, user_id, queue_id, profile_id, status, review })) {
          if (value !== undefined) rows = rows.where(column as 'call_id', '=', value)
        }
        const found = within(rows, { column: 'call_at', range: query.call_created })
        return page(found, query, '/v1/qa_evaluations', toQaEvaluation)
      },
    }),
    retrieveRoute(plain),
    api.patch({
      path: '/qa_evaluations/:id',
      id: 'updateQaEvaluation',
      summary: 'Change a QA evaluation',
      description:
        "A person's decision overrides the machine's, also if the call is evaluated again; `history` keeps the former values. Requires a reason.",
      body: changeBody,
      reply: qaEvaluationSchema,
      handler: (context, { params, body }) => changeEvaluation(deps, context, params.id, body),
    }),
    api.post({
      path: '/qa_evaluations/:id/reviews',
      id: 'reviewQaEvaluation',
      summary: 'Review an evaluation',
      description: 'For calibration: it changes no score. `GET /qa_calibration` reports the agreement.',
      body: reviewBody,
      reply: qaEvaluationSchema,
      handler: (context, { params, body }) => addReview(deps, context, params.id, body),
    }),
    api.post({
      path: '/calls/:id/qa',
      id: 'evaluateCall',
      summary: 'Evaluate a call',
      description:
        "By its profile's rubric, else the organisation's, also outside the sample. People's decisions stay. 409 while the call runs, without a transcript (`not_possible`), and without a rubric (`no_rubric`).",
      status: 201,
      errors: [409],
      reply: qaEvaluationSchema,
      handler: (context, { params }) => evaluateNow(deps, context, params.id),
    }),
    calibrationRoute(deps),
  ]
}

function evaluateNow(deps: EvaluationRouteDeps, context: Context, callId: string): Promise<QaEvaluation | Problem> {
  return context.withRow('calls', 'call', callId, async (trx, call) => {
    if (call.ended_at === null) return conflict('running', 'The call has not ended.')
    const conversation = await readConversation(trx, context, callId)
    if (conversation === null) return conflict('not_possible', 'The call has no transcript.')
    const settings = await qualityOfTenant(trx, context)
    const models = modelsFor(deps.models, context, conversation)
    const options = { settings, models, at: deps.now().toISOString() }
    const row = await evaluate(trx, context, conversation, options)
    return row === null
      ? conflict('no_rubric', 'Neither its profile nor the organisation has a rubric.')
      : toQaEvaluation(row)
  })
}
