import { dueAtOf } from '../jobs/queue.ts'
import { sweepOrphans } from '../orphan-files.ts'
import type { Db, Store } from '../store.ts'
import { FORMATS, removeArtifacts, reportFolder } from './artifacts.ts'
import { finishRun } from './run-job.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const KEEP_ARTIFACTS_MS = 90 * DAY_MS
/** A run is not looked at before [ms]; its job is written in the same transaction, so this only spares work. */
const STUCK_AFTER_MS = 60 * 60 * 1000
const BATCH = 500

/** Ends runs that no job will end, and removes artifacts that are too old or belong to no run. */
export async function sweepReports(deps: { store: Store; dataDir: string; now: () => Date }): Promise<void> {
  const now = deps.now()
  await endStuckRuns(deps.store, now)
  await forgetOldArtifacts(deps, now)
  await sweepOrphans(reportFolder(deps.dataDir), names => knownArtifacts(deps.store.db, names), now)
}

/** The job was given up: it took the process down each time. */
async function endStuckRuns(store: Store, now: Date): Promise<void> {
  const open = await store.db
    .selectFrom('report_runs')
    .selectAll()
    .where('finished_at', 'is', null)
    .where('started_at', '<', new Date(now.getTime() - STUCK_AFTER_MS).toISOString())
    .limit(BATCH)
    .execute()
  for (const row of open) {
    await store.transaction(async trx => {
      if ((await dueAtOf(trx, 'report.run', row.id)) !== undefined) return
      const tenant = { organisationId: row.organisation_id, livemode: row.livemode === 1 }
      const failed = { status: 'failed', error: 'The run was interrupted.', finished_at: now.toISOString() } as const
      await finishRun(trx, tenant, { ...row, ...failed }, null)
    })
  }
}

async function forgetOldArtifacts({ store, dataDir }: { store: Store; dataDir: string }, now: Date): Promise<void> {
  const old = await store.db
    .selectFrom('report_runs')
    .select('id')
    .where('finished_at', '<', new Date(now.getTime() - KEEP_ARTIFACTS_MS).toISOString())
    .where(eb => eb.or([eb('csv', '=', 1), eb('pdf', '=', 1)]))
    .limit(BATCH)
    .execute()
  for (const { id } of old) {
    await store.db.updateTable('report_runs').set({ csv: 0, pdf: 0 }).where('id', '=', id).execute()
    await removeArtifacts(dataDir, id)
  }
}

async function knownArtifacts(db: Db, names: string[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(names.map(name => name.split('.', 1)[0] ?? ''))]
  const rows = await db
    .selectFrom('report_runs')
    .select(['id', 'finished_at', 'csv', 'pdf'])
    .where('id', 'in', ids)
    .execute()
  return new Set(
    rows.flatMap(row =>
      FORMATS.flatMap(format => {
        const name = `${row.id}.${format}`
        // What is being written may still be needed.
        if (row.finished_at === null) return [name, `${name}.new`]
        return row[format] === 1 ? [name] : []
      }),
    ),
  )
}
