import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COLLECTS_ALONE, OPTIMISES_LATE } from './worker-messages.ts'

/** Folder of the test command's bundles; absent: the test file was started directly. */
const BUNDLES = process.env.TANDEM_TEST_BUNDLES

/** Starts a file of `FORKED` (its path relative to `test/`), which exports `main`, as a process of its own. */
export function forkFile(path: string, args: string[]): ChildProcess {
  if (BUNDLES !== undefined) {
    const script = join(BUNDLES, path.replace(/\.ts$/, '.cjs'))
    return fork(join(BUNDLES, 'killable.js'), [script, ...args], { execArgv: [OPTIMISES_LATE, COLLECTS_ALONE] })
  }
  const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  return fork(here('killable.ts'), [here(path), ...args], { execArgv: ['--import', 'tsx'] })
}
