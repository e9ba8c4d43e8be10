/** A rush begins when calls wait for control longer than this [ms]. */
const LATE_MS = 250
/** Fewer calls wait because of a moment's stall, not because there are too many. */
const QUEUE = 16
/**
 * In a rush calls wait no longer than this [ms], or fewer of them. A queue takes no call more in the end, it only has each of them wait: whoever is
 * let in is answered soon, and the rest can go elsewhere at once.
 */
const RUSH_LATE_MS = 25
const RUSH_QUEUE = 4
/** A rush is over when no call was one too many for this long [ms]. */
const RUSH_MS = 5000
/** Share of the slots of the engines' clocks that may be late: a burst of calls makes some late for a second, and jitter buffers bear that. */
const LATE_SLOTS = 0.5
/** Fewer legs are not what makes a clock late. */
const LEGS = 50
/** How long clocks are observed before they are judged, and how long that judgement holds [ms]. */
const LOOK_MS = 1000

export interface AdmissionOptions {
  /** Monotonic [ms]. */
  now: () => number
  /** When control connected; null: it is away, and callers wait for it. */
  controlSince: () => number | null
  /** Slots of the engines' clocks that have run so far, and those of them that were late or left out. */
  clocks: () => { slots: number; late: number }
  /** Legs of calls. */
  legs: () => number
}

/**
 * Whether one more call can be taken in time. Judged by how late the work is, not by how much of it there is: what a machine carries
 * depends on what else it does. A call too many is refused before anything is done for it, so that those that run and those that wait get what
 * there is.
 */
export class Admission {
  readonly #options: AdmissionOptions
  /** Calls that control has not taken up, by leg, the oldest first: since when. */
  readonly #waiting = new Map<string, number>()
  #looked = { at: 0, slots: 0, late: 0 }
  #isAudioLate = false
  /** When a call was last one too many for control [ms]. */
  #rushedAt = Number.NEGATIVE_INFINITY

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** A call has come in and waits for control. */
  waits(legId: string): void {
    this.#waiting.set(legId, this.#options.now())
  }

  /** Control has said something about it, or it is over. */
  isTaken(legId: string): void {
    this.#waiting.delete(legId)
  }

  /** Whether a call that comes now is one too many. */
  refuses(): boolean {
    const now = this.#options.now()
    return this.#isControlLate(now) || this.#isEngineLate(now)
  }

  #isControlLate(now: number): boolean {
    const since = this.#options.controlSince()
    if (since === null) return false
    const isRush = now - this.#rushedAt < RUSH_MS
    if (this.#waiting.size < (isRush ? RUSH_QUEUE : QUEUE)) return false
    const [oldest = now] = this.#waiting.values()
    const isLate = now - Math.max(oldest, since) > (isRush ? RUSH_LATE_MS : LATE_MS)
    if (isLate) this.#rushedAt = now
    return isLate
  }

  #isEngineLate(now: number): boolean {
    const { at, slots, late } = this.#looked
    if (now - at >= LOOK_MS) {
      const clocks = this.#options.clocks()
      const isRecent = now - at < 2 * LOOK_MS
      this.#isAudioLate = isRecent && clocks.late - late > LATE_SLOTS * (clocks.slots - slots)
      this.#looked = { at: now, ...clocks }
    }
    return this.#isAudioLate && this.#options.legs() >= LEGS
  }
}
