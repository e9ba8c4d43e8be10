import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Percentiles } from '../load/histogram.ts'
import { CProgram } from '../yardstick/c-program.ts'

const SOURCE = fileURLToPath(new URL('./rush.c', import.meta.url))

/** How long a call is talked in [ms]. */
export const TALK_MS = 1000

export interface RushResult {
  /** Begun each second, at times of their own. */
  rate: number
  begun: number
  /** From INVITE to BYE, with audio heard. */
  whole: number
  /** 503: above capacity. */
  refused: number
  /** Answered in another way, in silence, or not at all; the first few. */
  failed: number
  problems: string[]
  /** INVITE to 200 [ms]. */
  setUpMs: Percentiles | null
  /** INVITE to the first packet [ms]. */
  heardMs: Percentiles | null
}

/** Calls that come at a rate, as their owner holds them: a program in C, which takes a third of what our own user agent took of the cores. */
export class RushProcess {
  readonly #program: CProgram
  readonly #child: ChildProcess
  readonly #lines: Interface
  readonly #ended: Promise<never>

  private constructor(program: CProgram, child: ChildProcess) {
    this.#program = program
    this.#child = child
    this.#lines = createInterface({ input: child.stdout! })
    this.#ended = new Promise((_, failed) =>
      child.once('exit', code => failed(new Error(`the calls ended with code ${code}`))),
    )
    this.#ended.catch(() => {})
  }

  static async open({ host, port, user }: { host: string; port: number; user: string }): Promise<RushProcess> {
    const program = CProgram.build(SOURCE)
    if (!(program instanceof CProgram)) throw new Error(`no calls: ${program.missing}`)
    const child = await program.start([host, port, user])
    if (child !== null) return new RushProcess(program, child)
    program.remove()
    throw new Error('the calls find no free ports')
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Begins so many calls a second. */
  async run(rate: number, seconds: number): Promise<RushResult> {
    const answer = once(this.#lines, 'line')
    this.#child.stdin!.write(`${rate} ${seconds}\n`)
    const [line] = await Promise.race([answer, this.#ended])
    return JSON.parse(line as string) as RushResult
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended.catch(() => {})
    this.#program.remove()
  }
}
