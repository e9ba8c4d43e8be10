import { sql } from 'kysely'
import type { Store } from '../kernel/store/store.ts'
import { tenantOf } from '../kernel/tenancy.ts'
import { lastPeriod, nextRun } from './period.ts'
import { startRun } from './start.ts'
import type { ReportRow } from './tables.ts'

const BATCH = 100

/**
 * Starts the due runs of all reports, of all tenants, and sets their next time; missed ones run once. If an organisation has moved to another time
 * zone, its reports get new times. Several control processes may do this at once: the time that was read decides who starts the run.
 */
export async function startScheduledRuns(store: Store, now: Date): Promise<number> {
  const at = now.toISOString()
  const due = await store.db
    .selectFrom('reports')
    .innerJoin('organisations', 'organisations.id', 'reports.organisation_id')
    .selectAll('reports')
    .select('organisations.timezone as timezone')
    .where('reports.schedule', 'is not', null)
    .where(eb =>
      eb.or([
        eb('reports.next_run_at', '<=', at),
        eb('reports.schedule_timezone', '<>', eb.ref('organisations.timezone')),
      ]),
    )
    .orderBy('reports.next_run_at')
    .limit(BATCH)
    .execute()
  for (const { timezone, ...report } of due) await startOne(store, report, timezone, now)
  return due.length
}

const startOne = (store: Store, report: ReportRow, timezone: string, now: Date): Promise<void> =>
  store.transaction(async trx => {
    const next = report.schedule === null ? null : nextRun(report.schedule, timezone, now)
    const { numUpdatedRows } = await trx
      .updateTable('reports')
      .set({ next_run_at: next?.toISOString() ?? null, schedule_timezone: timezone })
      .where('id', '=', report.id)
      .where('schedule', '=', report.schedule)
      .where(sql<boolean>`next_run_at is not distinct from ${report.next_run_at}`)
      .executeTakeFirst()
    const { next_run_at: due } = report
    if (numUpdatedRows !== 1n || due === null || due > now.toISOString()) return
    const tenant = tenantOf(report)
    const period = lastPeriod(report.period, new Date(due), report.schedule_timezone ?? timezone)
    await startRun(trx, tenant, report, { period, trigger: 'schedule', request: null, now })
  })
