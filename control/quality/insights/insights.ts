import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { type Period, periodBefore } from '../period.ts'
import { grouping, labelsOf, type Only } from './gather.ts'
import { addThemes, addTo, partsOf } from './parts.ts'
import type { GroupBy, Insights, Measures } from './schema.ts'
import { Tally } from './tally.ts'
import { Themes } from './themes.ts'

interface InsightsOf {
  period: Period
  by: GroupBy
  timezone: string
  only?: Only
}

/** Insights into the calls of a period and of the period before it. */
export async function gatherInsights(
  db: Db,
  tenant: Tenant,
  { period, by, timezone, only = {} }: InsightsOf,
): Promise<Omit<Insights, 'object' | 'livemode'>> {
  const groupOf = await grouping(db, tenant, by)
  const now = { total: new Tally(), themes: new Themes() }
  const groups = new Map<string | null, Tally>()
  const wanted = { timezone, by, only }
  for await (const part of partsOf(db, tenant, period, wanted)) {
    if (part.inTotal) {
      addTo(now.total, part)
      addThemes(now.themes, part)
    }
    if (by === 'none' || !part.inGroup) continue
    const key = groupOf(part)
    const group = groups.get(key) ?? new Tally()
    groups.set(key, group)
    addTo(group, part)
  }
  const before = { total: new Tally(), themes: new Themes() }
  for await (const part of partsOf(db, tenant, periodBefore(period), { ...wanted, by: 'none' })) {
    addTo(before.total, part)
    addThemes(before.themes, part)
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
      .sort((a, b) => (by === 'day' ? 0 : b.calls - a.calls) || ((a.key ?? '') < (b.key ?? '') ? -1 : 1)),
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
