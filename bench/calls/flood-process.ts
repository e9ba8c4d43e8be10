import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FromFlood, ToFlood } from './flood-main.ts'

/** A flood in a child process. */
export class FloodProcess {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async open(hosts: number, to: { host: string; port: number }): Promise<FloodProcess> {
    const entry = fileURLToPath(new URL('./flood-main.ts', import.meta.url))
    const flood = new FloodProcess(fork(entry, [], { execArgv: ['--import', 'tsx'] }))
    await flood.#ask({ type: 'open', hosts, host: to.host, port: to.port })
    return flood
  }

  begin(perSecond: number): void {
    this.#child.send({ type: 'begin', perSecond } satisfies ToFlood)
  }

  /** @returns number of packets sent since the start */
  async stop(): Promise<number> {
    const answer = await this.#ask({ type: 'stop' })
    return answer.type === 'stopped' ? answer.sent : 0
  }

  get pid(): number {
    return this.#child.pid!
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #ask(message: ToFlood): Promise<FromFlood> {
    const answer = once(this.#child, 'message')
    this.#child.send(message)
    const [told] = await answer
    return told as FromFlood
  }
}
