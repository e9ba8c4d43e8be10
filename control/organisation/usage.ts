import { type RawBuilder, sql } from 'kysely'
import type { Engine, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'

/** What was used in a day or a month, by when it began. */
export interface Amounts {
  calls: number
  answeredCalls: number
  /** From the answers to the ends [ms]. */
  callMs: number
  sessions: number
  sessionMs: number
  streams: number
  frames: number
  recordings: number
  recordedMs: number
  callbacks: number
  copilotSessions: number
  inputTokens: number
  outputTokens: number
}

export const NOTHING: Amounts = {
  calls: 0,
  answeredCalls: 0,
  callMs: 0,
  sessions: 0,
  sessionMs: 0,
  streams: 0,
  frames: 0,
  recordings: 0,
  recordedMs: 0,
  callbacks: 0,
  copilotSessions: 0,
  inputTokens: 0,
  outputTokens: 0,
}

interface Range {
  /** ISO-8601 UTC; `to` is not in it any more. */
  from: string
  to: string
  granularity: 'day' | 'month'
}

type Measured = Partial<Record<keyof Amounts, number | string | null>> & { period: string }

/** What a tenant has used, by day (`2026-11-21`) or month (`2026-11`) of UTC; those without use are absent. */
export async function measureUsage(store: Store, tenant: Tenant, range: Range): Promise<Map<string, Amounts>> {
  const scoped = forTenant(store.db, tenant)
  const since = <T extends 'calls' | 'media_streams' | 'recordings' | 'callbacks' | 'copilot_sessions'>(table: T) =>
    (scoped.select(table) as ReturnType<typeof scoped.select<'calls'>>)
      .select(sql<string>`substr(created, 1, ${sql.lit(range.granularity === 'day' ? 10 : 7)})`.as('period'))
      .where('created', '>=', range.from)
      .where('created', '<', range.to)
      .groupBy('period')
  const total = (name: string) => sql<number>`sum(${sql.ref(name)})`
  const count = sql<number>`count(*)`
  const answered = sql<number>`count(answered_at)`
  const talked = sql<number>`sum(${lengthMs(store.engine)})`
  const all: Measured[][] = await Promise.all([
    since('calls')
      .where('kind', '=', 'party')
      .select([count.as('calls'), answered.as('answeredCalls'), talked.as('callMs')])
      .execute(),
    since('calls')
      .where('kind', '=', 'conference')
      .where('answered_at', 'is not', null)
      .select([count.as('sessions'), talked.as('sessionMs')])
      .execute(),
    since('media_streams')
      .select([count.as('streams'), total('frames_sent').as('frames')])
      .execute(),
    since('recordings')
      .select([count.as('recordings'), total('duration_ms').as('recordedMs')])
      .execute(),
    since('callbacks')
      .select([count.as('callbacks')])
      .execute(),
    since('copilot_sessions')
      .select([
        count.as('copilotSessions'),
        total('input_tokens').as('inputTokens'),
        total('output_tokens').as('outputTokens'),
      ])
      .execute(),
  ])
  const used = new Map<string, Amounts>()
  for (const { period, ...some } of all.flat()) {
    // Sums of PostgreSQL arrive as text, those of nothing as null.
    const amounts = Object.fromEntries(Object.entries(some).map(([name, value]) => [name, Number(value ?? 0)]))
    used.set(period, { ...(used.get(period) ?? NOTHING), ...amounts })
  }
  return used
}

/**
 * How long a call lasted [ms]; null unless it was answered and has ended. As measured; of calls from before that was so, by the times
 * of day, which are text: each engine has its own way.
 */
const lengthMs = (engine: Engine): RawBuilder<number> =>
  engine === 'sqlite'
    ? sql`coalesce(duration_ms, max(0, (julianday(ended_at) - julianday(answered_at)) * 86400000))`
    : sql`coalesce(duration_ms, greatest(0, extract(epoch from (ended_at::timestamptz - answered_at::timestamptz)) * 1000))`
