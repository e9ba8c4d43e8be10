import { Histogram } from './histogram.ts'

const FRAME_MS = 20
const PHASE_MS = 1
const PHASES = FRAME_MS / PHASE_MS

/**
 * Has every leg send one frame each 20 ms on absolute deadlines. The legs are spread over twenty phases of 1 ms, so that the
 * load comes evenly, as that of independent phones does.
 */
export class Pacer {
  readonly lag = new Histogram()
  readonly #legs: number
  readonly #send: (leg: number, frame: number) => void
  readonly #startedAt: number
  #slot = 0
  #timer: NodeJS.Timeout | undefined

  constructor(legs: number, send: (leg: number, frame: number) => void) {
    this.#legs = legs
    this.#send = send
    this.#startedAt = performance.now()
    this.#arm()
  }

  /** The first frame of which no leg has sent yet. */
  get nextFrame(): number {
    return Math.ceil(this.#slot / PHASES)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(): void {
    const due = this.#startedAt + this.#slot * PHASE_MS
    this.#timer = setTimeout(() => this.#run(), Math.max(0, due - performance.now()))
  }

  #run(): void {
    for (;;) {
      const lagMs = performance.now() - (this.#startedAt + this.#slot * PHASE_MS)
      if (lagMs < 0) break
      this.lag.add(lagMs)
      const frame = Math.floor(this.#slot / PHASES)
      for (let leg = this.#slot % PHASES; leg < this.#legs; leg += PHASES) this.#send(leg, frame)
      this.#slot++
    }
    if (this.#timer !== undefined) this.#arm()
  }
}
