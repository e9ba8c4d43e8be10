import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OPTIMISES_LATE } from './worker-messages.ts'

/** Where the test command has put its bundles; absent: the test file runs by itself. */
const BUNDLES = process.env.TANDEM_TEST_BUNDLES

/** Starts a file of the tests (`FORKED`, its path below `test/`) as a process of its own. */
export function forkFile(path: string, args: string[]): ChildProcess {
  if (BUNDLES !== undefined)
    return fork(join(BUNDLES, path.replace(/\.ts$/, '.js')), args, { execArgv: [OPTIMISES_LATE] })
  return fork(fileURLToPath(new URL(path, import.meta.url)), args, { execArgv: ['--import', 'tsx'] })
}
