import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { type Problem, problem } from '../../http/errors.ts'
import { type Exists, referenceProblem } from '../../http/references.ts'
import { type Route, route } from '../../http/route.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { idParams } from '../../kernel/schema.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import { qualityOfTenant } from '../../organisation/quality.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import {
  type CallSummary,
  type Correction,
  callSummarySchema,
  correctBody,
  correctionOf,
  toCallSummary,
} from './schema.ts'

export interface SummaryRouteDeps {
  store: Store
  now: () => Date
  userExists: Exists
}

const common = {
  tag: 'Quality',
  status: 200,
  params: idParams,
  reply: callSummarySchema,
  errors: [404] as number[],
} as const

export function callSummaryRoutes(deps: SummaryRouteDeps): Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/calls/:id/summary',
      id: 'getCallSummary',
      summary: "Retrieve a call's summary",
      description:
        'Made when the call is over, of what was written down; `call.summary.ready` tells of it. Without a model it is made of sentences that were said. 404 until then, and for a call without a transcript.',
      scope: 'recordings:read',
      handler: async (context, { params: { id } }) => {
        const row = await forTenant(deps.store.db, context).find('call_summaries', id)
        return row === undefined ? noSummary(id) : toCallSummary(row)
      },
    }),
    route({
      ...common,
      method: 'PATCH',
      path: '/calls/:id/summary',
      id: 'correctCallSummary',
      summary: "Correct a call's summary",
      description:
        'What a person sends takes the place of what was made, also when it is made again; `fields` merge, lists replace.',
      scope: 'recordings:write',
      body: correctBody,
      handler: (context, { params: { id }, body }) => correct(deps, context, id, body),
    }),
  ]
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
    const change = {
      corrected: JSON.stringify(corrected),
      corrected_at: at,
      corrected_by: userId ?? null,
      updated: at,
    }
    await scoped.update('call_summaries').set(change).where('id', '=', id).execute()
    const object = toCallSummary({ ...row, ...change })
    await appendEvent(trx, context, { type: 'call.summary.corrected', at, object, callId: id, request: context })
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
      const message = `The organisation has no disposition ${disposition}.`
      return problem('parameter_invalid', message, { param: 'disposition' })
    }
  }
  return referenceProblem(trx, context, [{ param: 'user_id', id: userId, kind: 'user', exists: userExists }])
}

/** What a person types is kept by the same rules as what was said. */
async function withoutSecrets(trx: Trx, context: Context, sent: Correction): Promise<Correction> {
  const redact = await redactorOf(trx, context)
  return JSON.parse(JSON.stringify(sent), (_, value) => (typeof value === 'string' ? redact(value) : value))
}
