import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/** Legs that are kept beside the running ones when the file is written anew: the newest. It holds at most twice as many. */
const MAX_KEPT = 10_000
const START_FILE = '/proc/sys/kernel/random/boot_id'

interface DialledLegsOptions {
  /** The file, in the data directory. */
  path: string
  /** This start of the machine: what was written before another one may be lost with the power. Null: not known. Absent: the kernel's `boot_id`. */
  machineStart?: string | null
  /** Whether a leg runs here. */
  isLive: (legId: string) => boolean
  /** The file cannot be written, so that the next process will not know. */
  broke: (error: unknown) => void
}

/**
 * The legs whose INVITE may have left, in a file that outlives this process: if it dies, the next one can tell who was called, and nobody is called
 * twice for one attempt. The first line names the start of the machine, each other one a leg.
 */
export class DialledLegs {
  /** Whom earlier processes had called, or were about to; null: not known. */
  readonly before: readonly string[] | null
  readonly #options: DialledLegsOptions
  readonly #machineStart: string | null
  readonly #kept: Set<string>
  /** Null: nothing was written yet, or nothing can be. */
  #file: number | null = null
  #isBroken = false

  constructor(options: DialledLegsOptions) {
    this.#options = options
    this.#machineStart =
      options.machineStart === undefined ? (textOf(START_FILE)?.trim() ?? null) : options.machineStart
    const before = this.#read()
    this.#kept = new Set(before)
    // What is not known stays so until something is called: control has finished with the earlier processes by then.
    if (before !== null) this.#try(() => this.#rewrite())
    // Who could not write either would have left an old file.
    this.before = this.#isBroken ? null : before
  }

  /** To be called before the INVITE leaves. It is written when this returns: some microseconds, since no disk is waited for. */
  note(legId: string): void {
    if (this.#isBroken || this.#kept.has(legId)) return
    this.#kept.add(legId)
    this.#try(() => {
      if (this.#file === null || this.#kept.size > 2 * MAX_KEPT) this.#rewrite()
      else writeFileSync(this.#file, `${legId}\n`)
    })
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }

  #read(): string[] | null {
    const [start, ...legIds] = textOf(this.#options.path)?.split('\n') ?? []
    return start !== undefined && start === this.#machineStart ? legIds.filter(legId => legId !== '') : null
  }

  /** Begins the file anew, with the newest and the running legs. */
  #rewrite(): void {
    const { path, isLive } = this.#options
    const old = Math.max(0, this.#kept.size - MAX_KEPT)
    let n = 0
    for (const legId of this.#kept) if (n++ < old && !isLive(legId)) this.#kept.delete(legId)
    const file = openSync(`${path}.new`, 'w', 0o600)
    writeFileSync(file, [this.#machineStart ?? 'unknown', ...this.#kept, ''].join('\n'))
    renameSync(`${path}.new`, path)
    this.close()
    this.#file = file
  }

  /** Calls go on without the file. Then it must not be there, so that the next process does not believe it. */
  #try(write: () => void): void {
    try {
      write()
    } catch (error) {
      this.#isBroken = true
      this.#options.broke(error)
      this.close()
      for (const path of [this.#options.path, `${this.#options.path}.new`]) {
        try {
          rmSync(path, { force: true })
        } catch {
          // The next process cannot write it either, and then does not believe it.
        }
      }
    }
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
