import Type from 'typebox'
import { isProblem } from '../../http/errors.ts'
import { CLOCK_SLACK_MS, listOf, listParameters, page } from '../../http/list.ts'
import { operations, type Route } from '../../http/route.ts'
import { idAt } from '../../kernel/ids.ts'
import { input, oneOf } from '../../kernel/schema.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { only, periodFields, periodOf } from '../period.ts'
import { correctionOf, summaryOf } from '../summary/schema.ts'
import type { CallSummaryRow } from '../tables.ts'
import { gatherInsights } from './insights.ts'
import { GROUPS, insightCallSchema, insightsSchema } from './schema.ts'

const api = operations('Quality', 'quality')

interface InsightDeps {
  store: Store
  now: () => Date
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
}

type MarkedCall = CallSummaryRow & { user_id: string | null; queue_id: string | null }

export function insightRoutes({ store, now, timezoneOf }: InsightDeps): Route[] {
  return [
    api.get({
      path: '/insights',
      id: 'getInsights',
      summary: 'Retrieve insights into the calls of a period',
      description:
        'Volumes, handling time, talk ratio, sentiment, reasons, topics, objections and what followed them, disclosures, and QA by criterion. The previous period is included.',
      query: input({
        ...periodFields,
        group_by: Type.Optional(oneOf([...GROUPS], { default: 'none' })),
        user_id: only('calls that this agent had last'),
        queue_id: only('calls that came by this queue'),
        copilot_profile_id: only('calls with this profile'),
      }),
      reply: insightsSchema,
      handler: async (context, { query }) => {
        const period = periodOf(query, now())
        if (isProblem(period)) return period
        const { group_by: by = 'none', user_id, queue_id, copilot_profile_id } = query
        const wanted = {
          ...(user_id !== undefined && { userId: user_id }),
          ...(queue_id !== undefined && { queueId: queue_id }),
          ...(copilot_profile_id !== undefined && { profileId: copilot_profile_id }),
        }
        const timezone = await timezoneOf(store.db, context)
        const insights = await gatherInsights(store.reads, context, { period, by, timezone, only: wanted })
        return { object: 'insights' as const, livemode: context.livemode, ...insights }
      },
    }),
    api.get({
      path: '/insights/calls',
      id: 'listInsightCalls',
      summary: 'List the calls behind an insight',
      description: 'Those of one topic, reason, objection, missed disclosure or forbidden phrase, newest first.',
      query: input({
        ...listParameters,
        ...periodFields,
        kind: Type.Optional(oneOf(['topic', 'reason', 'objection', 'missed_disclosure', 'forbidden_phrase'])),
        value: only('calls with this value of the kind: a word of `GET /insights`, or a key'),
      }),
      reply: listOf(insightCallSchema),
      handler: async (context, { query }) => {
        const period = periodOf(query, now())
        if (isProblem(period)) return period
        const { kind, value } = query
        let rows = forTenant(store.reads, context)
          .select('call_summaries')
          .innerJoin('calls', 'calls.id', 'call_summaries.id')
          .selectAll('call_summaries')
          .select(['calls.user_id', 'calls.queue_id'])
          .where('calls.created', '>=', period.from)
          .where('calls.created', '<', period.to)
          // IDs sort by time, so bounds on them let an old period be found in the order of the list.
          .where('call_summaries.id', '>=', idAt('call', Date.parse(period.from) - CLOCK_SLACK_MS))
          .where('call_summaries.id', '<', idAt('call', Date.parse(period.to) + CLOCK_SLACK_MS))
        if (kind !== undefined || value !== undefined) {
          let marked = forTenant(store.reads, context).select('call_marks').select('call_id')
          if (kind !== undefined) marked = marked.where('kind', '=', kind)
          if (value !== undefined) marked = marked.where('value', '=', value)
          rows = rows.where('call_summaries.id', 'in', marked)
        }
        return page(rows, query, '/v1/insights/calls', toInsightCall, 'call_summaries.id')
      },
    }),
  ]
}

function toInsightCall(row: MarkedCall) {
  const { reason, outcome, disposition } = { ...summaryOf(row), ...correctionOf(row) }
  return {
    id: row.id,
    object: 'insight_call' as const,
    livemode: row.livemode === 1,
    created: row.call_at,
    user_id: row.user_id,
    queue_id: row.queue_id,
    ...{ reason, outcome, disposition },
    sentiment: (JSON.parse(row.figures) as { sentiment: number | null }).sentiment,
  }
}
