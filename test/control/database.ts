import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A database that several stores, and several processes, can open at once. */
export interface TestDatabase {
  /** What `openStore` takes. */
  target: string
  /** To be called when all stores on it are closed. */
  remove(): Promise<void>
}

export async function makeDatabase(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  return { target: join(folder, 'tandem.db'), remove: async () => rmSync(folder, { recursive: true }) }
}
