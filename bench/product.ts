import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.ts'
import { RestClient } from './rest-client.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CLI = join(ROOT, 'dist', 'control', 'wiring', 'cli.js')
const HOST = '127.0.0.1'
const READY_MS = 60_000
/** How much longer than the drain limit a stop may take. */
const STOP_MARGIN_MS = 15_000
const POLL_MS = 20
/** Number of RTP ports of a product. Ten such ranges lie below the ports of `freePort`. */
const RTP_PORTS_EACH = 1000

/** The API keys of every product that is started here. */
export const FIRST_KEYS = { live: 'sk_live_0000000000000000e2e', test: 'sk_test_0000000000000000e2e' }

/** A data directory after its first start, which the test command has prepared: that saves a third of the time of a start. */
const FIRST_START = process.env.TANDEM_TEST_FIRST_START

/** Options of Node for all processes of the product, from the test command. */
const NODE_OPTIONS = process.env.TANDEM_TEST_NODE_OPTIONS

function freshDirectory(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-'))
  if (FIRST_START !== undefined) cpSync(FIRST_START, folder, { recursive: true })
  return folder
}

/** Ends the product when its standard input closes: it dies with whoever started it, even by SIGKILL. */
const GUARD = `
exec 3<&0
"$@" 3<&- </dev/null &
child=$!
{ cat <&3 >/dev/null 2>&1; kill -KILL $child 2>/dev/null; } >/dev/null 2>&1 &
exec 3<&-
trap 'kill -TERM $child' TERM
wait $child; code=$?
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
exit $code`

export type ProcessName = 'supervisor' | 'media' | 'control'

export interface ProductOptions {
  /** Further TANDEM_* variables. */
  env?: Record<string, string>
  /** Use this directory and leave it there; absent: a fresh one that is removed at the end. */
  dataDir?: string
  /** Command that the product's command is an argument of, such as `taskset`. */
  prefix?: string[]
}

/** The built product, started for a test, the demo or the bench, with ports and keys of its own. */
export class Product extends RestClient {
  readonly sip: { host: string; port: number }
  /** Port of the call WebSocket. */
  readonly wsPort: number
  readonly testKey: string
  readonly dataDir: string
  /** Its configuration. */
  readonly env: Readonly<Record<string, string>>
  /** Everything that the processes wrote to their standard output and error. */
  output = ''
  readonly #child: ChildProcess
  readonly #exited: Promise<number | null>
  /** Resolves when the product has written something. Asking for `/readyz` before would only take CPU from its start. */
  readonly #greeted: Promise<void>
  readonly #keepsData: boolean
  readonly #stopMs: number
  #hasExited = false

  private constructor(env: Record<string, string>, keepsData: boolean, prefix: string[]) {
    super(`http://${HOST}:${env.TANDEM_HTTP_PORT}`, env.TANDEM_LIVE_KEY!)
    this.sip = { host: HOST, port: Number(env.TANDEM_SIP_PORT) }
    this.wsPort = Number(env.TANDEM_WS_PORT)
    this.testKey = env.TANDEM_TEST_KEY!
    this.dataDir = env.TANDEM_DATA_DIR!
    this.env = { ...withoutTandem(process.env), ...(NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS }), ...env }
    this.#keepsData = keepsData
    this.#stopMs = Number(env.TANDEM_DRAIN_SECONDS) * 1000 + STOP_MARGIN_MS
    this.#child = spawn('/bin/sh', ['-c', GUARD, 'guard', ...prefix, process.execPath, CLI, 'start'], {
      cwd: ROOT,
      env: this.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child.stdout!.on('data', text => (this.output += text))
    this.#greeted = new Promise(resolve => this.#child.stdout!.once('data', () => resolve()))
    this.#child.stderr!.on('data', text => (this.output += text))
    this.#exited = new Promise(resolve =>
      this.#child.once('exit', code => {
        this.#hasExited = true
        resolve(code)
      }),
    )
    running.add(this)
  }

  /** Starts the product, and resolves when it is ready. Throws with its last output if it does not become ready. */
  static async start({ env = {}, dataDir, prefix = [] }: ProductOptions = {}): Promise<Product> {
    if (!existsSync(CLI)) throw new Error('dist/ is not there: run "npm run build" first')
    const firstRtpPort = 10_000 + RTP_PORTS_EACH * randomInt(0, 10)
    const product = new Product(
      {
        TANDEM_DATA_DIR: dataDir ?? freshDirectory(),
        TANDEM_HTTP_HOST: HOST,
        TANDEM_HTTP_PORT: String(await freePort()),
        TANDEM_SIP_HOST: HOST,
        TANDEM_SIP_PORT: String(await freePort()),
        TANDEM_WS_PORT: String(await freePort()),
        TANDEM_RTP_PORTS: `${firstRtpPort}-${firstRtpPort + RTP_PORTS_EACH - 1}`,
        TANDEM_LIVE_KEY: FIRST_KEYS.live,
        TANDEM_TEST_KEY: FIRST_KEYS.test,
        TANDEM_ENGINE_THREADS: '1',
        TANDEM_DRAIN_SECONDS: '1',
        TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8',
        // Most runs never speak, and the models take seconds of a core.
        TANDEM_SPEECH_PRELOAD: 'no',
        // It takes a fifth of a second of CPU at each start.
        TANDEM_WARM_UP: 'no',
        ...env,
      },
      dataDir !== undefined,
      prefix,
    )
    const limit = performance.now() + READY_MS
    await Promise.race([product.#greeted, product.#exited, sleep(READY_MS, undefined, { ref: false })])
    const ready = await product.#untilReady(limit)
    if (ready) return product
    await product.stop()
    throw new Error(`the product did not get ready:\n${product.#lastWords()}`)
  }

  async #untilReady(limit = performance.now() + READY_MS): Promise<boolean> {
    while (!this.#hasExited && performance.now() < limit) {
      const status = await fetch(`${this.baseUrl}/readyz`).then(
        async response => {
          await response.arrayBuffer()
          return response.status
        },
        () => 0,
      )
      if (status === 200) return true
      await sleep(POLL_MS)
    }
    return false
  }

  /** Resolves when the product is ready, or ready again after one of its processes was killed. */
  async ready(): Promise<void> {
    if (!(await this.#untilReady())) throw new Error(`the product is not ready:\n${this.#lastWords()}`)
  }

  #lastWords(): string {
    return this.output.slice(-2000)
  }

  /** The current process IDs, which change when a process is restarted; 0: not running. */
  get pids(): Record<ProcessName, number> {
    const read = (name: ProcessName): number => {
      try {
        return Number(readFileSync(join(this.dataDir, 'run', `${name}.pid`), 'utf8'))
      } catch {
        return 0
      }
    }
    return { supervisor: read('supervisor'), media: read('media'), control: read('control') }
  }

  /** Sends SIGTERM and waits for the drain; sends SIGKILL if that takes too long. Idempotent; resolves with the exit code. */
  async stop(): Promise<number | null> {
    if (!this.#hasExited) {
      const { supervisor } = this.pids
      if (supervisor > 0) signal(supervisor, 'SIGTERM')
      else this.#child.kill('SIGTERM')
      const timer = setTimeout(() => this.kill(), this.#stopMs)
      await this.#exited
      clearTimeout(timer)
    }
    this.#child.stdin!.end()
    running.delete(this)
    this.#removeData()
    return this.#exited
  }

  /** Kills all its processes. */
  kill(): void {
    for (const pid of Object.values(this.pids)) if (pid > 0 && !this.#hasExited) signal(pid, 'SIGKILL')
    this.#child.stdin!.destroy()
  }

  /** For a test that is aborted: kills all processes, and removes the data directory. */
  abandon(): void {
    this.kill()
    this.#removeData()
  }

  #removeData(): void {
    if (!this.#keepsData) rmSync(this.dataDir, { recursive: true, force: true })
  }
}

const running = new Set<Product>()
process.on('exit', () => {
  for (const product of running) product.abandon()
})
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => process.exit(1))

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended in the meantime.
  }
}

/** The environment without the product's settings: those of a developer's shell must not affect a test. */
const withoutTandem = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('TANDEM_') ? [] : [[name, value]],
    ),
  )
