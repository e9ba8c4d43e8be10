import type { Frame } from '../../codecs/audio.ts'
import { copy } from '../../codecs/kernels/frames.ts'
import { LEG_SAMPLES } from './leg.ts'

/** Ticks that a lane holds: 160 ms, far more than one thread ever waits for the other. */
export const LANE_TICKS = 8
/** Ticks further behind are dropped: the writer is about to overwrite them. */
const MAX_BEHIND = LANE_TICKS - 2
/** A surplus tick must have waited for this long before one is dropped [ticks]. */
const PATIENCE = 50
/** With this many surplus ticks, one is dropped even if it is not silent. */
const FAR_BEHIND = 3

const HEADER_INTS = 1 + LANE_TICKS

/** Size of a lane with this many frames per tick [bytes]. */
export const laneBytes = (frames: number): number =>
  HEADER_INTS * Int32Array.BYTES_PER_ELEMENT + LANE_TICKS * frames * LEG_SAMPLES * Int16Array.BYTES_PER_ELEMENT

/** The memory of a lane: the number of ticks written, the flags of each tick, and its frames. */
class Lane {
  protected readonly header: Int32Array
  /** By tick, and by position in the tick. */
  protected readonly frames: readonly (readonly Int16Array[])[]

  constructor(memory: SharedArrayBuffer, offset: number, frames: number) {
    this.header = new Int32Array(memory, offset, HEADER_INTS)
    const bytes = LEG_SAMPLES * Int16Array.BYTES_PER_ELEMENT
    const first = offset + HEADER_INTS * Int32Array.BYTES_PER_ELEMENT
    this.frames = Array.from({ length: LANE_TICKS }, (_, tick) =>
      Array.from(
        { length: frames },
        (_, place) => new Int16Array(memory, first + (tick * frames + place) * bytes, LEG_SAMPLES),
      ),
    )
  }
}

/**
 * The writing end of a lane, which passes some frames and flags per tick from one thread to another through shared
 * memory: no message, no allocation, no waiting. What is not read in time is overwritten.
 */
export class LaneWriter extends Lane {
  /** Adds a frame to the next tick, until `end`. Frames that its flags do not name are undefined. */
  put(place: number, frame: Frame): void {
    copy(this.frames[(this.header[0]! >>> 0) % LANE_TICKS]![place]!, frame)
  }

  end(flags: number): void {
    this.header[1 + ((this.header[0]! >>> 0) % LANE_TICKS)] = flags
    Atomics.add(this.header, 0, 1)
  }
}

/**
 * The reading end. Both threads tick by the same clock, so at most one tick waits; for which part of a tick depends on their
 * phases. After a stall more may wait: they are dropped one by one, preferably where they are silent.
 */
export class LaneReader extends Lane {
  /** Ticks that did not arrive in time. */
  missed = 0
  readonly #silent: number
  #read = -1
  #at = 0
  /** The minimum number of ticks waiting behind the one read, and over how many ticks it was measured. */
  #least = LANE_TICKS
  #looked = 0

  /** @param silent the flags that are all unset in a silent tick */
  constructor(memory: SharedArrayBuffer, offset: number, frames: number, silent: number) {
    super(memory, offset, frames)
    this.#silent = silent
  }

  /** The flags of the next tick; -1: it has not arrived. */
  next(): number {
    const written = Atomics.load(this.header, 0)
    if (this.#read === -1) this.#read = Math.max(0, written - 1)
    if (((written - this.#read) | 0) > MAX_BEHIND) this.#read = written - 1
    if (written === this.#read) {
      this.missed++
      this.#least = 0
      return -1
    }
    this.#leaveOut((written - this.#read - 1) | 0)
    this.#at = (this.#read >>> 0) % LANE_TICKS
    this.#read = (this.#read + 1) | 0
    return this.header[1 + this.#at]!
  }

  /** A frame of the tick returned by `next`; borrowed until the next one. */
  frame(place: number): Frame {
    return this.frames[this.#at]![place]!
  }

  /** @param behind number of ticks waiting behind the one about to be read */
  #leaveOut(behind: number): void {
    if (behind < this.#least) this.#least = behind
    if (++this.#looked < PATIENCE) return
    const flags = this.header[1 + ((this.#read >>> 0) % LANE_TICKS)]!
    const isTooMany = this.#least > 0
    if (isTooMany && (flags & this.#silent) !== 0 && this.#least < FAR_BEHIND) return
    if (isTooMany) this.#read = (this.#read + 1) | 0
    this.#least = LANE_TICKS
    this.#looked = 0
  }
}
