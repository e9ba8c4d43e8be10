/**
 * The test command: every `test/**\/*.test.ts` in a process of its own; first the unit tests, then those that start the
 * product and mostly wait, both two at a time, last one by one those that judge audio by its timing or load the machine. Unit
 * tests that open a store run on SQLite, and again on the PostgreSQL server of `TANDEM_TEST_DATABASE_URL`.
 * `npm test -- PATTERN…` runs the files whose path holds a pattern.
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dropDatabases, opensStore, serverProblem } from './stores.ts'

const FILE_TIMEOUT_MS = 240_000
const root = fileURLToPath(new URL('..', import.meta.url))
const patterns = process.argv.slice(2)
const files = readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts'))
  .filter(path => patterns.length === 0 || patterns.some(pattern => path.includes(pattern)))
  .sort()
const startsProduct = (path: string): boolean => /^(e2e|interop|fuzz)\//.test(path)
const mostlyWaits = (path: string): boolean =>
  /^(e2e\/(browser-pages|browser-softphone|media-killed|pin|room|shutdown|signalling)|interop\/(baresip|registrar|sipp-callee|sipp-caller))\.test/.test(
    path,
  )

const totals = { passed: 0, failed: 0, skipped: 0 }
const skips: string[] = []
const { TANDEM_TEST_DATABASE_URL: server, ...env } = process.env

type Variables = Record<string, string>

function runFile(path: string, variables: Variables): Promise<void> {
  return new Promise(resolve => {
    const started = Date.now()
    const child = spawn(process.execPath, ['--import', 'tsx', `test/${path}`], {
      cwd: root,
      env: { ...env, ...variables },
    })
    let output = ''
    child.stdout.on('data', data => (output += data))
    child.stderr.on('data', data => (output += data))
    const timer = setTimeout(() => {
      output += `\ntest/${path}: still running after ${FILE_TIMEOUT_MS / 1000} s, killed\n`
      child.kill('SIGKILL')
    }, FILE_TIMEOUT_MS)
    child.on('close', code => {
      clearTimeout(timer)
      const count = (label: string): number =>
        [...output.matchAll(new RegExp(`^\\s+${label}:\\s+(\\d+)`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0)
      const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')]
      // A file that dies before its summary has failed once, whatever it had passed by then.
      const failed = Math.max(total - passed, code === 0 && total + skipped > 0 ? 0 : 1)
      totals.passed += passed
      totals.failed += failed
      totals.skipped += skipped
      skips.push(...output.split('\n').filter(line => line.startsWith('SKIP ')))
      const verdict = failed > 0 ? 'FAIL' : 'ok'
      const where = 'TANDEM_TEST_DATABASE_URL' in variables ? `${path} on PostgreSQL` : path
      console.log(`${verdict.padEnd(4)} ${where} (${passed} passed, ${skipped} skipped, ${Date.now() - started} ms)`)
      if (failed > 0) console.log(output.trimEnd().replace(/^/gm, '     '))
      resolve()
    })
  })
}

/** `slot` numbers the files that run at once. */
async function runAll(paths: string[], width: number, variables: (slot: number) => Variables = () => ({})) {
  const queue = [...paths]
  const worker = async (slot: number): Promise<void> => {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) await runFile(path, variables(slot))
  }
  await Promise.all(Array.from({ length: width }, (_, slot) => worker(slot)))
}

async function runOnPostgres(paths: string[], width: number): Promise<void> {
  if (server === undefined) {
    if (paths.length > 0) skips.push(`SKIP ${paths.length} files on PostgreSQL (TANDEM_TEST_DATABASE_URL is not set)`)
    return
  }
  const problem = await serverProblem(server)
  if (problem !== null) {
    totals.failed += 1
    console.log(`FAIL ${paths.length} files on PostgreSQL: TANDEM_TEST_DATABASE_URL cannot be used (${problem})`)
    return
  }
  const run = `run${process.pid}`
  await runAll(paths, width, slot => ({ TANDEM_TEST_DATABASE_URL: server, TANDEM_TEST_SLOT: `${run}_${slot}` }))
  await dropDatabases(server, `tandem_test_${run}_`)
}

await runAll(
  files.filter(path => !startsProduct(path)),
  2,
)
await runOnPostgres(
  files.filter(path => !startsProduct(path) && opensStore(path)),
  2,
)
await runAll(files.filter(mostlyWaits), 2)
await runAll(
  files.filter(path => startsProduct(path) && !mostlyWaits(path)),
  1,
)
if (skips.length > 0) console.log(`\nSkipped:\n${skips.join('\n')}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0
