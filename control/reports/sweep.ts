import { dueAtOf } from '../kernel/jobs/queue.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import { removeArtifacts } from './pieces.ts'
import { finishRun } from './run-job.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const KEEP_ARTIFACTS_MS = 90 * DAY_MS
/** Minimum age of a run that may be stuck [ms]. It only saves work, since a run's job is stored in the same transaction. */
const STUCK_AFTER_MS = 60 * 60 * 1000
const BATCH = 500

/** Ends runs that no job will end, and removes artifacts that are too old. */
export async function sweepReports(deps: { store: Store; now: () => Date }): Promise<void> {
  const now = deps.now()
  await endStuckRuns(deps.store, now)
  await forgetOldArtifacts(deps.store, now)
  await forgetOrphans(deps.store)
}

/** Deletes files of attempts whose report was deleted meanwhile. */
async function forgetOrphans({ db }: Store): Promise<void> {
  const runs = db.selectFrom('report_runs').select('id')
  await db.deleteFrom('report_artifacts').where('run_id', 'not in', runs).execute()
}

/** Ends runs whose job was given up because the process died in each attempt. */
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
      const tenant = tenantOf(row)
      const failed = { status: 'failed', error: 'The run was interrupted.', finished_at: now.toISOString() } as const
      await finishRun(trx, tenant, { ...row, ...failed }, null)
    })
  }
}

async function forgetOldArtifacts(store: Store, now: Date): Promise<void> {
  const old = await store.db
    .selectFrom('report_runs')
    .select(['id', 'organisation_id', 'livemode'])
    .where('finished_at', '<', new Date(now.getTime() - KEEP_ARTIFACTS_MS).toISOString())
    .where(eb => eb.or([eb('csv', '=', 1), eb('pdf', '=', 1)]))
    .limit(BATCH)
    .execute()
  for (const { id, organisation_id: organisationId, livemode } of old) {
    const tenant = { organisationId, livemode: livemode === 1 }
    await store.transaction(async trx => {
      await forTenant(trx, tenant).change('report_runs', id, { csv: 0, pdf: 0 })
      await removeArtifacts(trx, tenant, id)
    })
  }
}
