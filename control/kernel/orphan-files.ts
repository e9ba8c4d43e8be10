import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A file that is being written has no row yet [ms]. */
const MIN_AGE_MS = 60 * 60 * 1000
const BATCH = 500

/**
 * Removes the files, or the folders, of a folder that have no row: a process died between writing the file and the row.
 * `known` returns, of some file names, those to keep. Files younger than an hour are left alone. Returns the number removed.
 */
export async function sweepOrphans(
  folder: string,
  known: (names: string[]) => Promise<ReadonlySet<string>>,
  now: Date,
  kind: 'files' | 'folders' = 'files',
): Promise<number> {
  let removed = 0
  const batch: string[] = []
  const flush = async (): Promise<void> => {
    const keep = await known(batch)
    for (const name of batch.splice(0).filter(name => !keep.has(name))) {
      await rm(join(folder, name), { force: true, recursive: kind === 'folders' })
      removed += 1
    }
  }
  for await (const name of namesIn(folder, kind)) {
    if ((await ageMs(join(folder, name), now)) < MIN_AGE_MS) continue
    if (batch.push(name) >= BATCH) await flush()
  }
  if (batch.length > 0) await flush()
  return removed
}

/** Empty if the folder does not exist: nobody has written to it yet. */
async function* namesIn(folder: string, kind: 'files' | 'folders'): AsyncGenerator<string> {
  const entries = await opendir(folder).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? [] : Promise.reject(error),
  )
  for await (const entry of entries) if (kind === 'files' ? entry.isFile() : entry.isDirectory()) yield entry.name
}

const ageMs = (path: string, now: Date): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => now.getTime() - mtimeMs,
    () => 0,
  )
