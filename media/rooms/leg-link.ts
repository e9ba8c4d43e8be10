import type { Frame } from '../../codecs/audio.ts'
import { LaneReader, LaneWriter, laneBytes } from './frame-lane.ts'
import { SILENCE } from './leg.ts'

/** From the leg's thread to its room's: what it says, the same with keypad tones, what is played to it there, the part of what it says above 4 kHz. */
const UP = { said: 0, raw: 1, played: 2, upper: 3, frames: 4 } as const
/** In the other direction: what it hears of the room, what the product plays there, the part of what it hears above 4 kHz. */
const DOWN = { heard: 0, product: 1, upper: 2, frames: 3 } as const

/** Flags of a tick, in either direction. */
export const LINK = {
  /** The first frame is valid: what is said, or heard. */
  voice: 1,
  /** `raw` is valid, because it differs from what everybody hears. */
  raw: 2,
  /** The frame that the product plays is valid. */
  product: 4,
  /** It is for everybody in the room. */
  toAll: 8,
  /** Made while keypad tones were being removed for a card payment. */
  masked: 16,
  muted: 32,
  onHold: 64,
  deaf: 128,
  /** The leg's voice state is known; its level is in the bits from `LEVEL_SHIFT` on [dBov]. */
  hasVoice: 256,
  speaking: 512,
  /** The frame of the band above 4 kHz is valid. */
  upper: 1024,
  /** The leg has that band, or the room uses it. */
  wide: 2048,
  /** What is said is comfort noise. */
  comfort: 4096,
  /** What is said or heard was sent while a card-payment pause was on: see `Leg.isOld`. */
  old: 8192,
  /** What is said has not come: see `Leg.isMissing`. */
  missing: 16384,
} as const

export const LEVEL_SHIFT = 16

const UP_BYTES = laneBytes(UP.frames)

/** Memory shared by the thread of a leg and the thread of its room. */
export const newLegLink = (): SharedArrayBuffer => new SharedArrayBuffer(UP_BYTES + laneBytes(DOWN.frames))

/** The leg's end of a link. */
export class LegEnd {
  readonly #up: LaneWriter
  readonly #down: LaneReader

  constructor(memory: SharedArrayBuffer) {
    this.#up = new LaneWriter(memory, 0, UP.frames)
    this.#down = new LaneReader(memory, UP_BYTES, DOWN.frames, LINK.voice | LINK.product, LINK.voice)
  }

  /** Ticks of the room that did not arrive in time. */
  get missed(): number {
    return this.#down.missed
  }

  /** Sends a tick of the leg; null: silence. `upper`: the part of `said` above 4 kHz. */
  say(said: Frame | null, raw: Frame | null, played: Frame | null, upper: Frame | null, flags: number): void {
    let all = flags
    if (said !== null) {
      this.#up.put(UP.said, said)
      all |= LINK.voice
    }
    if (raw !== said) {
      this.#up.put(UP.raw, raw ?? SILENCE)
      all |= LINK.raw
    }
    if (played !== null) {
      this.#up.put(UP.played, played)
      all |= LINK.product
    }
    if (upper !== null) {
      this.#up.put(UP.upper, upper)
      all |= LINK.upper
    }
    this.#up.end(all)
  }

  /** The flags of the room's next tick; -1: it has not arrived. */
  next(): number {
    return this.#down.next()
  }

  get heard(): Frame {
    return this.#down.voice
  }

  /** What is heard was sent in a pause; of a tick that has not arrived: what it continues. */
  get isOld(): boolean {
    return (this.#down.flags & LINK.old) !== 0
  }

  /** Nobody is heard in it. */
  get isQuiet(): boolean {
    return this.#down.isQuiet
  }

  /** What it would hear in a tick that has not arrived; null: nothing. */
  makeUp(isAllowed: boolean): Frame | null {
    return this.#down.makeUp(isAllowed)
  }

  get product(): Frame {
    return this.#down.frame(DOWN.product)
  }

  get upper(): Frame {
    return this.#down.frame(DOWN.upper)
  }

  /** That of the last tick that has arrived; null: it had none. */
  get lastUpper(): Frame | null {
    return (this.#down.flags & LINK.upper) === 0 ? null : this.upper
  }
}

/** The room's end of a link. */
export class RoomEnd {
  readonly #up: LaneReader
  readonly #down: LaneWriter

  constructor(memory: SharedArrayBuffer) {
    this.#up = new LaneReader(memory, 0, UP.frames, LINK.voice | LINK.raw | LINK.product, LINK.voice)
    this.#down = new LaneWriter(memory, UP_BYTES, DOWN.frames)
  }

  /** Ticks of the leg that did not arrive in time. */
  get missed(): number {
    return this.#up.missed
  }

  /** The flags of the leg's next tick; -1: it has not arrived. */
  next(): number {
    return this.#up.next()
  }

  get said(): Frame {
    return this.#up.voice
  }

  /** What is said was sent in a pause; of a tick that has not arrived: what it continues. */
  get isOld(): boolean {
    return (this.#up.flags & LINK.old) !== 0
  }

  /** What it would say in a tick that has not arrived; null: nothing. */
  makeUp(isAllowed: boolean): Frame | null {
    return this.#up.makeUp(isAllowed)
  }

  get raw(): Frame {
    return this.#up.frame(UP.raw)
  }

  get played(): Frame {
    return this.#up.frame(UP.played)
  }

  get upper(): Frame {
    return this.#up.frame(UP.upper)
  }

  /** Sends a tick of the room; null: nothing. `upper`: the part of `heard` above 4 kHz. */
  hear(heard: Frame | null, product: Frame | null, upper: Frame | null, flags: number): void {
    let all = flags
    if (heard !== null) {
      this.#down.put(DOWN.heard, heard)
      all |= LINK.voice
    }
    if (product !== null) {
      this.#down.put(DOWN.product, product)
      all |= LINK.product
    }
    if (upper !== null) {
      this.#down.put(DOWN.upper, upper)
      all |= LINK.upper
    }
    this.#down.end(all)
  }
}
