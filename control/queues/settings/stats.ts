import { sql } from 'kysely'
import { DateTime } from 'luxon'
import Type, { type Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { invalid, isProblem, missing, type Problem } from '../../http/errors.ts'
import { listOf, listParameters, page } from '../../http/list.ts'
import { operations, type Route } from '../../http/route.ts'
import { EVENT_STREAM } from '../../http/wire/event-stream.ts'
import { LIVE, type LiveParts, liveAnswer } from '../../http/wire/live-answer.ts'
import { input, nullable, timestamp } from '../../kernel/schema.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { beginningOf } from '../../organisation/business-hours.ts'
import type { QueueRow } from '../tables.ts'

const api = operations('Queues', 'queues')

interface QueueStatsDeps {
  store: Store
  now: () => Date
  live: LiveParts
  timezoneOf: (db: Db, tenant: Tenant) => Promise<string>
}

const MAX_DAYS = 31
export const DEFAULT_SERVICE_S = 20

const queueStatsSchema = Type.Object({
  object: Type.Literal('queue_stats'),
  livemode: Type.Boolean(),
  queue_id: Type.String(),
  name: Type.String(),
  waiting: Type.Integer({ description: 'Calls waiting now.' }),
  longest_wait_since: nullable(timestamp('Since when the longest waiting caller has waited; null: nobody is waiting.')),
  from: timestamp('Start of the time for the figures below. They count calls that have left the line since then.'),
  answered: Type.Integer(),
  abandoned: Type.Integer({ description: 'Callers who hung up.' }),
  other: Type.Integer({
    description: 'Those that overflowed, were transferred, left a voicemail or requested a callback.',
  }),
  average_wait_ms: nullable(Type.Integer({ description: 'Of the answered calls.' })),
  service_level_seconds: Type.Integer(),
  service_level_pct: nullable(
    Type.Number({
      description:
        'Share of all answered and abandoned calls that were answered within that time [%]; null: there were none.',
    }),
  ),
})
type QueueStats = Static<typeof queueStatsSchema>

const asked = {
  from: Type.Optional(timestamp(`At most ${MAX_DAYS} days ago. Default: midnight in the organisation's time zone.`)),
  service_level_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600, default: DEFAULT_SERVICE_S })),
}
const oneQuery = input(asked)
const allQuery = input({ ...listParameters, ...asked })

export function queueStatsRoutes(deps: QueueStatsDeps): Route[] {
  const { store, live } = deps
  return [
    api.get({
      streamType: EVENT_STREAM,
      path: '/queues/stats',
      id: 'listQueueStats',
      summary: 'Retrieve figures of all queues',
      description: `In the order of the list of queues. ${LIVE}`,
      query: allQuery,
      reply: listOf(queueStatsSchema),
      handler: (context, { query, headers }) =>
        liveAnswer(live, context, headers.accept, async () => {
          const period = await periodOf(deps, context, query)
          if (isProblem(period)) return period
          const queues = forTenant(store.db, context).select('queues').selectAll()
          const list = await page(queues, query, '/v1/queues/stats', row => row)
          return isProblem(list) ? list : { ...list, data: await queueStatsOf(store.db, context, list.data, period) }
        }),
    }),
    api.get({
      streamType: EVENT_STREAM,
      path: '/queues/:id/stats',
      id: 'getQueueStats',
      summary: 'Retrieve figures of a queue',
      description: LIVE,
      query: oneQuery,
      reply: queueStatsSchema,
      handler: (context, { params, query, headers }) =>
        liveAnswer(live, context, headers.accept, async () => {
          const row = await forTenant(store.db, context).find('queues', params.id)
          if (row === undefined) return missing('queue', params.id)
          const period = await periodOf(deps, context, query)
          if (isProblem(period)) return period
          const [stats] = await queueStatsOf(store.db, context, [row], period)
          return stats ?? missing('queue', params.id)
        }),
    }),
  ]
}

interface Period {
  from: string
  to?: string
  serviceS: number
}

async function periodOf(
  { store, now, timezoneOf }: QueueStatsDeps,
  context: Context,
  { from, service_level_seconds: serviceS = DEFAULT_SERVICE_S }: Static<typeof oneQuery>,
): Promise<Period | Problem> {
  const at = DateTime.fromJSDate(now())
  const begin =
    from === undefined ? beginningOf(at.setZone(await timezoneOf(store.db, context))) : DateTime.fromISO(from)
  if (begin < at.minus({ days: MAX_DAYS })) return invalid('from', `from is more than ${MAX_DAYS} days ago.`)
  return { from: begin.toJSDate().toISOString(), serviceS }
}

/** For these queues, in their order. Always three queries. */
export async function queueStatsOf(
  db: Db,
  tenant: Tenant,
  queues: readonly QueueRow[],
  period: Period,
): Promise<QueueStats[]> {
  const ids = queues.map(({ id }) => id)
  if (ids.length === 0) return []
  const lines = await waiting(db, tenant, ids)
  const left = await visits(db, tenant, ids, period)
  const { from, serviceS } = period
  return queues.map(({ id, name }): QueueStats => {
    const line = lines.find(row => row.queue_id === id)
    const of = (outcome: string) => left.find(row => row.queue_id === id && row.outcome === outcome)
    const [answered, abandoned] = [Number(of('answered')?.visits ?? 0), Number(of('abandoned')?.visits ?? 0)]
    const all = left.filter(row => row.queue_id === id).reduce((sum, row) => sum + Number(row.visits), 0)
    const served = answered + abandoned
    return {
      object: 'queue_stats',
      livemode: tenant.livemode,
      queue_id: id,
      name,
      waiting: Number(line?.waiting ?? 0),
      longest_wait_since: line?.since ?? null,
      from,
      answered,
      abandoned,
      other: all - served,
      average_wait_ms: answered === 0 ? null : Math.round(Number(of('answered')?.wait_ms ?? 0) / answered),
      service_level_seconds: serviceS,
      service_level_pct: served === 0 ? null : Math.round((Number(of('answered')?.in_time ?? 0) / served) * 1000) / 10,
    }
  })
}

const waiting = (db: Db, tenant: Tenant, ids: string[]) =>
  forTenant(db, tenant)
    .select('queue_calls')
    .select(({ fn }) => [
      'queue_id',
      fn.countAll<number | string>().as('waiting'),
      fn.min<string | null>(fn.coalesce('back_at', 'joined_at')).as('since'),
    ])
    .where('queue_id', 'in', ids)
    .groupBy('queue_id')
    .execute()

const visits = (db: Db, tenant: Tenant, ids: string[], { from, to, serviceS }: Period) =>
  forTenant(db, tenant)
    .select('queue_visits')
    .select(({ fn }) => [
      'queue_id',
      'outcome',
      fn.countAll<number | string>().as('visits'),
      fn.sum<number | string>('wait_ms').as('wait_ms'),
      sql<number | string>`sum(case when wait_ms <= ${serviceS * 1000} then 1 else 0 end)`.as('in_time'),
    ])
    .where('queue_id', 'in', ids)
    .where('left_at', '>=', from)
    .$if(to !== undefined, rows => rows.where('left_at', '<', to!))
    .groupBy(['queue_id', 'outcome'])
    .execute()
