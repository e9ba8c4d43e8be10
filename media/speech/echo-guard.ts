import type { Frame } from '../../codecs/audio.ts'
import { levelDbov, SILENCE_DBOV } from '../../codecs/level.ts'

/** An echo comes back within this: the round trip, the jitter buffers and the far end's acoustics [frames]. */
const REACH_FRAMES = 25

/** A line gives back less than this of what it is sent; what is louder is somebody who speaks [dB]. */
const RETURN_LOSS_DB = 20

/** Echo sways by this [dB]. */
const SWAY_DB = 6
/** We say something [dBov]. */
const AUDIBLE_DBOV = -45
/** What a line gives back is known when we have spoken for a second, and is the most of the last two: parts of so many frames. */
const PART_FRAMES = 25
const PARTS = 4
const KNOWN_PARTS = 2

/**
 * Tells a voice from the echo of what we play, by its level alone (after Geigel's double-talk detector): a canceller is the far
 * end's business, not interrupting ourselves is ours.
 */
export class EchoGuard {
  /** Levels of the last frames that were sent, as a ring [dBov]. As wide as what they are compared with: a rounded one never equals it. */
  readonly #sent = new Float64Array(REACH_FRAMES).fill(SILENCE_DBOV)
  #next = 0
  #loudest = SILENCE_DBOV
  /** The most that came back in each part of what we said, against the loudest of that time, as a ring [dB]. */
  readonly #returned = new Float64Array(PARTS)
  #returnedNow = Number.NEGATIVE_INFINITY
  #frames = 0
  /** What is below our loudest by this may be an echo [dB]. */
  #limitDb = -RETURN_LOSS_DB

  /** What the party hears; one frame per tick. */
  sent(frame: Frame): void {
    const level = levelDbov(frame)
    const oldest = this.#sent[this.#next]!
    this.#sent[this.#next] = level
    this.#next = (this.#next + 1) % REACH_FRAMES
    if (level >= this.#loudest) this.#loudest = level
    else if (oldest >= this.#loudest) this.#findLoudest()
  }

  #findLoudest(): void {
    this.#loudest = SILENCE_DBOV
    for (let i = 0; i < REACH_FRAMES; i++) if (this.#sent[i]! > this.#loudest) this.#loudest = this.#sent[i]!
  }

  /** Nothing of what we said can come back any more. */
  get isSilent(): boolean {
    return this.#loudest === SILENCE_DBOV
  }

  /** What came in, one frame per tick; whether it can be an echo of that. */
  mayBeEcho(frame: Frame): boolean {
    if (this.isSilent) return false
    const above = levelDbov(frame) - this.#loudest
    const may = above < this.#limitDb
    if (this.#loudest > AUDIBLE_DBOV) this.#learn(above)
    return may
  }

  /** A line that gives back little lets soft voices through. */
  #learn(above: number): void {
    if (above > this.#returnedNow) this.#returnedNow = above
    this.#frames++
    if (this.#frames % PART_FRAMES > 0) return
    const part = this.#frames / PART_FRAMES
    this.#returned[part % PARTS] = this.#returnedNow
    this.#returnedNow = Number.NEGATIVE_INFINITY
    if (part < KNOWN_PARTS) return
    let most = Number.NEGATIVE_INFINITY
    for (let i = 0; i < Math.min(PARTS, part); i++) most = Math.max(most, this.#returned[(part - i) % PARTS]!)
    this.#limitDb = Math.min(-RETURN_LOSS_DB, most + SWAY_DB)
  }
}
