import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { CProgram } from './c-program.ts'

const SOURCE = fileURLToPath(new URL('./metronome.c', import.meta.url))

/** How often the machine woke a thread late that only sleeps. */
export interface MachineLateness {
  ticks: number
  /** Number of ticks that were more than 2 ms and more than 5 ms late. */
  behind: number
  late: number
  /** The thread had real-time priority: then only something below the operating system makes it late, such as a host that gives the core to others. */
  isRealTime: boolean
}

/** The C program that wakes every 5 ms beside the measured process (`metronome.c`). */
export class Metronome {
  readonly pid: number
  readonly #child: ChildProcess
  readonly #program: CProgram

  private constructor(program: CProgram, child: ChildProcess) {
    this.#program = program
    this.#child = child
    this.pid = child.pid!
  }

  /** Null: there is no C compiler, or the program does not start. */
  static async start(): Promise<Metronome | null> {
    const program = CProgram.build(SOURCE)
    if (!(program instanceof CProgram)) return null
    const child = await program.start([])
    if (child !== null) return new Metronome(program, child)
    program.remove()
    return null
  }

  async stop(): Promise<MachineLateness> {
    const said = text(this.#child.stdout!)
    const ended = once(this.#child, 'exit')
    this.#child.stdin?.end()
    const [ticks = 0, behind = 0, late = 0, isRealTime = 0] = (await said).trim().split(' ').map(Number)
    await ended
    this.#program.remove()
    return { ticks, behind, late, isRealTime: isRealTime === 1 }
  }
}
