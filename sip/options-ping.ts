import { ACCEPT, type AgentCore } from './agent-core.ts'
import type { Watch, Watching } from './agent-types.ts'
import { newOutsideSender, type OutsideSender, sendOutside } from './outside-request.ts'
import type { Deadline } from './transaction/deadlines.ts'

/** Between the end of one OPTIONS and the next, give or take a tenth [ms]. */
const EVERY_MS = 30_000
/** The first one comes within this, so that many far ends are not asked at once [ms]. */
const FIRST_WITHIN_MS = 1000
/** How long an answer may take, and how soon a missed one is asked for again [ms]. */
const ANSWER_MS = 5000
const AGAIN_MS = 5000
/** So many missed answers in a row: unreachable. */
const MISSES = 3

/** Asks a far end by OPTIONS whether it is there (RFC 3261 §11). Every answer but 503 says yes, a refusal too. */
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
    this.#sender = newOutsideSender(core, watch.target, null)
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
    const { uri, from } = this.watch
    const headers = [
      ['Contact', this.#core.contact(this.watch.target.transport, this.watch.contactUser)],
      ['Accept', ACCEPT],
    ] as const
    this.#limit = this.#core.deadlines.set(now + ANSWER_MS, at => {
      this.#giveUp()
      this.#missed(null, at)
    })
    sendOutside(
      this.#core,
      this.#sender,
      { method: 'OPTIONS', uri, from, to: uri, headers },
      {
        response: ({ status }, at) => {
          this.#core.deadlines.cancel(this.#limit)
          if (status === 503) this.#missed(503, at)
          else this.#heard(at)
        },
        failed: (_, at) => {
          this.#core.deadlines.cancel(this.#limit)
          this.#missed(null, at)
        },
      },
      now,
    )
  }

  #giveUp(): void {
    this.#core.deadlines.cancel(this.#limit)
    if (this.#sender.transaction !== null) this.#core.transactions.abandon(this.#sender.transaction)
    this.#sender.transaction = null
  }

  #heard(now: number): void {
    this.#misses = 0
    this.#core.report(this.watch.watchId, 'reachable', null)
    this.#next(now + this.#interval())
  }

  #missed(sipCode: number | null, now: number): void {
    this.#misses++
    if (this.#misses >= MISSES) this.#core.report(this.watch.watchId, 'unreachable', sipCode)
    this.#next(now + (this.#misses < MISSES ? AGAIN_MS : this.#interval()))
  }

  #interval(): number {
    return EVERY_MS * (0.9 + 0.2 * this.#core.fraction())
  }
}
