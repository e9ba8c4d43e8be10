/** How the test command runs a test file: in a process of its own, or in one that runs many. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { COLLECTS_ALONE, END_OF_FILE, NO_MORE_FILES, OPTIMISES_LATE } from './worker-messages.ts'

const FILE_TIMEOUT_MS = 240_000
/** After this many files a worker is replaced by a new one, to free its memory. */
const FILES_PER_WORKER = 160
/** How long a process may take to end by itself; then it is killed. */
const CLOSE_TIMEOUT_MS = 60_000

/** Tests leave much garbage at once. A larger young generation [MB] is collected less often, which saves 3 % of their CPU. */
const LARGE_YOUNG = ['--min-semi-space-size=16', '--max-semi-space-size=32']

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Result of a file. `problem`: why it counts as failed, whatever its output says, or null. `cpuMs`: CPU of the file and of its children
 * that have ended.
 */
export interface FileRun {
  output: string
  problem: string | null
  ms: number
  cpuMs: number
}

/** Where and how files run. */
interface Stage {
  /** The folder of the bundles. */
  bundles: string
  env: NodeJS.ProcessEnv
  /** Runs at a lower priority (nice 10), with what the others leave of the machine. */
  givesWay?: true
}

const builtFile = ({ bundles }: Stage, path: string): string => join(bundles, path.replace(/\.ts$/, '.js'))

const urlOf = (stage: Stage, path: string): string => pathToFileURL(builtFile(stage, path)).href

/** Starts a worker process. `args`: the URL of the only file that it runs; without it, URLs follow over the channel. */
function start(stage: Stage, ...args: string[]): ChildProcess {
  const flags = [
    OPTIMISES_LATE,
    ...LARGE_YOUNG,
    '--enable-source-maps',
    ...(stage.givesWay === true ? [COLLECTS_ALONE] : []),
  ]
  const command = [process.execPath, ...flags, builtFile(stage, 'worker.ts'), ...args]
  const [program, ...rest] = stage.givesWay === true ? ['nice', '-n', '10', ...command] : command
  return spawn(program!, rest, {
    cwd: root,
    env: {
      ...stage.env,
      TANDEM_TEST_BUNDLES: stage.bundles,
      TANDEM_TEST_NODE_OPTIONS: `--import=${urlOf(stage, 'optimises-late.ts')}`,
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(args.length === 0 ? ['ipc' as const] : [])],
  })
}

const CLOCK_TICK_MS = 10

/** CPU of a process and of the children that it has waited for, or of these children only [ms]; 0 if the system has no `/proc`. */
function cpuMsOf(pid: number | 'self', who: 'both' | 'children'): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields.slice(who === 'both' ? 11 : 13, 15).reduce((sum, ticks) => sum + Number(ticks) * CLOCK_TICK_MS, 0)
  } catch {
    return 0
  }
}

/** CPU of all children that have ended, including what they had started [ms]. */
export const childrenCpuMs = (): number => cpuMsOf('self', 'children')

let counted = childrenCpuMs()
/** CPU of the children that have ended since the previous call [ms]. */
function newlyCounted(): number {
  const before = counted
  counted = childrenCpuMs()
  return counted - before
}

/** Kills a process that still runs after `ms`. The returned function says whether that happened, and stops the timer. */
function deadline(child: ChildProcess, ms: number): () => boolean {
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    child.kill('SIGKILL')
  }, ms)
  return () => {
    clearTimeout(timer)
    return isOver
  }
}

const stillRunning = (ms: number): string => `still running after ${ms / 1000} s, killed`

/** Runs one test file (its path relative to `test/`) in a process of its own. */
export function runAlone(path: string, stage: Stage): Promise<FileRun> {
  return new Promise(resolve => {
    const started = Date.now()
    const child = start(stage, urlOf(stage, path))
    let output = ''
    let cpuMs = 0
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', data => (output += data))
    const wasKilled = deadline(child, FILE_TIMEOUT_MS)
    child.on('exit', () => {
      cpuMs = newlyCounted()
    })
    child.on('close', code => {
      const problem = wasKilled() ? stillRunning(FILE_TIMEOUT_MS) : code === 0 ? null : `ended with code ${code}`
      resolve({ output, problem, ms: Date.now() - started, cpuMs })
    })
  })
}

/** Runs test files one after the other, in a process that is replaced after many of them. */
export class Worker {
  readonly #stage: Stage
  #child: ChildProcess | null = null
  #files = 0
  #isExcused = false
  #output = ''
  /** Called when the output has grown, or with the exit code when the process has ended. */
  #changed: (gone?: { code: number | null }) => void = () => {}

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** If the process is replaced first, a problem at its end is reported with this file. */
  async run(path: string): Promise<FileRun> {
    const left = this.#files >= FILES_PER_WORKER ? await this.close() : null
    const child = this.#child ?? this.#start()
    const started = Date.now()
    const cpuBefore = cpuMsOf(child.pid!, 'both')
    const wasKilled = deadline(child, FILE_TIMEOUT_MS)
    this.#files++
    this.#output = ''
    child.send(urlOf(this.#stage, path))
    const problem = await new Promise<string | null>(resolve => {
      this.#changed = gone => {
        if (gone !== undefined) resolve(`its process ended with code ${gone.code}`)
        else if (this.#output.includes(END_OF_FILE)) resolve(null)
      }
    })
    const output = this.#output.replaceAll(END_OF_FILE, '')
    return {
      output,
      problem: wasKilled() ? stillRunning(FILE_TIMEOUT_MS) : (problem ?? left),
      ms: Date.now() - started,
      cpuMs: Math.max(cpuMsOf(child.pid!, 'both') - cpuBefore, 0),
    }
  }

  #start(): ChildProcess {
    const child = start(this.#stage)
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', data => {
        this.#output += data
        this.#changed()
      })
    }
    child.on('exit', newlyCounted)
    child.on('close', code => {
      this.#child = null
      this.#changed({ code })
    })
    this.#child = child
    this.#files = 0
    this.#isExcused = false
    return child
  }

  /** Ignores what the process leaves open: a failed test may not have closed its resources, and its file runs again anyway. */
  excuse(): void {
    this.#isExcused = true
  }

  /** Lets the process end by itself. Returns the problem if a file left something open that keeps it running, otherwise null. */
  async close(): Promise<string | null> {
    const child = this.#child
    if (child === null) return null
    const wasKilled = deadline(child, CLOSE_TIMEOUT_MS)
    this.#output = ''
    const gone = new Promise<number | null>(resolve => {
      this.#changed = end => {
        if (end !== undefined) resolve(end.code)
      }
    })
    child.send(NO_MORE_FILES)
    const code = await gone
    if (wasKilled()) return stillRunning(CLOSE_TIMEOUT_MS)
    return code === 0 || this.#isExcused ? null : `a file that it ran before: ${this.#output.trim()}`
  }
}
