import { FRAME_MS } from '../../codecs/audio.ts'
import type { MediaHistogram } from '../protocol.ts'

/** A 20 ms frame has this many slots. Each room belongs to one, which spreads the work and the sends. */
export const SLOTS = 4
const SLOT_MS = FRAME_MS / SLOTS

/** More than the normal lateness of a timer. */
const BEHIND_MS = 2

/** After a stall, at most this much is caught up at once; older slots are skipped and counted [slots]. */
const MAX_CATCH_UP = 5 * SLOTS
/** If more slots in a row than that are behind by more than half of it, it is no stall but an overload, in which nothing is caught up. */
const FAR_BEHIND_MS = (MAX_CATCH_UP / 2) * SLOT_MS
/** After so many slots without a pause the thread does what else it has to, such as commands. */
const MAX_AT_ONCE = 2 * MAX_CATCH_UP

/** Upper bounds of the counts [ms]. */
const BOUNDS_MS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100]

/** How late the slots of a clock began: counts by upper bound, for percentiles over any time. */
export class Lateness {
  readonly #counts: number[] = BOUNDS_MS.map(() => 0)
  #sumMs = 0
  #count = 0

  add(ms: number): void {
    this.#count++
    this.#sumMs += ms
    const at = BOUNDS_MS.findIndex(bound => ms <= bound)
    if (at >= 0) this.#counts[at]!++
  }

  /** In seconds, the unit of metrics. */
  get histogram(): MediaHistogram {
    const bounds = BOUNDS_MS.map(ms => ms / 1000)
    return { bounds, counts: [...this.#counts], sum: this.#sumMs / 1000, count: this.#count }
  }
}

/** The engine's view of its clock, which calls `tick` for each slot while it is started. */
export interface EngineClock {
  readonly slots: number
  readonly behind: number
  readonly late: number
  readonly skipped: number
  readonly lateness: Lateness
  start(): void
  stop(): void
}

/** Memory for what a clock shows. */
export const newClockFace = (): SharedArrayBuffer => new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT)

/** What the faces of clocks show. */
export interface ClockFaces {
  /** Of all together: slots that have run, and those that were late or left out. */
  slots: number
  late: number
  /** How long each has been in its slots [ms]. */
  inSlotsMs: number[]
}

export function readClockFaces(faces: readonly SharedArrayBuffer[]): ClockFaces {
  const read: ClockFaces = { slots: 0, late: 0, inSlotsMs: [] }
  for (const face of faces) {
    const [slots = 0, late = 0, inSlotsMs = 0] = new Int32Array(face)
    read.slots += slots
    read.late += late
    read.inSlotsMs.push(inSlotsMs)
  }
  return read
}

/**
 * The engine's clock: absolute monotonic deadlines (`t0 + n * 5 ms`), so that lateness of one slot never moves the next.
 * Runs only while it is started, so an idle engine costs nothing.
 */
export class Clock implements EngineClock {
  /** Slots that have run. */
  slots = 0
  /** Slots that began more than 2 ms after their deadline. */
  behind = 0
  /** Slots that began more than 5 ms after their deadline. */
  late = 0
  /** Slots skipped after a stall. */
  skipped = 0
  /** Of all that have run. */
  readonly lateness = new Lateness()
  readonly #onSlot: (slot: number, now: number) => void
  readonly #now: () => number
  readonly #face: Int32Array
  /** What the face showed before: the counts of a thread that has died. */
  readonly #before: readonly [slots: number, late: number, inSlotsMs: number]
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined
  #next = 0
  #count = 0
  #inSlotsMs = 0
  /** How many slots in a row were far behind. */
  #farBehind = 0

  /**
   * @param onSlot called with the slot's number (0 to SLOTS-1) and its deadline [ms]
   * @param face shows another thread what `readClockFaces` tells: to ask would take until it is on time
   */
  constructor(onSlot: (slot: number, now: number) => void, now: () => number, face = newClockFace()) {
    this.#onSlot = onSlot
    this.#now = now
    this.#face = new Int32Array(face)
    this.#before = [this.#face[0]!, this.#face[1]!, this.#face[2]!]
  }

  get running(): boolean {
    return this.#timer !== undefined
  }

  start(): void {
    if (this.running) return
    this.#next = this.#now()
    this.#arm(this.#next)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
    this.#timer = undefined
  }

  /** Runs what is due without waiting for the timer. @returns time until the next slot [ms] */
  turn(): number {
    if (!this.running) return SLOT_MS
    if (this.#next <= this.#now()) {
      clearTimeout(this.#timer)
      clearImmediate(this.#immediate)
      this.#run()
    }
    return this.#next - this.#now()
  }

  #arm(now: number): void {
    this.#timer = setTimeout(
      () => {
        // Timers run before sockets are read. One turn of the loop later, everything that has arrived is in the jitter buffers, so
        // a stall of this thread makes nobody's packets late.
        this.#immediate = setImmediate(() => this.#run())
      },
      // Timers have whole milliseconds: one that is cut down to those would fire once before the slot, in vain.
      Math.ceil(Math.max(0, this.#next - now)),
    )
  }

  /** Runs what is due. Slots that take longer than their time never catch up: others of the thread have their turn all the same. */
  #run(): void {
    let now = this.#now()
    for (let n = 0; n < MAX_AT_ONCE && this.running && this.#next <= now; n++) {
      this.#leaveOut(now)
      this.#farBehind = now - this.#next > FAR_BEHIND_MS ? this.#farBehind + 1 : 0
      this.slots++
      this.lateness.add(now - this.#next)
      if (now - this.#next > BEHIND_MS) this.behind++
      if (now - this.#next > SLOT_MS) this.late++
      this.#onSlot(this.#count++ % SLOTS, this.#next)
      this.#next += SLOT_MS
      const begun = now
      now = this.#now()
      this.#show(now - begun)
    }
    if (this.#timer !== undefined) this.#arm(now)
  }

  /** After each slot: whoever looks sees it while this thread catches up, too. */
  #show(tookMs: number): void {
    this.#face[0] = this.#before[0] + this.slots
    this.#face[1] = this.#before[1] + this.late + this.skipped
    this.#inSlotsMs += tookMs
    this.#face[2] = this.#before[2] + this.#inSlotsMs
  }

  /**
   * Skips slots that are too late: whole frames, so that every room keeps its slot and loses the same number. In an overload all that is behind is
   * skipped at once: frames skipped one by one would cut what everybody says into pieces of a frame or two.
   */
  #leaveOut(now: number): void {
    const behind = Math.floor((now - this.#next) / SLOT_MS)
    if (behind <= MAX_CATCH_UP) return
    const isOverload = this.#farBehind > MAX_CATCH_UP
    const missed = isOverload ? wholeFrames(Math.floor, behind) : wholeFrames(Math.ceil, behind - MAX_CATCH_UP)
    this.skipped += missed
    this.#next += missed * SLOT_MS
  }
}

const wholeFrames = (round: (frames: number) => number, slots: number): number => round(slots / SLOTS) * SLOTS
