import koffi from 'koffi'
import { SharedMemory } from '../../media/rtp/datagrams/libc.ts'

/** `clock_gettime(2)`: the CPU time of this thread alone, whatever else the machine does. */
const CLOCK_THREAD_CPUTIME_ID = 3

const clockGettime = koffi.load(null).func('int clock_gettime(int, uintptr_t)')
const spec = new SharedMemory(16)

/** CPU time that this thread has used [µs]. */
function threadCpuUs(): number {
  clockGettime(CLOCK_THREAD_CPUTIME_ID, spec.address)
  return spec.view.getUint32(0, true) * 1e6 + spec.view.getUint32(8, true) / 1e3
}

/** CPU time between `begin` and `end`, summed in rounds. The median round counts, since the machine disturbs a round now and then. */
export class Meter {
  readonly #rounds: number[] = []
  #round = 0
  #begunAt = 0

  begin(): void {
    this.#begunAt = threadCpuUs()
  }

  end(): void {
    this.#round += threadCpuUs() - this.#begunAt
  }

  /** Ends a round. */
  next(): void {
    this.#rounds.push(this.#round)
    this.#round = 0
  }

  /** Forgets the rounds so far, in which code was still being compiled. */
  clear(): void {
    this.#rounds.length = 0
    this.#round = 0
  }

  /** The median round [µs]. */
  get median(): number {
    return this.#rounds.toSorted((a, b) => a - b)[this.#rounds.length >> 1] ?? 0
  }

  /** The mean round, which includes garbage collections [µs]. */
  get mean(): number {
    return this.#rounds.reduce((sum, us) => sum + us, 0) / this.#rounds.length
  }
}
