import type { ClockFaces } from '../engine/clock.ts'

/** A rush begins when this many calls wait, and the oldest for longer than a limit, whatever control does meanwhile. */
const QUEUE = 16
const LATE_MS = 250
/** A rush also begins when, for this long, each call that control took had waited longer than `WAIT_MS` [ms]. A short stall is caught up sooner. */
const STANDS_MS = 100
/**
 * In a rush no more calls wait than control takes in this time [ms], or in a little more while it is faster. A longer queue would serve no
 * more calls, but make each wait longer: so admitted calls are answered soon, and the others can go elsewhere at once.
 */
const WAIT_MS = 50
const LONGER_MS = 75
/** Fewer waiting calls are no queue: control may take them together, and on a busy machine each waits for a moment. */
const FEW = 8
/** Period over which the calls that control takes are averaged [ms]. */
const RATE_MS = 1000
/** A rush ends when no call was refused for this long [ms]. */
const RUSH_MS = 500
/** Share of the slots of the engines' clocks that may be late: a burst of calls makes some late for a second, and jitter buffers bear that. */
const LATE_SLOTS = 0.5
/**
 * Share of its time that the idlest of these clocks may be in its slots, with the legs that have come since it was known: with little more, packets
 * come too late, and from there it is a few legs until nearly all do.
 */
const FULL_SHARE = 0.85
/** Fewer legs are not what makes a clock late. */
const LEGS = 50
/** How often somebody is to `look` at the clocks [ms]: each call is judged by a time that long which has just passed, however seldom calls come. */
export const LOOK_MS = 1000

export interface AdmissionOptions {
  /** Monotonic [ms]. */
  now: () => number
  /** When control connected; null: it is not connected, and callers wait for it. */
  controlSince: () => number | null
  /** It has not come for the first time yet; absent: it has. */
  isControlAwaited?: () => boolean
  clocks: () => ClockFaces
  /** Legs of calls, with those of pages. */
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
  #looked: ClockFaces & { at: number; legs: number } = { at: 0, slots: 0, late: 0, inSlotsMs: [], legs: 0 }
  #isAudioLate = false
  /** What of its time the idlest clock was in its slots. */
  #share = 0
  /** Since when each call that control took had waited long while others waited [ms]; null: the last one had not. */
  #lateSince: number | null = null
  /** Calls that control took per millisecond, as of `#takenAt`; an exponential average. */
  #rate = 0
  #takenAt = 0
  /** The last call of which control has said anything, or should have, was refused for want of that. */
  #isUndecided = false
  /** When a call was last refused because of a rush [ms]. */
  #rushedAt = Number.NEGATIVE_INFINITY

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** How much of this time control still has for a call that waits since then, counted from when it came itself [ms]. */
  leftMs(withinMs: number, since: number): number {
    const { now, controlSince, isControlAwaited } = this.#options
    // It starts: there is nobody else to take the call, and no end to it but the caller's.
    if (isControlAwaited?.() === true) return withinMs
    return Math.max(since, controlSince() ?? since) + withinMs - now()
  }

  /** A call has come in and waits for control. @returns since when [ms] */
  waits(legId: string): number {
    const now = this.#options.now()
    this.#waiting.set(legId, now)
    return now
  }

  /** It was refused, since control has said nothing about it in time. */
  undecided(): void {
    this.#isUndecided = true
  }

  /** Whether the last call was: then one at a time finds out whether control is in time again. The others are refused at once. */
  get isUndecided(): boolean {
    return this.#isUndecided && this.#waiting.size > 0
  }

  /** Control has said something about it. */
  isTaken(legId: string): void {
    if (this.#waiting.has(legId)) this.#isUndecided = false
    this.isOver(legId)
  }

  /** It need not wait any more. */
  isOver(legId: string): void {
    const since = this.#waiting.get(legId)
    if (since === undefined) return
    this.#waiting.delete(legId)
    const now = this.#options.now()
    const wait = now - Math.max(since, this.#options.controlSince() ?? now)
    const isQueue = wait > WAIT_MS && this.#waiting.size > 0
    this.#lateSince = isQueue ? (this.#lateSince ?? now) : null
    this.#rate = this.#rateAt(now) + 1 / RATE_MS
    this.#takenAt = now
  }

  #rateAt(now: number): number {
    return this.#rate * Math.exp((this.#takenAt - now) / RATE_MS)
  }

  /** Whether a call that comes now is one too many. */
  refuses(): boolean {
    return this.#isControlLate(this.#options.now()) || this.isEngineFull
  }

  #isControlLate(now: number): boolean {
    const since = this.#options.controlSince()
    if (since === null) return false
    const isRush = now - this.#rushedAt < RUSH_MS
    const waiting = this.#waiting.size
    const isLate = isRush ? waiting >= this.#mostInRush(now) : this.#stands(waiting, now, since)
    if (isLate) this.#rushedAt = now
    return isLate
  }

  /** Maximum number of waiting calls. A stall that has only just begun may end in time. */
  #mostInRush(now: number): number {
    const waitMs = this.#lateSince === null ? LONGER_MS : WAIT_MS
    return Math.max(FEW, waitMs * this.#rateAt(now))
  }

  /** Whether the queue is not getting shorter. */
  #stands(waiting: number, now: number, since: number): boolean {
    const [oldest = now] = this.#waiting.values()
    const wait = now - Math.max(oldest, since)
    if (waiting >= QUEUE && wait > LATE_MS) return true
    const isLate = this.#lateSince !== null && now - this.#lateSince > STANDS_MS
    return isLate && waiting >= FEW && wait > WAIT_MS
  }

  /** Whether the engine threads have no time for one more call, wherever it comes from. */
  get isEngineFull(): boolean {
    const legs = this.#options.legs()
    if (legs < LEGS) return false
    // Who has come since costs as much as the others, if it does not speak yet, either.
    return this.#isAudioLate || this.#share * Math.max(1, legs / Math.max(LEGS, this.#looked.legs)) > FULL_SHARE
  }

  /** Sums up what the clocks have done since the last look. */
  look(): void {
    const { at, slots, late, inSlotsMs } = this.#looked
    const clocks = this.#options.clocks()
    const now = this.#options.now()
    this.#isAudioLate = clocks.late - late > LATE_SLOTS * (clocks.slots - slots)
    // They count in 32 bits.
    const shares = clocks.inSlotsMs.map((ms, clock) => ((ms - (inSlotsMs[clock] ?? ms)) | 0) / (now - at))
    this.#share = Math.min(...shares)
    this.#looked = { at: now, legs: this.#options.legs(), ...clocks }
  }
}
