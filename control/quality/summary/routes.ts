import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { conflict, invalid, type Problem, problem } from '../../http/errors.ts'
import { type Exists, referenceProblem } from '../../http/references.ts'
import { operations, type Route } from '../../http/route.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { enqueue } from '../../kernel/jobs/queue.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { Models } from '../../models/choice.ts'
import { qualityOfTenant } from '../../organisation/quality.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import { readConversation } from '../analysis/conversation.ts'
import { type CallFigures, countedFigures, marksOf, saveMarks } from '../figures-row.ts'
import { modelsFor } from '../models-for.ts'
import { extractedSummary } from './extract.ts'
import { saveSummary } from './save.ts'
import {
  type CallSummary,
  type Correction,
  callSummarySchema,
  correctBody,
  correctionOf,
  summaryOf,
  toCallSummary,
} from './schema.ts'

const api = operations('Quality', 'recordings')

interface SummaryRouteDeps {
  store: Store
  now: () => Date
  userExists: Exists
  models: Models
}

export function callSummaryRoutes(deps: SummaryRouteDeps): Route[] {
  return [
    api.get({
      path: '/calls/:id/summary',
      id: 'getCallSummary',
      summary: "Retrieve a call's summary",
      description:
        'Made from the transcript after the call; `call.summary.ready` reports it. Without a model it consists of sentences that were said. 404 until then, and for a call without a transcript.',
      reply: callSummarySchema,
      handler: async (context, { params: { id } }) => {
        const row = await forTenant(deps.store.db, context).find('call_summaries', id)
        return row === undefined ? noSummary(id) : toCallSummary(row)
      },
    }),
    api.patch({
      path: '/calls/:id/summary',
      id: 'correctCallSummary',
      summary: "Correct a call's summary",
      description:
        "A person's values replace the generated ones, also if the summary is made again; `fields` merge, lists replace.",
      body: correctBody,
      reply: callSummarySchema,
      handler: (context, { params: { id }, body }) => correct(deps, context, id, body),
    }),
    api.post({
      path: '/calls/:id/summary',
      id: 'makeCallSummary',
      summary: "Make a call's summary again",
      description:
        "By rules at once. If a model is configured, it is asked too, and the summary stays as it is until it answers; `call.summary.ready` reports the new one. People's corrections stay. 409 while the call runs, and without a transcript (`not_possible`).",
      status: 201,
      errors: [409],
      reply: callSummarySchema,
      handler: (context, { params: { id } }) => makeAgain(deps, context, id),
    }),
  ]
}

function makeAgain(deps: SummaryRouteDeps, context: Context, id: string): Promise<CallSummary | Problem> {
  return context.withRow('calls', 'call', id, async (trx, call) => {
    if (call.ended_at === null) return conflict('running', 'The call has not ended.')
    const conversation = await readConversation(trx, context, id)
    if (conversation === null) return conflict('not_possible', 'The call has no transcript.')
    const { dispositions } = await qualityOfTenant(trx, context)
    const now = deps.now()
    const stored = await forTenant(trx, context).find('call_summaries', id)
    const isWritten = modelsFor(deps.models, context, conversation).length > 0
    const row =
      isWritten && stored !== undefined
        ? stored
        : await saveSummary(trx, context, conversation, extractedSummary(conversation, dispositions), now)
    if (row === null) return conflict('not_possible', 'The call has no transcript.')
    const object = toCallSummary(row)
    const { organisationId, livemode } = context
    if (isWritten) {
      const job = { tenant: { organisationId, livemode }, call_id: id, only: 'summary' } as const
      await enqueue(trx, 'call.review', job, { now, organisationId, key: `summary ${id}` })
    } else {
      const at = now.toISOString()
      await appendEvent(trx, context, { type: 'call.summary.ready', at, object, callId: id })
    }
    return object
  })
}

const noSummary = (id: string): Problem =>
  problem('resource_missing', `The call has no summary: ${id}`, { param: 'id' })

function correct(
  deps: SummaryRouteDeps,
  context: Context,
  id: string,
  { user_id: userId, ...sent }: Static<typeof correctBody>,
): Promise<CallSummary | Problem> {
  return context.transaction(async trx => {
    const scoped = forTenant(trx, context)
    const row = await scoped.find('call_summaries', id)
    if (row === undefined) return noSummary(id)
    const refused = await refusal(deps, trx, context, sent, userId)
    if (refused !== null) return refused
    const before = correctionOf(row)
    const kept = await withoutSecrets(trx, context, sent)
    const corrected: Correction = { ...before, ...kept }
    if (kept.fields !== undefined) corrected.fields = { ...toCallSummary(row).fields, ...kept.fields }
    const at = deps.now().toISOString()
    const shown = { ...summaryOf(row), ...corrected }
    const figures = JSON.parse(row.figures) as CallFigures
    const change = {
      corrected: JSON.stringify(corrected),
      counted: JSON.stringify(countedFigures(shown, figures)),
      corrected_at: at,
      corrected_by: userId ?? null,
      updated: at,
    }
    await scoped.change('call_summaries', id, change)
    await saveMarks(trx, context, id, marksOf(shown, figures))
    const object = toCallSummary({ ...row, ...change })
    const told = { object, before: toCallSummary(row) }
    await appendEvent(trx, context, { type: 'call.summary.corrected', at, ...told, callId: id })
    return object
  })
}

async function refusal(
  { userExists }: SummaryRouteDeps,
  trx: Trx,
  context: Context,
  { disposition }: Correction,
  userId: string | undefined,
): Promise<Problem | null> {
  if (typeof disposition === 'string') {
    const { dispositions } = await qualityOfTenant(trx, context)
    if (!dispositions.some(({ key }) => key === disposition)) {
      return invalid('disposition', `The organisation has no disposition ${disposition}.`)
    }
  }
  return referenceProblem(trx, context, [{ param: 'user_id', id: userId, kind: 'user', exists: userExists }])
}

/** Text that a person types is redacted by the same rules as speech. */
async function withoutSecrets(trx: Trx, context: Context, sent: Correction): Promise<Correction> {
  const redact = await redactorOf(trx, context)
  return JSON.parse(JSON.stringify(sent), (_, value) => (typeof value === 'string' ? redact(value) : value))
}
