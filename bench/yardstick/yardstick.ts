import { fileURLToPath } from 'node:url'
import { CProgram } from './c-program.ts'

const SOURCE = fileURLToPath(new URL('./conference.c', import.meta.url))
const PORT_TRIES = 10
const FIRST_PORT = 32_000
const PORT_STEP = 2000

/** The C program that does the minimum for conferences (`conference.c`). */
export class Yardstick {
  readonly #program: CProgram
  #port = FIRST_PORT

  private constructor(program: CProgram) {
    this.#program = program
  }

  /** Compiles the program. `missing`: why that is not possible. */
  static build(): Yardstick | { missing: string } {
    const program = CProgram.build(SOURCE)
    return program instanceof CProgram
      ? new Yardstick(program)
      : { missing: `${program.missing}: the ratio to the yardstick is not measured` }
  }

  /** Starts the program with one port per leg. It exits with this process. */
  async start(legs: number, roomSize: number): Promise<{ pid: number; ports: number[]; stop(): void }> {
    for (let attempt = 0; attempt < PORT_TRIES; attempt++) {
      const first = this.#port
      this.#port = FIRST_PORT + ((this.#port - FIRST_PORT + PORT_STEP) % (PORT_TRIES * PORT_STEP))
      const child = await this.#program.start([legs, roomSize, first])
      if (child === null) continue
      const ports = Array.from({ length: legs }, (_, leg) => first + 2 * leg)
      return { pid: child.pid!, ports, stop: () => child.stdin?.end() }
    }
    throw new Error('the yardstick finds no free ports')
  }

  remove(): void {
    this.#program.remove()
  }
}
