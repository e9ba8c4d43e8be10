import { execFileSync } from 'node:child_process'
import { suite as uvuSuite } from 'uvu'

const DEFAULT_TIMEOUT_MS = 30_000
/** Long enough for a product to start in a hook. */
const HOOK_TIMEOUT_MS = 120_000
/** Tests `together` at a time: with more of them, their starts alone keep a slow machine busy for longer than their peers wait. */
const AT_ONCE = 16

export interface TestOptions {
  timeoutMs?: number
  /** The test mostly waits, and shares nothing with the others of the suite that have this option: as many as `AT_ONCE` run at a time. */
  together?: boolean
  /** Why the test cannot run here, such as `missingPrograms`: it is skipped. For a whole suite: its hooks are, too. */
  missing?: string | null
}

export interface Suite {
  /** Registers a test; its name is the sentence of the specification or RFC that it proves. */
  (name: string, run: () => unknown, options?: TestOptions): void
  /** Registers a test that cannot run here, and prints why. */
  skip(name: string, reason: string): void
  before(run: () => unknown): void
  after(run: () => unknown): void
  beforeEach(run: () => unknown): void
  afterEach(run: () => unknown): void
  /** Must stand last in the file. */
  run(): void
}

/**
 * A uvu suite whose tests fail when they take longer than their time-out (uvu itself would wait for ever). `all`: options of each test that does
 * not have others.
 */
export function suite(title: string, all: TestOptions = {}): Suite {
  const inner = uvuSuite(title)
  const together: (() => Promise<void>)[] = []
  const lane = async (): Promise<void> => {
    for (let next = together.shift(); next !== undefined; next = together.shift()) await next().catch(() => {})
  }
  let isBegun = false
  const beginTogether = (): void => {
    if (!isBegun) for (let n = 0; n < AT_ONCE; n++) void lane()
    isBegun = true
  }
  const skip = (name: string, reason: string): void => {
    console.log(`SKIP ${title}: ${name} (${reason})`)
    inner.skip(name)
  }
  const test = (name: string, run: () => unknown, own: TestOptions = {}): void => {
    const options = { ...all, ...own }
    if (options.missing != null) {
      skip(name, options.missing)
      return
    }
    let running: Promise<void> | undefined
    const begin = (): Promise<void> => {
      running ??= withTimeout(run, options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
      // A rejection before the test's turn must not count as unhandled.
      running.catch(() => {})
      return running
    }
    if (options.together) together.push(begin)
    inner(name, () => {
      if (options.together) beginTogether()
      return begin()
    })
  }
  const ifRuns =
    (register: (run: () => unknown) => void) =>
    (run: () => unknown): void => {
      if (all.missing == null) register(run)
    }
  return Object.assign(test, {
    skip,
    before: ifRuns(run => inner.before(() => told(title, 'before', withTimeout(run, HOOK_TIMEOUT_MS)))),
    after: ifRuns(run => inner.after(() => told(title, 'after', withTimeout(run, HOOK_TIMEOUT_MS)))),
    beforeEach: ifRuns(run => inner.before.each(() => withTimeout(run, DEFAULT_TIMEOUT_MS))),
    afterEach: ifRuns(run => inner.after.each(() => withTimeout(run, DEFAULT_TIMEOUT_MS))),
    run: () => inner.run(),
  })
}

/** uvu fails a file whose hook throws, but does not say why. */
async function told(title: string, hook: string, running: Promise<void>): Promise<void> {
  try {
    await running
  } catch (error) {
    console.error(`${title}: ${hook} failed:`, error)
    throw error
  }
}

async function withTimeout(run: () => unknown, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    await Promise.race([Promise.resolve().then(run), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Why tests that need these programs cannot run here, or null when all are installed. */
export function missingPrograms(...programs: string[]): string | null {
  const missing = programs.filter(program => {
    try {
      execFileSync('which', [program], { stdio: 'ignore' })
      return false
    } catch {
      return true
    }
  })
  return missing.length === 0 ? null : `not installed: ${missing.join(', ')}`
}
