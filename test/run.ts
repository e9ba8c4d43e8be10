/**
 * The test command. First the unit tests, side by side, in processes that each run many files. Then what starts the product, each
 * file in a process of its own: three at a time what mostly waits, two at a time what takes a core, and one by one what judges audio
 * by its timing. Last the unit tests that open a store, once more, on the PostgreSQL server of `TANDEM_TEST_DATABASE_URL`.
 * `npm test -- PATTERN…` runs the files whose path holds a pattern.
 */
import { bundle } from './bundles.ts'
import { FORKED, judgesTiming, onSqliteAlone, startsProduct, takesCore, testFiles, wantsOwnProcess } from './plan.ts'
import { type FileRun, runAlone, Worker } from './processes.ts'
import { dropDatabases, opensStore, serverProblem } from './stores.ts'

/** Files at a time. */
const UNITS = 3
const WAITING = 3
const TAKING_CORE = 2

const totals = { passed: 0, failed: 0, skipped: 0 }
const skips: string[] = []
const { TANDEM_TEST_DATABASE_URL: server, ...env } = process.env

type Variables = Record<string, string>

function report(label: string, { output, problem, ms, cpuMs }: FileRun): void {
  const count = (word: string): number =>
    [...output.matchAll(new RegExp(`^\\s+${word}:\\s+(\\d+)`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0)
  const [total, passed, skipped] = [count('Total'), count('Passed'), count('Skipped')]
  // A file that dies before its summary, or has none, has failed once, whatever it had passed by then.
  const failed = Math.max(total - passed, problem === null && total + skipped > 0 ? 0 : 1)
  totals.passed += passed
  totals.failed += failed
  totals.skipped += skipped
  skips.push(...output.split('\n').filter(line => line.startsWith('SKIP ')))
  console.log(
    `${(failed > 0 ? 'FAIL' : 'ok').padEnd(4)} ${label} (${passed} passed, ${skipped} skipped, ${ms} ms, ${cpuMs} ms of CPU)`,
  )
  if (failed > 0) console.log(`${output.trimEnd()}\n${problem ?? ''}`.trimEnd().replace(/^/gm, '     '))
}

function fail(what: string): void {
  totals.failed += 1
  console.log(`FAIL ${what}`)
}

/** Takes files from the queue one by one; several may take from the same one. `slot` numbers them. */
async function drain(queue: string[], slot: number, run: (path: string, slot: number) => Promise<void>): Promise<void> {
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) await run(path, slot)
}

const slots = (width: number): number[] => Array.from({ length: width }, (_, slot) => slot)

async function runProducts(paths: string[], width: number): Promise<void> {
  const queue = [...paths]
  const run = async (path: string) => report(path, await runAlone(path, { bundles, env }))
  await Promise.all(slots(width).map(slot => drain(queue, slot, run)))
}

interface UnitStage {
  label?: string
  variables?: (slot: number) => Variables
}

async function runUnits(paths: string[], { label = '', variables = () => ({}) }: UnitStage): Promise<void> {
  const stages = slots(UNITS).map(slot => ({ bundles, env: { ...env, ...variables(slot) } }))
  const workers = stages.map(stage => new Worker(stage))
  const queue = [...paths]
  const run = async (path: string, slot: number): Promise<void> => {
    const running = wantsOwnProcess(path) ? runAlone(path, stages[slot]!) : workers[slot]!.run(path)
    report(path + label, await running)
  }
  await Promise.all(slots(UNITS).map(slot => drain(queue, slot, run)))
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
  await runUnits(paths, { label: ' on PostgreSQL', variables })
  await dropDatabases(server, `tandem_test_${run}_`)
}

const files = testFiles(process.argv.slice(2))
const bundles = await bundle([...files, ...FORKED, 'worker.ts'])
const units = files.filter(path => !startsProduct(path))
const products = files.filter(startsProduct)
await runUnits(units, {})
const waiting = products.filter(path => !takesCore(path) && !judgesTiming(path))
await runProducts(waiting, WAITING)
await runProducts(
  products.filter(path => takesCore(path) && !judgesTiming(path)),
  TAKING_CORE,
)
await runProducts(products.filter(judgesTiming), 1)
await runOnPostgres(units.filter(path => opensStore(path) && !onSqliteAlone(path)))
if (skips.length > 0) console.log(`\nSkipped:\n${skips.join('\n')}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0
