import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { type Period, periodBefore } from '../period.ts'
import { callsOf, grouping, labelsOf, type Only } from './gather.ts'
import type { GroupBy, Insights, Measures } from './schema.ts'
import { Tally, Themes } from './tally.ts'

export interface InsightsOf {
  period: Period
  by: GroupBy
  timezone: string
  only?: Only
}

/** What calls of a period tell, beside the one before it. */
export async function gatherInsights(
  db: Db,
  tenant: Tenant,
  { period, by, timezone, only = {} }: InsightsOf,
): Promise<Omit<Insights, 'object' | 'livemode'>> {
  const groupOf = await grouping(db, tenant, by, timezone)
  const now = { total: new Tally(), themes: new Themes() }
  const groups = new Map<string | null, Tally>()
  for await (const call of callsOf(db, tenant, period, only)) {
    now.total.add(call)
    now.themes.add(call)
    if (by === 'none') continue
    const key = groupOf(call)
    const group = groups.get(key) ?? new Tally()
    groups.set(key, group)
    group.add(call)
  }
  const before = { total: new Tally(), themes: new Themes() }
  for await (const call of callsOf(db, tenant, periodBefore(period), only)) {
    before.total.add(call)
    before.themes.add(call)
  }
  const [total, earlier] = [now.total.measures, before.total.measures]
  const labels = await labelsOf(db, tenant, by)
  return {
    ...period,
    group_by: by,
    total,
    before: earlier,
    change: changeOf(earlier, total),
    groups: [...groups]
      .map(([key, group]) => ({ key, label: key === null ? '' : (labels.get(key) ?? key), ...group.measures }))
      .sort((a, b) => (by === 'day' ? ((a.key ?? '') < (b.key ?? '') ? -1 : 1) : b.calls - a.calls)),
    ...now.themes.shown(before.themes),
  }
}

function changeOf(before: Measures, now: Measures): Insights['change'] {
  const names = Object.keys(now) as (keyof Measures)[]
  const changes = names.map((name): [string, number | null] => {
    const [from, to] = [before[name], now[name]]
    return [name, from === null || to === null ? null : Math.round((to - from) * 1000) / 1000]
  })
  return Object.fromEntries(changes) as Insights['change']
}
