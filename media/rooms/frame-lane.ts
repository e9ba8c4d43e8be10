import type { Frame } from '../../codecs/audio.ts'
import { LEG_SAMPLES } from './leg.ts'

/** Ticks that a lane holds: 160 ms, far more than one thread ever waits for the other. */
export const LANE_TICKS = 8
/** What is further behind is given up: the writer is about to write there. */
const MAX_BEHIND = LANE_TICKS - 2
/** So long at least one tick too many waited before one is left out [ticks]. */
const PATIENCE = 50
/** So many ticks too many are not waited out until somebody is silent. */
const FAR_BEHIND = 3

const HEADER_INTS = 1 + LANE_TICKS

/** Bytes of a lane that brings so many frames with each tick. */
export const laneBytes = (frames: number): number =>
  HEADER_INTS * Int32Array.BYTES_PER_ELEMENT + LANE_TICKS * frames * LEG_SAMPLES * Int16Array.BYTES_PER_ELEMENT

/** The memory of a lane: how many ticks were written, the flags of each tick, and its frames. */
class Lane {
  protected readonly header: Int32Array
  /** By tick and by place in the tick. */
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
 * The writing end of a lane: what one thread gives to another with each of its ticks, some frames and some flags, through shared
 * memory. No message, no allocation, and nobody waits: what is not read in time is written over.
 */
export class LaneWriter extends Lane {
  /** Of the next tick, until `end`; what its flags do not name may hold anything. */
  put(place: number, frame: Frame): void {
    this.frames[(this.header[0]! >>> 0) % LANE_TICKS]![place]!.set(frame)
  }

  end(flags: number): void {
    this.header[1 + ((this.header[0]! >>> 0) % LANE_TICKS)] = flags
    Atomics.add(this.header, 0, 1)
  }
}

/**
 * The reading end. Both threads tick by the same clock, so that one tick waits at most, and which part of it depends on their
 * phases. After a stall more may wait: they are left out one by one, best where they are silent.
 */
export class LaneReader extends Lane {
  /** Ticks for which nothing had come. */
  missed = 0
  readonly #silent: number
  #read = -1
  #at = 0
  /** The fewest that waited behind the one that was read, and of how many ticks. */
  #least = LANE_TICKS
  #looked = 0

  /** @param silent flags of which none is set when nothing can be heard in a tick */
  constructor(memory: SharedArrayBuffer, offset: number, frames: number, silent: number) {
    super(memory, offset, frames)
    this.#silent = silent
  }

  /** The flags of the next tick; -1: it has not come. */
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

  /** A frame of the tick that `next` told of; borrowed until the next one. */
  frame(place: number): Frame {
    return this.frames[this.#at]![place]!
  }

  /** @param behind how many wait behind the one that is about to be read */
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
