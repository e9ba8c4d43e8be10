/**
 * The test command. First the unit tests, side by side, in processes that each run many files; those that open a store run on
 * SQLite, and again on the PostgreSQL server of `TANDEM_TEST_DATABASE_URL`. Then what starts the product, each file in a process
 * of its own: three at a time what mostly waits, two at a time what takes a core, and one by one what judges audio by its timing.
 * `npm test -- PATTERN…` runs the files whose path holds a pattern.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { type FileRun, runAlone, Worker } from './processes.ts'
import { dropDatabases, opensStore, serverProblem } from './stores.ts'

const patterns = process.argv.slice(2)
const folder = new URL('.', import.meta.url)
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.test.ts'))
  .filter(path => patterns.length === 0 || patterns.some(pattern => path.includes(pattern)))
  .sort()
const startsProduct = (path: string): boolean => /^(e2e|interop|fuzz)\//.test(path)
/** What only one database is asked for: their subject is the HTTP side of each operation. */
const onSqliteAlone = (path: string): boolean => /^control\/conformance\/(parameters|properties)\.test/.test(path)
/** A file says so in a comment, with the reason. */
const wantsOwnProcess = (path: string): boolean => readFileSync(new URL(path, folder), 'utf8').includes('Own process:')
/** Audio is judged by when it comes, or by what is understood of it: alone. */
const judgesTiming = (path: string): boolean =>
  /^(e2e\/(assistant|card-payment|control-killed|recording|streams)|fuzz\/http|interop\/(sipp-rate|three-makes))\.test/.test(
    path,
  )
/** An attack, or one death after the other, takes a core: two at a time. */
const takesCore = (path: string): boolean =>
  /^(fuzz\/|e2e\/(bad-receivers|browser-wire|control-killed-often|media-killed|speech)\.)/.test(path)

const totals = { passed: 0, failed: 0, skipped: 0 }
const skips: string[] = []
const { TANDEM_TEST_DATABASE_URL: server, ...env } = process.env

type Variables = Record<string, string>

function report(label: string, { output, problem, ms }: FileRun): void {
  const count = (word: string): number =>
    [...output.matchAll(new RegExp(`^\\s+${word}:\\s+(\\d+)`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0)
  const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')]
  // A file that dies before its summary, or has none, has failed once, whatever it had passed by then.
  const failed = Math.max(total - passed, problem === null && total + skipped > 0 ? 0 : 1)
  totals.passed += passed
  totals.failed += failed
  totals.skipped += skipped
  skips.push(...output.split('\n').filter(line => line.startsWith('SKIP ')))
  console.log(`${(failed > 0 ? 'FAIL' : 'ok').padEnd(4)} ${label} (${passed} passed, ${skipped} skipped, ${ms} ms)`)
  if (failed > 0) console.log(`${output.trimEnd()}\n${problem ?? ''}`.trimEnd().replace(/^/gm, '     '))
}

function fail(what: string): void {
  totals.failed += 1
  console.log(`FAIL ${what}`)
}

/** `width` files at a time; `slot` numbers those that run at once. */
async function sideBySide(paths: string[], width: number, run: (path: string, slot: number) => Promise<void>) {
  const queue = [...paths]
  const next = async (slot: number): Promise<void> => {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) await run(path, slot)
  }
  await Promise.all(Array.from({ length: width }, (_, slot) => next(slot)))
}

const runProducts = (paths: string[], width: number): Promise<void> =>
  sideBySide(paths, width, async path => report(path, await runAlone(path, env)))

async function runUnits(paths: string[], label: string, variables: (slot: number) => Variables): Promise<void> {
  const environments = [0, 1, 2].map(slot => ({ ...env, ...variables(slot) }))
  const workers = environments.map(environment => new Worker(environment))
  await sideBySide(paths, workers.length, async (path, slot) => {
    const run = wantsOwnProcess(path) ? runAlone(path, environments[slot]!) : workers[slot]!.run(path)
    report(path + label, await run)
  })
  for (const worker of workers) {
    const problem = await worker.close()
    if (problem !== null) fail(`a process of unit tests${label}: ${problem}`)
  }
}

async function runOnPostgres(paths: string[]): Promise<void> {
  if (server === undefined) {
    if (paths.length > 0) skips.push(`SKIP ${paths.length} files on PostgreSQL (TANDEM_TEST_DATABASE_URL is not set)`)
    return
  }
  const problem = await serverProblem(server)
  if (problem !== null) {
    fail(`${paths.length} files on PostgreSQL: TANDEM_TEST_DATABASE_URL cannot be used (${problem})`)
    return
  }
  const run = `run${process.pid}`
  const variables = (slot: number): Variables => ({
    TANDEM_TEST_DATABASE_URL: server,
    TANDEM_TEST_SLOT: `${run}_${slot}`,
  })
  await runUnits(paths, ' on PostgreSQL', variables)
  await dropDatabases(server, `tandem_test_${run}_`)
}

const units = files.filter(path => !startsProduct(path))
const products = files.filter(startsProduct)
await runUnits(units, '', () => ({}))
await runOnPostgres(units.filter(path => opensStore(path) && !onSqliteAlone(path)))
const others = products.filter(path => !takesCore(path) && !judgesTiming(path))
await runProducts(others, 3)
await runProducts(
  products.filter(path => takesCore(path) && !judgesTiming(path)),
  2,
)
await runProducts(products.filter(judgesTiming), 1)
if (skips.length > 0) console.log(`\nSkipped:\n${skips.join('\n')}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0
