/**
 * The test command. Each of its processes runs many test files. Files that start the product come first, two at a time; then those that take
 * a core, and those that judge audio by its timing. There are more at a time while much of the machine is free. Two that mostly sleep run
 * beside all of these. Those that want the machine to themselves follow, one by one. Unit tests take what all of these leave, at a lower
 * priority: one file at a time, and one of those that open a store once more on the PostgreSQL server of `TANDEM_TEST_DATABASE_URL`. The
 * rest of both runs last, in parallel. A file that fails beside others runs a second time, alone: there it has to pass, and the last lines
 * name it. `npm test -- PATTERN…` runs the files whose path contains a pattern.
 */
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bundle } from './bundles.ts'
import {
  FORKED,
  hasPages,
  isLong,
  judgesTiming,
  onSqliteAlone,
  sleepsMost,
  startsProduct,
  takesCore,
  testFiles,
  wantsMachine,
  wantsOwnProcess,
} from './plan.ts'
import { childrenCpuMs, type FileRun, runAlone, Worker } from './processes.ts'
import { dropDatabases, opensStore, serverProblem } from './stores.ts'

/** Unit test files at a time. With each further process every file takes a tenth more CPU on two cores, so one is enough, also beside products. */
const UNITS = 1
const AGAIN_BESIDE = 1
/** How many more beside products, of either run, while much of the machine is idle. */
const MORE_BESIDE = 1
/** The same once only these are left: they mostly wait for the server. */
const AGAIN = 2
/** How many files that start a product run at a time in any case, and how many more while much of the machine is free. */
const SHARING = { width: 2, more: 2 }
const TAKING_CORE = { width: 2, more: 1 }
const JUDGING = { width: 2, more: 1 }
/** Numbers of their own, as they run beside the others. */
const SLEEPING = { width: 2, first: SHARING.width + SHARING.more }
/**
 * Share of the machine that has to be idle, or used only by processes that give way, before one more product starts; measured for longer
 * than most peaks last [ms].
 */
const ROOM_ENOUGH = 0.45
const ROOM_LOOK_MS = 1000
/** How long a product takes until it uses what it will use [ms]. */
const BEGUN_MS = 1500
/**
 * Share of the machine that has to be idle before unit tests run beside products, before more of them do, and how long that measurement is
 * taken to hold [ms].
 */
const IDLE_ENOUGH = 0.1
const IDLE_MUCH = 0.35
const IDLE_FOR_MS = 2000
const LOOK_MS = 250
/** If more files fail, a busy machine is not the reason, and none runs a second time. */
const MOST_SECOND_RUNS = 8

const totals = { passed: 0, failed: 0, skipped: 0 }
/** Lines in which skipped tests give their reason. */
const skips = new Set<string>()
/** The machine's own CA certificates, which no test needs. Node reads them as it starts, which takes longer than the rest of its start. */
const AUTHORITIES = 'NODE_EXTRA_CA_CERTS'
const { TANDEM_TEST_DATABASE_URL: server, [AUTHORITIES]: _authorities, ...env } = process.env

type Variables = Record<string, string>

/** Makes the initial state of stores and products. Returns the environment variables with its paths. */
function makeImage(): Variables {
  const [file, folder] = [join(bundles, 'tandem.db'), join(bundles, 'first-start')]
  execFileSync(process.execPath, [join(bundles, 'store-image.js'), file, folder], { env })
  return { TANDEM_TEST_IMAGE: file, TANDEM_TEST_FIRST_START: folder }
}

interface Counts {
  passed: number
  failed: number
  skipped: number
}

interface Failure {
  path: string
  label: string
  counts: Counts
}

/** Files that failed in their first run, beside others. */
const failures: Failure[] = []

function count({ passed, failed, skipped }: Counts, sign: 1 | -1): void {
  totals.passed += sign * passed
  totals.failed += sign * failed
  totals.skipped += sign * skipped
}

function report(label: string, { output, problem, ms, cpuMs }: FileRun): Counts {
  const sum = (word: string): number =>
    [...output.matchAll(new RegExp(`^\\s+${word}:\\s+(\\d+)`, 'gm'))].reduce((all, [, n]) => all + Number(n), 0)
  const [total, passed, skipped] = [sum('Total'), sum('Passed'), sum('Skipped')]
  // A file that ends without a summary counts as one failure, whatever it had passed by then.
  const failed = Math.max(total - passed, problem === null && total + skipped > 0 ? 0 : 1)
  const counts = { passed, failed, skipped }
  count(counts, 1)
  for (const line of output.split('\n')) if (line.startsWith('SKIP ')) skips.add(line)
  console.log(
    `${(failed > 0 ? 'FAIL' : 'ok').padEnd(4)} ${label} (${passed} passed, ${skipped} skipped, ${ms} ms, ${cpuMs} ms of CPU)`,
  )
  if (failed > 0) console.log(`${output.trimEnd()}\n${problem ?? ''}`.trimEnd().replace(/^/gm, '     '))
  return counts
}

/** Returns how many tests failed. */
function reportFirst(path: string, label: string, run: FileRun): number {
  const counts = report(path + label, run)
  if (counts.failed > 0) failures.push({ path, label, counts })
  return counts.failed
}

function fail(what: string): void {
  totals.failed += 1
  console.log(`FAIL ${what}`)
}

/** The next file for the process of this number; undefined: there is none. */
type Take = (slot: number) => string | undefined | Promise<string | undefined>

/** Takes files from queues. Each process prefers another queue, and takes from the others once that is empty. */
const from =
  (...queues: string[][]): Take =>
  slot =>
    queues[slot % queues.length]!.shift() ?? queues.find(queue => queue.length > 0)?.shift()

/** Runs files one by one. */
async function drain(take: Take, slot: number, run: (path: string, slot: number) => Promise<void>): Promise<void> {
  for (let path = await take(slot); path !== undefined; path = await take(slot)) await run(path, slot)
}

const slots = (width: number): number[] => Array.from({ length: width }, (_, slot) => slot)

interface Stage {
  /** Files at a time. */
  width: number
  /** How many more while the machine has room for them. */
  more?: number
  /** The number of its first process; absent: 0. Stages whose processes stay must not use the same numbers of a label at the same time. */
  first?: number
  label?: string
  givesWay?: true
  variables?: (slot: number) => Variables
}

/**
 * Processes that are kept for later stages, by kind, label and number, since a new one takes two seconds of CPU to load and compile the same
 * code, and as much for the product that its files share.
 */
const staying = new Map<string, Worker>()
const PRODUCTS = 'products'
const UNIT_TESTS = 'unit tests'

async function runFiles(take: Take, stage: Stage): Promise<void> {
  const { first = 0, label = '', givesWay, variables = () => ({}) } = stage
  const width = stage.width + (stage.more ?? 0)
  const stages = slots(width).map(slot => ({ bundles, givesWay, env: { ...env, ...variables(first + slot) } }))
  const workers = stages.map((stage, slot) => {
    const name = `${givesWay ? UNIT_TESTS : PRODUCTS}${label} ${first + slot}`
    const worker = staying.get(name) ?? new Worker(stage)
    staying.set(name, worker)
    return worker
  })
  const run = async (path: string, slot: number): Promise<void> => {
    const worker = workers[slot]!
    const running = wantsOwnProcess(path) ? runAlone(path, stages[slot]!) : worker.run(path)
    if (reportFirst(path, label, await running) > 0) worker.excuse()
  }
  await Promise.all(slots(width).map(slot => drain(take, slot, run)))
}

/** Lets processes of this kind end, and the products that their files shared. */
async function closeStaying(kind: string): Promise<void> {
  for (const [name, worker] of staying) {
    if (!name.startsWith(kind)) continue
    staying.delete(name)
    const problem = await worker.close()
    if (problem !== null) fail(`a process of ${name}: ${problem}`)
  }
}

/**
 * Runs files of the queue until `other` is over, but only while part of the machine is idle: otherwise they would run into their time
 * limits. So would long ones, which stand at the front and are left there.
 */
async function besides(queue: string[], stage: Stage, other: () => Promise<void>): Promise<void> {
  let isOver = false
  const looked: number[] = []
  const take = async (slot: number): Promise<string | undefined> => {
    const enough = slot < stage.width ? IDLE_ENOUGH : IDLE_MUCH
    while (!isOver && !(performance.now() - looked[slot]! < IDLE_FOR_MS)) {
      if ((await lookAtMachine(LOOK_MS)).idle >= enough) looked[slot] = performance.now()
    }
    const last = queue.at(-1)
    return isOver || last === undefined || isLong(last) ? undefined : queue.pop()
  }
  const running = runFiles(take, stage)
  await other()
  isOver = true
  await running
}

/** Measures which share of the machine's time (0 to 1) was idle, and which was idle or used by processes that give way (`room`). */
async function lookAtMachine(ms: number): Promise<{ idle: number; room: number }> {
  const times = (): { idle: number; nice: number; all: number } => {
    const sum = { idle: 0, nice: 0, all: 0 }
    for (const { times } of cpus()) {
      sum.idle += times.idle
      sum.nice += times.nice
      sum.all += Object.values(times).reduce((all, ms) => all + ms, 0)
    }
    return sum
  }
  const before = times()
  await sleep(ms)
  const after = times()
  const all = Math.max(1, after.all - before.all)
  const idle = (after.idle - before.idle) / all
  return { idle, room: idle + (after.nice - before.nice) / all }
}

let looking: Promise<unknown> = Promise.resolve()

/** Whether there is room for one more product. Measurements follow one another and, after a positive one, wait until that product has started. */
function hasRoom(): Promise<boolean> {
  const look = looking.then(async () => (await lookAtMachine(ROOM_LOOK_MS)).room >= ROOM_ENOUGH)
  looking = look.then(is => (is ? sleep(BEGUN_MS) : undefined))
  return look
}

/** Runs files that start a product. Each process prefers another of the queues. */
async function runProducts(
  { width, more = 0, first = 0 }: { width: number; more?: number; first?: number },
  ...queues: string[][]
): Promise<void> {
  const take = from(...queues)
  const isOver = (): boolean => queues.every(queue => queue.length === 0)
  const takeInRoom: Take = async slot => {
    while (slot >= width && !isOver() && !(await hasRoom()));
    return take(slot)
  }
  await runFiles(takeInRoom, { width, more, first })
}

/** Runs all files that start a product, except those that want the machine to themselves. */
async function runSharing(): Promise<void> {
  const special = [takesCore, judgesTiming, wantsMachine, sleepsMost]
  const waiting = products.filter(path => !special.some(is => is(path)))
  // Files that need a browser run in the same process if possible, since a process launches one browser for all its files.
  const [others, pages] = [waiting.filter(path => !hasPages(path)), waiting.filter(hasPages)]
  const sleeping = runProducts(SLEEPING, products.filter(sleepsMost))
  await runProducts(SHARING, others, pages)
  await runProducts(TAKING_CORE, products.filter(takesCore))
  await runProducts(JUDGING, products.filter(judgesTiming))
  await sleeping
  await closeStaying(PRODUCTS)
}

/**
 * Runs each failed file once more, alone, so that tests that judge audio by the sample do not fail for what others took of the processor.
 * Returns the names of those that pass now.
 */
async function runFailedAlone(): Promise<string[]> {
  if (failures.length > MOST_SECOND_RUNS) return []
  const passedAlone: string[] = []
  for (const { path, label, counts } of failures) {
    const variables = label === postgres.label ? postgres.variables!(0) : {}
    count(counts, -1)
    const { failed } = report(
      `${path}${label}, alone`,
      await runAlone(path, { bundles, env: { ...env, ...variables } }),
    )
    if (failed === 0) passedAlone.push(path + label)
  }
  return passedAlone
}

/** The URL of the PostgreSQL server. Null: these files do not run on it, and the reason is reported. */
async function usableServer(paths: string[]): Promise<string | null> {
  if (server === undefined) {
    if (paths.length > 0) skips.add(`SKIP ${paths.length} files on PostgreSQL (TANDEM_TEST_DATABASE_URL is not set)`)
    return null
  }
  const problem = await serverProblem(server)
  if (problem === null) return server
  fail(`${paths.length} files on PostgreSQL: TANDEM_TEST_DATABASE_URL cannot be used (${problem})`)
  return null
}

const patterns = process.argv.slice(2).map(pattern => pattern.replace(/^(\.\/)?test\//, ''))
for (const pattern of patterns.filter(one => testFiles([one]).length === 0)) {
  fail(`${pattern}: no test file below test/ has this in its path`)
}
const files = testFiles(patterns)
const bundles = await bundle([...files, ...FORKED, 'killable.ts', 'worker.ts', 'optimises-late.ts', 'store-image.ts'])
const units = files.filter(path => !startsProduct(path))
const products = files.filter(startsProduct)
const usesImage = products.length > 0 || units.some(path => opensStore(path))
if (usesImage) Object.assign(env, makeImage())
const onPostgres = units.filter(path => opensStore(path) && !onSqliteAlone(path))
const url = await usableServer(onPostgres)
const again = url === null ? [] : [...onPostgres]
const run = `run${process.pid}`
/** For tests whose products share a database: they make their own, with this beginning of its name. */
if (url !== null) Object.assign(env, { TANDEM_TEST_SERVER_URL: url, TANDEM_TEST_DATABASES: `tandem_test_${run}` })
const postgres: Stage = {
  width: AGAIN,
  label: ' on PostgreSQL',
  givesWay: true,
  variables: slot => ({ TANDEM_TEST_DATABASE_URL: url!, TANDEM_TEST_SLOT: `${run}_${slot}` }),
}

const left = [...units]
const sqlite: Stage = { width: UNITS, givesWay: true }

if (products.length > 0) {
  const againBeside = { ...postgres, width: AGAIN_BESIDE, more: MORE_BESIDE }
  await besides(left, { ...sqlite, more: MORE_BESIDE }, () =>
    besides(again, againBeside, async () => {
      await runSharing()
      await runProducts({ width: 1 }, products.filter(wantsMachine))
      await closeStaying(PRODUCTS)
    }),
  )
}
/** Whichever of the two runs ends first, the other gets its share of the machine: as many more processes, with databases of their own. */
const more = (): Promise<void> => runFiles(from(left), { ...sqlite, width: AGAIN, first: UNITS })
const moreAgain = (): Promise<void> => runFiles(from(again), { ...postgres, width: UNITS, first: AGAIN })
await Promise.all([runFiles(from(left), sqlite).then(moreAgain), runFiles(from(again), postgres).then(more)])
await closeStaying(UNIT_TESTS)
const passedAlone = await runFailedAlone()
if (url !== null) await dropDatabases(url, `tandem_test_${run}_`)
if (skips.size > 0) console.log(`\nSkipped:\n${[...skips].join('\n')}`)
if (passedAlone.length > 0) console.log(`\nFailed beside others, passed alone:\n${passedAlone.join('\n')}`)
console.log(`\n${Math.round(performance.now() / 1000)} s, ${Math.round(childrenCpuMs() / 1000)} s of CPU`)
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0
