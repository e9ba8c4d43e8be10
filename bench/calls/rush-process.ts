import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Percentiles } from '../load/histogram.ts'
import { CProgram } from '../yardstick/c-program.ts'

const SOURCE = fileURLToPath(new URL('./rush.c', import.meta.url))

/** How long a call lasts after its answer [ms]. */
export const TALK_MS = 1000

export interface RushResult {
  /** Mean number of calls begun per second, at random times. */
  rate: number
  begun: number
  /** Calls that went from INVITE to BYE as they should, and heard audio. */
  whole: number
  /** Refused with 503: above capacity. */
  refused: number
  /** Calls that were refused otherwise, heard nothing or were not answered; `problems` describes the first few. */
  failed: number
  problems: string[]
  /** From INVITE to 200 [ms]. */
  setUpMs: Percentiles | null
  /** From INVITE to the first RTP packet [ms]. */
  heardMs: Percentiles | null
}

/** Calls that begin at a given rate: a C program (`rush.c`), which uses a third of the CPU that our own user agent used. */
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

  /** Begins `rate` calls per second; resolves when all are over. */
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
