import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { SeenCall } from './far-end.ts'
import type { FromFarEnd, ToFarEnd } from './far-end-main.ts'

/** The parties that the campaign calls, in a child process. */
export class FarEndProcess {
  readonly #child: ChildProcess
  port = 0

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async open(seed: number): Promise<FarEndProcess> {
    const entry = fileURLToPath(new URL('./far-end-main.ts', import.meta.url))
    const farEnd = new FarEndProcess(fork(entry, [], { execArgv: ['--import', 'tsx'] }))
    const opened = await farEnd.#ask({ type: 'open', seed })
    farEnd.port = opened.type === 'opened' ? opened.port : 0
    return farEnd
  }

  /** All INVITEs so far, in their order. */
  async seen(): Promise<SeenCall[]> {
    const told = await this.#ask({ type: 'seen' })
    return told.type === 'seen' ? told.calls : []
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #ask(message: ToFarEnd): Promise<FromFarEnd> {
    const answer = once(this.#child, 'message')
    this.#child.send(message)
    const [told] = await answer
    return told as FromFarEnd
  }
}
