import { Histogram } from './histogram.ts'

/** Length of a turn of the wheel: how much later than planned a packet leaves at most, if nothing delays the process [ms]. */
export const TURN_MS = 1 / 4
/** Number of turns; the next packet of a leg must leave within as many. */
const WHEEL = 1024
const LEGS = 4096

/** When the packets of each leg leave. */
export interface Plan {
  /** When a leg's frame leaves, by the pacer's clock [ms]. */
  leavesAt(leg: number, frame: number): number
  /** Whether a leg's frame leaves after the next one. */
  isOvertaken(leg: number, frame: number): boolean
}

/** Sends the packets of all legs at the times of the plan: a timer wheel. */
export class Pacer {
  /** How late packets left [ms]. */
  readonly lag = new Histogram()
  readonly #plan: Plan
  readonly #send: (leg: number, frame: number, now: number) => void
  readonly #now: () => number
  readonly #turnMs: number
  readonly #wheel: number[][] = Array.from({ length: WHEEL }, () => [])
  #turn: number

  /** @param now the plan's clock [ms] */
  constructor(
    legs: number,
    plan: Plan,
    send: (leg: number, frame: number, now: number) => void,
    now: () => number,
    turnMs = TURN_MS,
  ) {
    this.#turnMs = turnMs
    this.#plan = plan
    this.#send = send
    this.#now = now
    this.#turn = Math.floor(now() / turnMs)
    for (let leg = 0; leg < legs; leg++) this.#schedule(leg, 0)
  }

  /** Sends what is due. @returns time until something is due again [ms] */
  advance(): number {
    for (let now = this.#now(); (this.#turn + 1) * this.#turnMs <= now; this.#turn++) {
      const due = this.#wheel[this.#turn % WHEEL]!
      // Sending schedules only later turns: the next frame of a leg is due 20 ms later.
      for (const entry of due) {
        const goesOn = entry % 2 === 1
        const packet = Math.floor(entry / 2)
        const leg = packet % LEGS
        const frame = Math.floor(packet / LEGS)
        now = this.#now()
        this.lag.add(now - this.#plan.leavesAt(leg, frame))
        this.#send(leg, frame, now)
        if (goesOn) this.#schedule(leg, frame + 1)
      }
      due.length = 0
    }
    let next = this.#turn
    while (this.#wheel[next % WHEEL]!.length === 0 && next < this.#turn + WHEEL) next++
    return (next + 1) * this.#turnMs - this.#now()
  }

  /** Schedules a frame; also the next one, if that overtakes it. Later frames of the leg follow the one that is not held up. */
  #schedule(leg: number, frame: number): void {
    const isOvertaken = this.#plan.isOvertaken(leg, frame)
    this.#put(leg, frame, !isOvertaken)
    if (isOvertaken) this.#put(leg, frame + 1, true)
  }

  #put(leg: number, frame: number, goesOn: boolean): void {
    const turn = Math.max(this.#turn, Math.floor(this.#plan.leavesAt(leg, frame) / this.#turnMs))
    this.#wheel[turn % WHEEL]!.push((frame * LEGS + leg) * 2 + (goesOn ? 1 : 0))
  }
}
