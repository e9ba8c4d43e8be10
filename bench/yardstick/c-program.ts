import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const COMPILERS = ['cc', 'gcc', 'clang']

/** A C program in one file, compiled for this machine. It prints a line when it is ready, and exits when its standard input ends. */
export class CProgram {
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
  }

  /** Compiles the program. `missing`: why that is not possible. */
  static build(source: string): CProgram | { missing: string } {
    const compiler = COMPILERS.find(name => spawnSync(name, ['--version']).status === 0)
    if (compiler === undefined) return { missing: 'no C compiler here' }
    const program = new CProgram(mkdtempSync(join(tmpdir(), 'tandem-bench-')))
    const compiled = spawnSync(compiler, ['-O3', '-march=native', '-o', program.#file, source, '-lm'], {
      encoding: 'utf8',
    })
    if (compiled.status === 0) return program
    program.remove()
    return { missing: `${source} does not compile with ${compiler}: ${compiled.stderr.split('\n')[0]}` }
  }

  get #file(): string {
    return join(this.#directory, 'program')
  }

  /** Starts the program; null: it exited before it was ready. */
  async start(args: readonly (string | number)[]): Promise<ChildProcess | null> {
    const child = spawn(this.#file, args.map(String), { stdio: ['pipe', 'pipe', 'ignore'] })
    const isReady = await Promise.race([
      once(child.stdout!, 'data').then(() => true),
      once(child, 'exit').then(() => false),
    ])
    return isReady ? child : null
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
