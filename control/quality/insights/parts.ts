import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { Period } from '../period.ts'
import { callsOf, type Dimensions, daysBy, dimensionsOf, type Only } from './gather.ts'
import type { GroupBy } from './schema.ts'
import type { Counted, PackedTally, Tally } from './tally.ts'
import type { PackedThemes, Themes } from './themes.ts'

/** One call, or the stored figures of a day's calls: of all, or of those with the same agent, queue and profile. */
type Part = Dimensions & {
  /** Whether it counts in the total, in its group, or both. */
  inTotal: boolean
  inGroup: boolean
} & ({ call: Counted } | { tally: PackedTally; themes: PackedThemes | null })

interface Wanted {
  timezone: string
  by: GroupBy
  only: Only
}

/** Stands for all agents, queues and profiles. */
export const ALL = '*'

/** Days read per query, so that other work can run in between. Filtered days need more reading. */
const DAYS_AT_ONCE = 5
const FILTERED_DAYS_AT_ONCE = 1
const DAY_MS = 86_400_000
export const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const startOfDay = (day: string): string => `${day}T00:00:00.000Z`

export function addTo(tally: Tally, part: Part): void {
  if ('call' in part) tally.add(part.call)
  else tally.addPacked(part.tally)
}

export function addThemes(themes: Themes, part: Part): void {
  if ('call' in part) themes.add(part.call)
  else if (part.themes !== null) themes.addPacked(part.themes)
}

/** All calls of a period: the stored figures of whole days, otherwise the calls themselves. */
export async function* partsOf(db: Db, tenant: Tenant, { from, to }: Period, wanted: Wanted): AsyncGenerator<Part> {
  const days = wholeDays(from, to)
  const first = days[0] === undefined ? to : startOfDay(days[0])
  if (from < first) yield* counted(db, tenant, { from, to: first }, wanted)
  const atOnce = isFiltered(wanted.only) ? FILTERED_DAYS_AT_ONCE : DAYS_AT_ONCE
  for (let i = 0; i < days.length; i += atOnce) {
    const some = days.slice(i, i + atOnce)
    const kept = await keptOf(db, tenant, some, wanted)
    for (const day of some) yield* kept.get(day) ?? counted(db, tenant, periodOfDay(day), wanted)
    await new Promise(setImmediate)
  }
  const end = days.length === 0 ? to : periodOfDay(days.at(-1)!).to
  if (end < to) yield* counted(db, tenant, { from: end, to }, wanted)
}

/** The whole UTC days within a period. */
function wholeDays(from: string, to: string): string[] {
  const days: string[] = []
  const start = Math.ceil(Date.parse(from) / DAY_MS) * DAY_MS
  for (let at = start; at + DAY_MS <= Date.parse(to); at += DAY_MS) days.push(dayAt(at))
  return days
}

export const periodOfDay = (day: string): Period => ({
  from: startOfDay(day),
  to: startOfDay(dayAt(Date.parse(day) + DAY_MS)),
})

async function* counted(db: Db, tenant: Tenant, period: Period, { timezone, only }: Wanted): AsyncGenerator<Part> {
  const dayOf = daysBy(timezone)
  for await (const call of callsOf(db, tenant, period, only)) {
    yield { ...dimensionsOf(call, dayOf), inTotal: true, inGroup: true, call }
  }
}

/** Stored figures by day. A day that changes while it is read is left out. */
async function keptOf(db: Db, tenant: Tenant, days: readonly string[], wanted: Wanted): Promise<Map<string, Part[]>> {
  const before = await versionsOf(db, tenant, days, wanted)
  if (before.size === 0) return new Map()
  const kept = new Map<string, Part[]>([...before.keys()].map(day => [day, []]))
  const known = [...before.keys()]
  for (const { day, part } of [
    ...(await wholeOf(db, tenant, known, wanted)),
    ...(await eachOf(db, tenant, known, wanted)),
  ]) {
    kept.get(day)?.push(part)
  }
  const after = await versionsOf(db, tenant, days, wanted)
  return new Map([...kept].filter(([day]) => before.get(day) === after.get(day)))
}

async function versionsOf(
  db: Db,
  tenant: Tenant,
  days: readonly string[],
  { by, timezone }: Wanted,
): Promise<Map<string, number>> {
  let rows = forTenant(db, tenant).select('insight_days').select(['day', 'version'])
  rows = rows.where('day', 'in', days).where('built', 'is not', null)
  if (by === 'day') rows = rows.where('timezone', '=', timezone)
  return new Map((await rows.execute()).map(({ day, version }) => [day, version]))
}

interface KeptPart {
  day: string
  part: Part
}

/** Figures of all calls of each day, which is little to read. Empty if only some calls are wanted. */
async function wholeOf(db: Db, tenant: Tenant, days: readonly string[], { by, only }: Wanted): Promise<KeptPart[]> {
  if (isFiltered(only)) return []
  const rows = forTenant(db, tenant).select('insight_tallies').selectAll().where('day', 'in', days)
  const parts: KeptPart[] = []
  for (const row of await rows.where('user_id', '=', ALL).execute()) {
    const of = { userId: null, queueId: null, profileId: null, day: row.local_day }
    const counts = { inTotal: true, inGroup: by === 'day' }
    parts.push({
      day: row.day,
      part: { ...of, ...counts, tally: JSON.parse(row.tally), themes: JSON.parse(row.themes) },
    })
  }
  return parts
}

/** Figures by agent, queue and profile, if these are wanted or grouped by. */
async function eachOf(db: Db, tenant: Tenant, days: readonly string[], { by, only }: Wanted): Promise<KeptPart[]> {
  const inTotal = isFiltered(only)
  if (!inTotal && (by === 'none' || by === 'day')) return []
  let query = forTenant(db, tenant)
    .select('insight_tallies')
    .select(['day', 'local_day', 'user_id', 'queue_id', 'profile_id', 'tally'])
    .$if(inTotal, of => of.select('themes'))
    .where('day', 'in', days)
    .where('user_id', '!=', ALL)
  if (only.userId !== undefined) query = query.where('user_id', '=', only.userId)
  if (only.queueId !== undefined) query = query.where('queue_id', '=', only.queueId)
  if (only.profileId !== undefined) query = query.where('profile_id', '=', only.profileId)
  const rows = await query.execute()
  return rows.map(({ day, local_day, user_id, queue_id, profile_id, tally, themes }) => {
    const of = { userId: user_id || null, queueId: queue_id || null, profileId: profile_id || null, day: local_day }
    const counted = { tally: JSON.parse(tally), themes: themes === undefined ? null : JSON.parse(themes) }
    return { day, part: { ...of, inTotal, inGroup: true, ...counted } }
  })
}

const isFiltered = (only: Only): boolean => Object.values(only).some(one => one !== undefined)
