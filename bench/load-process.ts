import { type ChildProcess, fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { BUNDLES } from '../build/parts.ts'
import type { FromLoad, LoadPlan, LoadResult, ToLoad } from './load/messages.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Within the package, where what it imports is found. */
const OUT = join(ROOT, '.test-run', `load-${process.pid}`)
let bundled: string | null = null

/** The load as a file for each of its threads, made as the product's are. Module by module, as tsx loads it, it takes more of its core, and is later for that. */
function bundle(): string {
  if (bundled !== null) return bundled
  bundled = join(OUT, 'main.mjs')
  const entryPoints = ['main', 'speaking-thread'].map(name => join(ROOT, 'bench', 'load', `${name}.ts`))
  buildSync({ ...BUNDLES, packages: 'external', entryPoints, outdir: OUT, outExtension: { '.js': '.mjs' } })
  process.once('exit', () => rmSync(OUT, { recursive: true, force: true }))
  return bundled
}

/** The load as its owner holds it: a child process. */
export class LoadProcess {
  readonly #child: ChildProcess
  #expected: { type: FromLoad['type']; done: (message: FromLoad) => void; failed: (error: Error) => void } | null = null

  constructor() {
    this.#child = fork(bundle(), [], { execArgv: ['--enable-source-maps'] })
    this.#child.on('message', (message: FromLoad) => this.#on(message))
    this.#child.on('exit', code => this.#expected?.failed(new Error(`the load ended with code ${code}`)))
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Resolves when all calls are up. */
  async prepare(plan: LoadPlan): Promise<{ streamPort: number | null }> {
    this.#tell({ type: 'prepare', plan })
    return this.#next('ready')
  }

  /** `during` reads the counters of others; it is called at the beginning and at the end. */
  async measure<T>(seconds: number, during: () => T): Promise<{ result: LoadResult; before: T; after: T }> {
    this.#tell({ type: 'measure', seconds })
    await this.#next('began')
    const before = during()
    await this.#next('ended')
    const after = during()
    const { result } = await this.#next('measured')
    return { result, before, after }
  }

  /** Hangs up all calls. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const exited = new Promise(resolve => this.#child.once('exit', resolve))
    this.#tell({ type: 'finish' })
    await exited
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #tell(message: ToLoad): void {
    this.#child.send(message)
  }

  #next<T extends FromLoad['type']>(type: T): Promise<Extract<FromLoad, { type: T }>> {
    return new Promise((done, failed) => {
      this.#expected = { type, done: message => done(message as Extract<FromLoad, { type: T }>), failed }
    })
  }

  #on(message: FromLoad): void {
    const expected = this.#expected
    if (expected === null) return
    if (message.type === 'failed') expected.failed(new Error(`load: ${message.message}`))
    else if (message.type === expected.type) {
      this.#expected = null
      expected.done(message)
    }
  }
}
