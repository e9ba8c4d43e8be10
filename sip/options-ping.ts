import type { AgentCore } from './agent-core.ts'
import type { Watch, Watching } from './agent-types.ts'
import { askOptions, giveUp, newOutsideSender, type OutsideSender, targetsOf } from './outside-request.ts'
import type { Deadline } from './transaction/deadlines.ts'

/** Interval between OPTIONS, plus or minus a tenth [ms]. */
const EVERY_MS = 30_000
/** The first one is sent at a random time within this, so that not all far ends are checked at once [ms]. */
const FIRST_WITHIN_MS = 1000
/** Time-out of an answer, and delay until the next attempt after a missed one [ms]. */
const ANSWER_MS = 5000
const AGAIN_MS = 5000
/** After this many missed answers in a row: unreachable. */
const MISSES = 3

/** Checks a far end by OPTIONS (RFC 3261 §11). Every answer but 503 means reachable, a refusal too. */
export class OptionsPing implements Watching {
  readonly watch: Watch
  readonly #core: AgentCore
  readonly #sender: OutsideSender
  readonly #over: (now: number) => void
  #misses = 0
  #timer: Deadline | null = null
  #limit: Deadline | null = null

  constructor(core: AgentCore, watch: Watch, over: (now: number) => void) {
    this.#core = core
    this.watch = watch
    this.#over = over
    this.#sender = newOutsideSender(core, targetsOf(watch), null)
  }

  start(now: number): void {
    this.#next(now + this.#core.fraction() * FIRST_WITHIN_MS)
  }

  stop(now: number): void {
    this.#core.deadlines.cancel(this.#timer)
    this.#giveUp()
    this.#over(now)
  }

  #next(at: number): void {
    this.#timer = this.#core.deadlines.set(at, now => this.#ping(now))
  }

  #ping(now: number): void {
    this.#limit = this.#core.deadlines.set(now + ANSWER_MS, at => {
      this.#giveUp()
      this.#missed(408, at)
    })
    askOptions(
      this.#core,
      this.#sender,
      this.watch,
      {
        response: ({ status }, at) => {
          this.#core.deadlines.cancel(this.#limit)
          if (status === 503) this.#missed(503, at)
          else this.#heard(at)
        },
        failed: (cause, at) => {
          this.#core.deadlines.cancel(this.#limit)
          this.#missed(cause === 'timeout' ? 408 : 503, at)
        },
      },
      now,
    )
  }

  #giveUp(): void {
    this.#core.deadlines.cancel(this.#limit)
    giveUp(this.#core, this.#sender)
  }

  #heard(now: number): void {
    this.#misses = 0
    this.#core.report(this.watch.watchId, 'reachable', null)
    this.#next(now + this.#interval())
  }

  #missed(sipCode: number, now: number): void {
    this.#misses++
    // By then, each of its hosts has been tried.
    const isLost = this.#misses >= Math.max(MISSES, this.#sender.targets.length)
    if (isLost) this.#core.report(this.watch.watchId, 'unreachable', sipCode)
    this.#next(now + (isLost ? this.#interval() : AGAIN_MS))
  }

  #interval(): number {
    return EVERY_MS * (0.9 + 0.2 * this.#core.fraction())
  }
}
