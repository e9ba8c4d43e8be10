import { Histogram } from './histogram.ts'

/** One turn of the wheel [ms]. */
const WHEEL = 256
const TURN_MS = 1
const LEGS = 4096

/** When the packets of a leg leave. */
export interface Plan {
  /** When a leg's frame leaves, of the pacer's clock [ms]. */
  leavesAt(leg: number, frame: number): number
  /** It leaves behind the one after it. */
  isOvertaken(leg: number, frame: number): boolean
}

/** Sends every leg's packets when its plan says, each leg at times of its own: a wheel of milliseconds. */
export class Pacer {
  /** How late packets left [ms]. */
  readonly lag = new Histogram()
  readonly #plan: Plan
  readonly #send: (leg: number, frame: number, now: number) => void
  readonly #turned: () => void
  readonly #wheel: number[][] = Array.from({ length: WHEEL }, () => [])
  #turn: number
  #timer: NodeJS.Timeout | undefined

  /** @param turned called after each look at the clock */
  constructor(legs: number, plan: Plan, send: (leg: number, frame: number, now: number) => void, turned: () => void) {
    this.#plan = plan
    this.#send = send
    this.#turned = turned
    this.#turn = Math.floor(performance.now())
    for (let leg = 0; leg < legs; leg++) this.#schedule(leg, 0)
    this.#timer = setTimeout(() => this.#run(), TURN_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** A frame, and the one after it when that overtakes it: the chain of a leg never waits for what is held up. */
  #schedule(leg: number, frame: number): void {
    const isOvertaken = this.#plan.isOvertaken(leg, frame)
    this.#put(leg, frame, !isOvertaken)
    if (isOvertaken) this.#put(leg, frame + 1, true)
  }

  #put(leg: number, frame: number, goesOn: boolean): void {
    const turn = Math.max(this.#turn, Math.floor(this.#plan.leavesAt(leg, frame)))
    this.#wheel[turn % WHEEL]!.push((frame * LEGS + leg) * 2 + (goesOn ? 1 : 0))
  }

  #run(): void {
    for (let now = performance.now(); this.#turn <= now - 1; this.#turn++) {
      const due = this.#wheel[this.#turn % WHEEL]!
      // What is put meanwhile is later: a frame of a leg is 20 ms behind the one before.
      for (const entry of due) {
        const goesOn = entry % 2 === 1
        const packet = Math.floor(entry / 2)
        const leg = packet % LEGS
        const frame = Math.floor(packet / LEGS)
        now = performance.now()
        this.lag.add(now - this.#plan.leavesAt(leg, frame))
        this.#send(leg, frame, now)
        if (goesOn) this.#schedule(leg, frame + 1)
      }
      due.length = 0
    }
    this.#turned()
    if (this.#timer !== undefined) this.#timer = setTimeout(() => this.#run(), TURN_MS)
  }
}
