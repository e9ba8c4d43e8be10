import { setImmediate } from 'node:timers/promises'
import { appendEvent } from '../kernel/events/log.ts'
import type { JobAttempt, JobHandler } from '../kernel/jobs/runner.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type Batch, Batches } from './batches.ts'
import { insertPiece, readPieces, removePieces } from './pieces.ts'
import { type FileRecord, readRecords, Unreadable } from './read.ts'
import { MAX_ROWS, toImport } from './schema.ts'
import type { ImportFailure, ImportRow, Reading } from './tables.ts'
import type { ImportTargets } from './target.ts'

declare module '../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'import.run': { tenant: Tenant; import_id: string }
  }
}

interface ImportJobDeps {
  store: Store
  now: () => Date
  targets: ImportTargets
  /** Rows per transaction, which block the event loop for some ten milliseconds. */
  batchRows?: number
}

const BATCH_ROWS = 200
/** The same for cells, of which a row may have thousands. */
const BATCH_CELLS = 10_000
/** Interval between progress events [ms]. */
const PROGRESS_MS = 5000
/** Each death of the process uses up one attempt. */
const MAX_ATTEMPTS = 100
const BACKOFF_MS = 1000

/** Runs an import. It continues where it stopped, since progress is stored in the transaction of the rows. */
export const importHandler = (deps: ImportJobDeps): JobHandler<{ tenant: Tenant; import_id: string }> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: ({ tenant, import_id }, attempt) => run(deps, tenant, import_id, attempt),
})

/** Thrown if the import has ended, or if a process that was taken for dead has continued it. */
class NotOurs extends Error {
  constructor() {
    super('the import is not where this attempt has left it')
  }
}

async function run(deps: ImportJobDeps, tenant: Tenant, id: string, attempt: JobAttempt): Promise<void> {
  const { store, targets, batchRows = BATCH_ROWS } = deps
  const begun = await begin(deps, tenant, id)
  const target = begun === null ? undefined : targets[begun.target]
  if (begun === null || target === undefined) return
  const batches = new Batches(target, begun)
  let row = begun
  try {
    const all = readRecords(readPieces(store.db, id, 'source'), readingOf(row))
    for await (const records of inBatches(all, row, batchRows)) {
      attempt.signal.throwIfAborted()
      row = await writeBatch(deps, tenant, row, batches.judge(records))
      // Calls take precedence over imports.
      await setImmediate()
    }
    await end(deps, tenant, row, { status: 'completed' }, attempt)
  } catch (error) {
    if (!(error instanceof Unreadable)) return unlessOver(deps, tenant, id, error)
    const failed = { status: 'failed', failure: error.failure } as const
    await end(deps, tenant, row, failed, attempt).catch(unended => unlessOver(deps, tenant, id, unended))
  }
}

/** Rethrows an error, so that a running import is retried, unless the import has ended. */
async function unlessOver({ store }: ImportJobDeps, tenant: Tenant, id: string, error: unknown): Promise<void> {
  const row = error instanceof NotOurs ? await forTenant(store.db, tenant).find('imports', id) : undefined
  if (!(error instanceof NotOurs) || isOpen(row)) throw error
}

const isOpen = (row: ImportRow | undefined): boolean => row?.status === 'pending' || row?.status === 'running'

const readingOf = (row: ImportRow): Reading => JSON.parse(row.reading)

/** The import to continue. A dry run stores no rows and starts again. Null: it has ended. */
const begin = ({ store, now }: ImportJobDeps, tenant: Tenant, id: string): Promise<ImportRow | null> =>
  store.transaction(async trx => {
    const row = await forTenant(trx, tenant).find('imports', id)
    if (row === undefined || !isOpen(row)) return null
    const at = now().toISOString()
    const anew = { rows_read: 0, rows_written: 0, rows_duplicate: 0, rows_failed: 0, error_pieces: 0 }
    if (row.dry_run === 1) await removePieces(trx, id, 'errors')
    const change = {
      ...(row.dry_run === 1 ? anew : {}),
      ...{ status: 'running' as const, started_at: row.started_at ?? at, told_at: row.told_at ?? at, updated: at },
    }
    await forTenant(trx, tenant).change('imports', id, change)
    return { ...row, ...change }
  })

/** The remaining records, in batches. An unreadable place is reported after the records before it. */
async function* inBatches(records: AsyncGenerator<FileRecord>, { rows_read }: ImportRow, size: number) {
  let batch: FileRecord[] = []
  let [read, cells] = [0, 0]
  let unreadable: Unreadable | null = null
  try {
    for await (const record of records) {
      read += 1
      if (read > MAX_ROWS) {
        throw new Unreadable('too_many_rows', `The file has more than ${MAX_ROWS} rows.`, record.line)
      }
      cells += record.width
      const isMuch = cells >= BATCH_CELLS
      if (isMuch) cells = 0
      if (read <= rows_read) {
        // Nothing here yields to the event loop by itself, and a million rows would delay calls for seconds.
        if (read % size === 0 || isMuch) await setImmediate()
        continue
      }
      batch.push(record)
      if (batch.length < size && !isMuch) continue
      yield batch
      batch = []
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    unreadable = error
  }
  if (batch.length > 0) yield batch
  if (unreadable !== null) throw unreadable
}

class Trial extends Error {}

/** Writes a batch with the import's progress. In a dry run the rows are rolled back. */
async function writeBatch(deps: ImportJobDeps, tenant: Tenant, row: ImportRow, batch: Batch): Promise<ImportRow> {
  const { store, targets } = deps
  const at = deps.now().toISOString()
  const writing = { tenant, importId: row.id, targetId: row.target_id, at: row.created }
  const target = targets[row.target]!
  const write = async (trx: Trx): Promise<boolean[]> => {
    if (batch.rows.length === 0) return []
    const refused = row.target_id === null ? null : await target.problemOf?.(trx, tenant, row.target_id)
    if (refused != null) throw new Unreadable('target_refused', refused.message)
    const rows = batch.rows.map(({ row: one }) => one)
    return target.write(trx, rows, writing)
  }
  let tried: boolean[] = []
  if (row.dry_run === 1) {
    const trial = store.transaction(async trx => {
      tried = await write(trx)
      throw new Trial()
    })
    await trial.catch(error => {
      if (!(error instanceof Trial)) throw error
    })
  }
  return store.transaction(async trx => {
    const isNew = row.dry_run === 1 ? tried : await write(trx)
    const lines = batch.reportOf(isNew)
    const written = isNew.filter(Boolean).length
    const duplicate = batch.repeated + isNew.length - written
    const isTold = Date.parse(at) - Date.parse(row.told_at ?? at) >= PROGRESS_MS
    const change = {
      rows_read: row.rows_read + batch.size,
      rows_written: row.rows_written + written,
      rows_duplicate: row.rows_duplicate + duplicate,
      rows_failed: row.rows_failed + batch.failed,
      error_pieces: row.error_pieces + (lines === '' ? 0 : 1),
      told_at: isTold ? at : row.told_at,
      updated: at,
    }
    if (lines !== '') await insertPiece(trx, row.id, 'errors', row.error_pieces, Buffer.from(lines))
    await advance(trx, tenant, row, change)
    const changed = { ...row, ...change }
    if (isTold) await appendEvent(trx, tenant, { type: 'import.progress', at, object: toImport(changed) })
    return changed
  })
}

/** Writes a change, or throws `NotOurs` if the import is not where this attempt left it. */
async function advance(trx: Trx, tenant: Tenant, row: ImportRow, change: Partial<ImportRow>): Promise<void> {
  const ours = forTenant(trx, tenant).update('imports').set(change).where('id', '=', row.id)
  const { numUpdatedRows } = await ours
    .where('status', '=', 'running')
    .where('rows_read', '=', row.rows_read)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new NotOurs()
}

/** Ends an import, and deletes its upload. */
const end = (
  { store, now }: ImportJobDeps,
  tenant: Tenant,
  row: ImportRow,
  { status, failure }: { status: 'completed' | 'failed'; failure?: ImportFailure },
  attempt: JobAttempt,
): Promise<void> =>
  store.transaction(async trx => {
    const at = now().toISOString()
    const change = { status, failure: failure ? JSON.stringify(failure) : null, finished_at: at, updated: at }
    await advance(trx, tenant, row, change)
    await appendEvent(trx, tenant, { type: `import.${status}`, at, object: toImport({ ...row, ...change }) })
    await removePieces(trx, row.id, 'source')
    await attempt.finish(trx)
  })
