import { type Frame, fadeInto } from '../../codecs/audio.ts'
import { copy } from '../../codecs/kernels/frames.ts'
import { isQuiet } from '../../codecs/level.ts'
import { PLAYED_FRAMES, PlayedFrames, Plc } from '../../codecs/plc.ts'
import { LEG_SAMPLES } from './leg.ts'

/** Ticks that a lane holds: 160 ms, far more than one thread ever waits for the other. */
const LANE_TICKS = 8
/** Ticks further behind are dropped: the writer is about to overwrite them. */
const MAX_BEHIND = LANE_TICKS - 2
/** How long a surplus tick must have waited before one is dropped; doubled after each tick that was late, up to a minute [ticks]. */
const PATIENCE = 50
const MOST_PATIENCE = 3200
/** For how many missing ticks a voice is continued; by then it has faded. */
const MOST_MADE_UP = 3
/** The frame of a tick that contains the voice, which is made up if a tick is missing. */
const VOICE = 0
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
 * phases. After a stall more may wait: they are dropped one by one, preferably where nobody speaks, otherwise with a cross-fade. Where one has not
 * arrived, its voice can be made up.
 */
export class LaneReader extends Lane {
  /** Ticks that did not arrive in time. */
  missed = 0
  readonly #silent: number
  readonly #voice: number
  #patience = PATIENCE
  /** Created when the first tick is missing. */
  #played: PlayedFrames | null = null
  #plc: Plc | null = null
  #madeUp = 0
  #read = -1
  #at = 0
  /** The minimum number of ticks waiting behind the one read, and over how many ticks it was measured. */
  #least = LANE_TICKS
  #looked = 0

  /** @param silent the flags that are all unset in a silent tick @param voice of these, the one of the voice */
  constructor(memory: SharedArrayBuffer, offset: number, frames: number, silent: number, voice: number) {
    super(memory, offset, frames)
    this.#silent = silent
    this.#voice = voice
  }

  /** The flags of the next tick; -1: it has not arrived. */
  next(): number {
    const written = Atomics.load(this.header, 0)
    if (this.#read === -1) this.#read = Math.max(0, written - 1)
    if (((written - this.#read) | 0) > MAX_BEHIND) this.#read = written - 1
    if (written === this.#read) {
      this.missed++
      this.#least = 0
      this.#patience = Math.min(MOST_PATIENCE, 2 * this.#patience)
      return -1
    }
    this.#leaveOut((written - this.#read - 1) | 0)
    this.#at = (this.#read >>> 0) % LANE_TICKS
    this.#read = (this.#read + 1) | 0
    const flags = this.header[1 + this.#at]!
    if ((flags & this.#voice) === 0 && this.#plc !== null) this.#plc.isConcealing = false
    return flags
  }

  /** What the last `next` that found a tick has returned; 0: none has. */
  get flags(): number {
    return this.#read === -1 ? 0 : this.header[1 + this.#at]!
  }

  /** The voice of the tick returned by `next`, which it has; borrowed until the next one. */
  get voice(): Frame {
    const frame = this.frame(VOICE)
    this.#plc?.good(frame)
    return frame
  }

  /** Nobody speaks in the tick returned by `next`. */
  get isQuiet(): boolean {
    return this.#isQuietAt(this.#at)
  }

  /** Continues the voice in a tick that has not arrived; null: nothing. @param isAllowed false: it must not be continued */
  makeUp(isAllowed: boolean): Frame | null {
    this.#played ??= new PlayedFrames(LEG_SAMPLES)
    this.#plc ??= new Plc()
    const played = this.#played
    const plc = this.#plc
    if (!plc.isConcealing) {
      this.#madeUp = 0
      if (this.#read < 1 || !this.#hasVoice(1)) return null
      for (let back = 1; back < PLAYED_FRAMES; back++) {
        const frame = played.frames[PLAYED_FRAMES - 1 - back]!
        if (this.#hasVoice(back)) copy(frame, this.frames[this.#placeOf(back)]![VOICE]!)
        else frame.fill(0)
      }
      played.at = PLAYED_FRAMES - 1
    }
    plc.isConcealing &&= isAllowed
    if (!isAllowed || this.#madeUp === MOST_MADE_UP) return null
    this.#madeUp++
    plc.conceal(played)
    return played.frames[played.at]!
  }

  /** @param back 0: the tick that is read next, 1: the last one that was read */
  #placeOf(back: number): number {
    return ((this.#read - back) >>> 0) % LANE_TICKS
  }

  #hasVoice(back: number): boolean {
    return (this.header[1 + this.#placeOf(back)]! & this.#voice) !== 0
  }

  #isQuietAt(place: number): boolean {
    const flags = this.header[1 + place]! & this.#silent
    return flags === 0 || (flags === this.#voice && isQuiet(this.frames[place]![VOICE]!))
  }

  /** A frame of the tick returned by `next`; borrowed until the next one. */
  frame(place: number): Frame {
    return this.frames[this.#at]![place]!
  }

  /** @param behind number of ticks waiting behind the one about to be read */
  #leaveOut(behind: number): void {
    if (behind < this.#least) this.#least = behind
    if (++this.#looked < this.#patience) return
    const isTooMany = this.#least > 0
    if (isTooMany && this.#least < FAR_BEHIND && !this.#isQuietAt(this.#placeOf(0))) return
    if (isTooMany) this.#leaveOutOne()
    this.#least = LANE_TICKS
    this.#looked = 0
  }

  /** Leaves out a tick. What follows is cross-faded from what was heard, which the left-out tick would have continued. */
  #leaveOutOne(): void {
    const left = this.#placeOf(0)
    this.#read = (this.#read + 1) | 0
    if (!this.#hasVoice(1) || !this.#hasVoice(0)) return
    fadeInto(this.frames[this.#placeOf(0)]![VOICE]!, this.frames[left]![VOICE]!)
  }
}
