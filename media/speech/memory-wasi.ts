/**
 * As much of WASI preview 1 as a program needs that is given arguments and writes one file, all in memory: no directory of the
 * machine is opened to it, and nothing of a call is written to a disk.
 */

const ERRNO_SUCCESS = 0
const ERRNO_BADF = 8
const ERRNO_INVAL = 28

const STDERR = 2
const DIRECTORY = 3
const OUTPUT = 4
const DIRECTORY_NAME = '/'

const FILETYPE_CHARACTER_DEVICE = 2
const FILETYPE_DIRECTORY = 3
const FILETYPE_REGULAR = 4
const ALL_RIGHTS = 0xffff_ffff_ffff_ffffn
const FDSTAT_BYTES = 24

/** More output than this is refused [bytes]. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** How a program leaves: `proc_exit` has no other way out of WebAssembly. */
class Exit {
  readonly code: number

  constructor(code: number) {
    this.code = code
  }
}

/**
 * Runs a WASI program once. Any file that it opens is one and the same output file.
 * @returns what it wrote to that file, or `{ error }`: its exit code, or how it broke
 */
export function runProgram(
  program: WebAssembly.Module,
  args: readonly string[],
): { output: Buffer } | { error: string } {
  const run = new ProgramRun(args)
  try {
    const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: run.imports })
    run.memory = instance.exports.memory as WebAssembly.Memory
    ;(instance.exports._start as () => void)()
  } catch (error) {
    if (!(error instanceof Exit)) return { error: error instanceof Error ? error.message : String(error) }
    if (error.code !== 0) return { error: `exit code ${error.code}: ${run.complaints}` }
  }
  return { output: run.output }
}

class ProgramRun {
  memory!: WebAssembly.Memory
  complaints = ''
  readonly #args: Buffer[]
  #file = Buffer.alloc(256 * 1024)
  #length = 0
  #position = 0

  constructor(args: readonly string[]) {
    this.#args = args.map(arg => Buffer.from(`${arg}\0`, 'utf8'))
  }

  get output(): Buffer {
    return this.#file.subarray(0, this.#length)
  }

  /** A view of the memory as it is now: it moves when it grows. */
  get #view(): DataView {
    return new DataView(this.memory.buffer)
  }

  readonly imports: Record<string, (...args: never[]) => number> = {
    args_sizes_get: (count: number, bytes: number) => {
      this.#view.setUint32(count, this.#args.length, true)
      this.#view.setUint32(bytes, Buffer.concat(this.#args).length, true)
      return ERRNO_SUCCESS
    },
    args_get: (pointers: number, text: number) => {
      let at = text
      this.#args.forEach((arg, i) => {
        this.#view.setUint32(pointers + 4 * i, at, true)
        new Uint8Array(this.memory.buffer).set(arg, at)
        at += arg.length
      })
      return ERRNO_SUCCESS
    },
    clock_time_get: (_clock: number, _precision: bigint, time: number) => {
      this.#view.setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true)
      return ERRNO_SUCCESS
    },
    fd_prestat_get: (fd: number, prestat: number) => {
      if (fd !== DIRECTORY) return ERRNO_BADF
      this.#view.setUint32(prestat, 0, true)
      this.#view.setUint32(prestat + 4, DIRECTORY_NAME.length, true)
      return ERRNO_SUCCESS
    },
    fd_prestat_dir_name: (fd: number, name: number, length: number) => {
      if (fd !== DIRECTORY) return ERRNO_BADF
      new Uint8Array(this.memory.buffer, name, length).set(Buffer.from(DIRECTORY_NAME).subarray(0, length))
      return ERRNO_SUCCESS
    },
    fd_fdstat_get: (fd: number, stat: number) => {
      const type = fd === OUTPUT ? FILETYPE_REGULAR : fd === DIRECTORY ? FILETYPE_DIRECTORY : FILETYPE_CHARACTER_DEVICE
      new Uint8Array(this.memory.buffer, stat, FDSTAT_BYTES).fill(0)
      this.#view.setUint8(stat, type)
      this.#view.setBigUint64(stat + 8, ALL_RIGHTS, true)
      this.#view.setBigUint64(stat + 16, ALL_RIGHTS, true)
      return ERRNO_SUCCESS
    },
    fd_fdstat_set_flags: () => ERRNO_SUCCESS,
    path_open: (...args: number[]) => {
      this.#length = this.#position = 0
      this.#view.setUint32(args[8]!, OUTPUT, true)
      return ERRNO_SUCCESS
    },
    fd_write: (fd: number, vectors: number, count: number, written: number) => {
      let total = 0
      for (let i = 0; i < count; i++) {
        const at = this.#view.getUint32(vectors + 8 * i, true)
        const length = this.#view.getUint32(vectors + 8 * i + 4, true)
        if (!this.#write(fd, new Uint8Array(this.memory.buffer, at, length))) return ERRNO_INVAL
        total += length
      }
      this.#view.setUint32(written, total, true)
      return ERRNO_SUCCESS
    },
    fd_read: (_fd: number, _vectors: number, _count: number, read: number) => {
      this.#view.setUint32(read, 0, true)
      return ERRNO_SUCCESS
    },
    fd_seek: (fd: number, offset: bigint, whence: number, position: number) => {
      if (fd !== OUTPUT) return ERRNO_BADF
      const base = [0, this.#position, this.#length][whence]
      const target = Number(offset) + (base ?? Number.NaN)
      if (!(target >= 0 && target <= MAX_OUTPUT_BYTES)) return ERRNO_INVAL
      this.#position = target
      this.#view.setBigUint64(position, BigInt(target), true)
      return ERRNO_SUCCESS
    },
    fd_close: () => ERRNO_SUCCESS,
    proc_exit: (code: number) => {
      throw new Exit(code)
    },
  }

  #write(fd: number, bytes: Uint8Array): boolean {
    if (fd !== OUTPUT) {
      if (fd === STDERR) this.complaints = (this.complaints + Buffer.from(bytes).toString('utf8')).slice(0, 500)
      return true
    }
    const end = this.#position + bytes.length
    if (end > MAX_OUTPUT_BYTES) return false
    if (end > this.#file.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.#file.length))
      this.#file.copy(larger, 0, 0, this.#length)
      this.#file = larger
    }
    this.#file.set(bytes, this.#position)
    this.#position = end
    this.#length = Math.max(this.#length, end)
    return true
  }
}
