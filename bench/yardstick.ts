import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('./yardstick/conference.c', import.meta.url))
const COMPILERS = ['cc', 'gcc', 'clang']
const PORT_TRIES = 10
const FIRST_PORT = 32_000
const PORT_STEP = 2000

/** The C program that does the least for a conference, compiled for this machine. */
export class Yardstick {
  readonly #directory: string
  #port = FIRST_PORT

  private constructor(directory: string) {
    this.#directory = directory
  }

  /** Compiles; or says why not. */
  static build(): Yardstick | { missing: string } {
    const compiler = COMPILERS.find(name => spawnSync(name, ['--version']).status === 0)
    if (compiler === undefined) return { missing: 'no C compiler here: the ratio to the yardstick is not measured' }
    const directory = mkdtempSync(join(tmpdir(), 'tandem-bench-'))
    const yardstick = new Yardstick(directory)
    const compiled = spawnSync(compiler, ['-O3', '-march=native', '-o', yardstick.#program, SOURCE], {
      encoding: 'utf8',
    })
    if (compiled.status === 0) return yardstick
    yardstick.remove()
    return { missing: `the yardstick does not compile with ${compiler}: ${compiled.stderr.split('\n')[0]}` }
  }

  get #program(): string {
    return join(this.#directory, 'conference')
  }

  /** Starts it with one port per leg; it ends with us. */
  async start(legs: number, roomSize: number): Promise<{ pid: number; ports: number[]; stop(): void }> {
    for (let attempt = 0; attempt < PORT_TRIES; attempt++) {
      const first = this.#port
      this.#port = FIRST_PORT + ((this.#port - FIRST_PORT + PORT_STEP) % (PORT_TRIES * PORT_STEP))
      const child = spawn(this.#program, [legs, roomSize, first].map(String), { stdio: ['pipe', 'pipe', 'ignore'] })
      if (!(await isReady(child))) continue
      const ports = Array.from({ length: legs }, (_, leg) => first + 2 * leg)
      return { pid: child.pid!, ports, stop: () => child.stdin?.end() }
    }
    throw new Error('the yardstick finds no free ports')
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

async function isReady(child: ChildProcess): Promise<boolean> {
  const [, isUp] = await Promise.race([
    once(child.stdout!, 'data').then(data => [data, true] as const),
    once(child, 'exit').then(code => [code, false] as const),
  ])
  return isUp
}
