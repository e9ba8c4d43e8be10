import type { Config } from '../config/settings.ts'
import { databaseFile, ownNodeId } from '../data-dir.ts'
import { OPEN_ADVICE } from './faults.ts'
import { openStore, type Store } from './store.ts'

/** Opens the configured database. It throws one line that says what to do. `mayBeNewer`: we have served it before. */
export async function openConfiguredStore(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'nodeId'>,
  mayBeNewer = false,
): Promise<Store> {
  const { dataDir, databaseUrl } = config
  // A database in the data directory belongs to that directory, whatever its node is called.
  if (databaseUrl === null) {
    const file = databaseFile(dataDir)
    return openStore(file).catch((error: Error & { code?: string }) => {
      const advice = OPEN_ADVICE[error.code ?? ''] ?? 'restore it, or move it away'
      throw new Error(`Cannot open the database ${file} (${error.message}): ${advice}.`)
    })
  }
  const node = config.nodeId ?? ownNodeId(dataDir)
  return openStore(databaseUrl, node, undefined, mayBeNewer).catch(async (error: unknown) => {
    const { describeOpenError } = await import('./postgres.ts')
    throw new Error(describeOpenError(databaseUrl, error))
  })
}
