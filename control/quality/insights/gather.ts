import { DateTime } from 'luxon'
import { durationOf } from '../../calls/duration.ts'
import type { CallRow } from '../../calls/tables.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { type CallFigures, type CountedFigures, countedFigures } from '../figures-row.ts'
import type { Period } from '../period.ts'
import { correctionOf, summaryOf } from '../summary/schema.ts'
import type { GroupBy } from './schema.ts'
import type { Counted } from './tally.ts'

/** Restricts which calls are counted. */
export interface Only {
  userId?: string
  queueId?: string
  profileId?: string
}

/** Calls per query. Other work runs between two pages, since SQLite blocks the process during a query. */
const PAGE_ROWS = 250

interface CountedCall extends Counted {
  call: Pick<CallRow, 'id' | 'created' | 'user_id' | 'queue_id'>
}

type Page = Awaited<ReturnType<typeof pageAfter>>

/** Every call of the period with its results, a page at a time. */
export async function* callsOf(db: Db, tenant: Tenant, period: Period, only: Only = {}): AsyncGenerator<CountedCall> {
  let last = { created: period.from, id: '' }
  for (;;) {
    const calls = await pageAfter(db, tenant, last, period.to, only)
    for (const call of calls) {
      const counted = await countedOf(db, tenant, call)
      if (only.profileId === undefined || counted.figures?.profile_id === only.profileId) yield { call, ...counted }
    }
    if (calls.length < PAGE_ROWS) return
    last = calls.at(-1) ?? last
    await new Promise(setImmediate)
  }
}

/** The same query text for every page, so that it is prepared only once. */
function pageAfter(db: Db, tenant: Tenant, last: { created: string; id: string }, to: string, only: Only) {
  let rows = forTenant(db, tenant)
    .select('calls')
    .leftJoin('call_summaries as s', 's.id', 'calls.id')
    .leftJoin('qa_evaluations as q', 'q.call_id', 'calls.id')
    .select(['calls.id', 'calls.created', 'calls.user_id', 'calls.queue_id', 'calls.duration_ms'])
    .select(['calls.answered_at', 'calls.ended_at', 's.id as summary_id', 's.counted', 'q.score', 'q.criteria'])
    .where('calls.kind', '=', 'party')
    .where('calls.created', '>=', last.created)
    .where('calls.created', '<', to)
    .where(eb => eb.or([eb('calls.created', '>', last.created), eb('calls.id', '>', last.id)]))
  if (only.userId !== undefined) rows = rows.where('calls.user_id', '=', only.userId)
  if (only.queueId !== undefined) rows = rows.where('calls.queue_id', '=', only.queueId)
  return rows.orderBy('calls.created').orderBy('calls.id').limit(PAGE_ROWS).execute()
}

async function countedOf(db: Db, tenant: Tenant, call: Page[number]): Promise<Counted> {
  const { criteria, score } = call
  return {
    atMs: Date.parse(call.created),
    answered: call.answered_at !== null,
    handlingMs: call.answered_at === null || call.ended_at === null ? null : durationOf(call, call.ended_at),
    figures: call.summary_id === null ? null : await figuresOf(db, tenant, call.id, call.counted),
    evaluation: criteria === null ? null : { score, criteria: JSON.parse(criteria) },
  }
}

async function figuresOf(db: Db, tenant: Tenant, id: string, stored: string | null): Promise<CountedFigures | null> {
  if (stored !== null) return JSON.parse(stored)
  const row = await forTenant(db, tenant).find('call_summaries', id)
  if (row === undefined) return null
  return countedFigures({ ...summaryOf(row), ...correctionOf(row) }, JSON.parse(row.figures) as CallFigures)
}

/** What one or several calls can be grouped by. */
export interface Dimensions {
  userId: string | null
  queueId: string | null
  profileId: string | null
  /** In the organisation's time zone. */
  day: string
}

export const dimensionsOf = ({ call, figures }: CountedCall, dayOf: (created: string) => string): Dimensions => ({
  userId: call.user_id,
  queueId: call.queue_id,
  profileId: figures?.profile_id ?? null,
  day: dayOf(call.created),
})

/** Returns a function from a time to the local day. Cached by quarter of an hour, since days begin at one in every time zone. */
export function daysBy(timezone: string): (created: string) => string {
  const known = new Map<string, string>()
  return created => {
    const quarter = `${created.slice(0, 14)}${Math.floor(Number(created.slice(14, 16)) / 15)}`
    const day = known.get(quarter) ?? DateTime.fromISO(created, { zone: timezone }).toISODate() ?? ''
    known.set(quarter, day)
    return day
  }
}

/** Returns a function to the group of a call; null: it is in none. */
export async function grouping(db: Db, tenant: Tenant, by: GroupBy): Promise<(of: Dimensions) => string | null> {
  switch (by) {
    case 'agent':
      return ({ userId }) => userId
    case 'queue':
      return ({ queueId }) => queueId
    case 'profile':
      return ({ profileId }) => profileId
    case 'day':
      return ({ day }) => day
    case 'team': {
      const users = await forTenant(db, tenant).select('users').select(['id', 'team_id']).execute()
      const teams = new Map(users.map(({ id, team_id }) => [id, team_id]))
      return ({ userId }) => (userId === null ? null : (teams.get(userId) ?? null))
    }
    default:
      return () => null
  }
}

const TABLES = { agent: 'users', queue: 'queues', team: 'teams', profile: 'copilot_profiles' } as const

/** Names of the groups; for deleted ones, their IDs. */
export async function labelsOf(db: Db, tenant: Tenant, by: GroupBy): Promise<Map<string, string>> {
  const table = TABLES[by as keyof typeof TABLES]
  if (table === undefined) return new Map()
  const rows = await forTenant(db, tenant).select(table).select(['id', 'name']).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}
