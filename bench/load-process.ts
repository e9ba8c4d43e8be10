import { type ChildProcess, fork } from 'node:child_process'
import { bundleLoad } from './bundle.ts'
import { Refused } from './load/caller.ts'
import type { FromLoad, LoadPlan, LoadResult, ToLoad } from './load/messages.ts'

/** A load in a child process. */
export class LoadProcess {
  readonly #child: ChildProcess
  #expected: { type: FromLoad['type']; done: (message: FromLoad) => void; failed: (error: Error) => void } | null = null

  constructor() {
    this.#child = fork(bundleLoad('load', 'main', ['speaking-thread']), [], { execArgv: ['--enable-source-maps'] })
    this.#child.on('message', (message: FromLoad) => this.#on(message))
    this.#child.on('exit', code => this.#expected?.failed(new Error(`the load ended with code ${code}`)))
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Resolves when all legs talk. Throws `Refused` if a call is refused for good; then all others have ended. */
  async prepare(plan: LoadPlan): Promise<{ streamPort: number | null }> {
    this.#tell({ type: 'prepare', plan })
    return this.#next('ready')
  }

  /** `during` is called at the beginning and at the end, to read counters of what is measured. */
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
    if (message.type === 'failed') {
      const { refusedWith, message: why } = message
      expected.failed(refusedWith === null ? new Error(`load: ${why}`) : new Refused(refusedWith, why))
    } else if (message.type === expected.type) {
      this.#expected = null
      expected.done(message)
    }
  }
}
