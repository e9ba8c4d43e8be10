import { Histogram } from './histogram.ts'

/** One turn of the wheel [ms]: so late a packet leaves at the most, as far as it is up to us. */
export const TURN_MS = 1 / 4
/** Turns; no packet leaves later than so many after the one before it of its leg. */
const WHEEL = 1024
const LEGS = 4096

/** When the packets of a leg leave. */
export interface Plan {
  /** When a leg's frame leaves, of the pacer's clock [ms]. */
  leavesAt(leg: number, frame: number): number
  /** It leaves behind the one after it. */
  isOvertaken(leg: number, frame: number): boolean
}

/** Sends every leg's packets when its plan says, each leg at times of its own: a wheel of short turns. */
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

  /** Sends what is due. @returns how long nothing more is [ms] */
  advance(): number {
    for (let now = this.#now(); (this.#turn + 1) * this.#turnMs <= now; this.#turn++) {
      const due = this.#wheel[this.#turn % WHEEL]!
      // What is put meanwhile is later: a frame of a leg is 20 ms behind the one before.
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

  /** A frame, and the one after it when that overtakes it: the chain of a leg never waits for what is held up. */
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
