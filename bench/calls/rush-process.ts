import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { bundleLoad } from '../bundle.ts'
import type { RushResult } from './rush.ts'
import type { FromRush, ToRush } from './rush-main.ts'

/** Calls that come at a rate (`CallRush`), as their owner holds them: a child process. */
export class RushProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = new Promise((_, failed) =>
      child.once('exit', code => failed(new Error(`the calls ended with code ${code}`))),
    )
    this.#ended.catch(() => {})
  }

  static async open(target: { host: string; port: number; user: string }): Promise<RushProcess> {
    const rush = new RushProcess(fork(bundleLoad('calls', 'rush-main'), [], { execArgv: ['--enable-source-maps'] }))
    await rush.#ask({ type: 'open', target })
    return rush
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Begins so many calls a second. */
  async run(rate: number, seconds: number): Promise<RushResult> {
    const answer = await this.#ask({ type: 'run', rate, seconds })
    if (answer.type !== 'ran') throw new Error(`the calls answered ${answer.type}`)
    return answer.result
  }

  async close(): Promise<void> {
    if (this.#child.exitCode === null) await this.#ask({ type: 'close' })
    this.#child.kill('SIGKILL')
  }

  async #ask(message: ToRush): Promise<FromRush> {
    const answer = once(this.#child, 'message')
    this.#child.send(message)
    const [told] = await Promise.race([answer, this.#ended])
    return told as FromRush
  }
}
