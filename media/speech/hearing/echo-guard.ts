import type { Frame } from '../../../codecs/audio.ts'
import { levelDbov, SILENCE_DBOV } from '../../../codecs/level.ts'

/** An echo comes back within this: the round trip, the jitter buffers and the far end's acoustics [frames]. */
const REACH_FRAMES = 25

/** A line gives back less than this of what it is sent; what is louder is somebody who speaks [dB]. */
const RETURN_LOSS_DB = 20

/** Echo sways by this [dB]. */
const SWAY_DB = 6
/** We say something [dBov]. */
const AUDIBLE_DBOV = -45
/** What is softer tells nothing of the echo but that it is soft: the line's own noise, and no voice to the detector [dBov]. */
const HEARD_DBOV = -64
const LEAST_RETURN_DB = -44
/**
 * What a line gives back is known when we have spoken for a second and a half, and is the most of the last three: parts of so many frames.
 * The last part does not count yet, or the beginning of a voice would be taken for the line's echo.
 */
const PART_FRAMES = 25
/** What rises faster, from part to part, is a voice over the echo [dB]. */
const RISE_DB = 3
const PARTS = 6
const KNOWN_PARTS = 3
/** Echo is spread over its neighbours by the line and by where frames are cut [frames]. */
const SPREAD = 1
/** Delays whose limits differ by less explain the echo equally well [dB]. */
const ALIKE_DB = 3
/** So far below our loudest the echo of a soft word drowns in what still comes back of the loud ones before [dB]. */
const LINGERS_DB = 15

/**
 * Tells a voice from the echo of what we play, by its level alone (after Geigel's double-talk detector): a canceller is the far
 * end's business, not interrupting ourselves is ours.
 *
 * Echo is what is no louder than what the line gave back lately: against the loudest that can come back, and against what we said just
 * the echo's delay ago, so that a soft voice is heard between our words.
 */
export class EchoGuard {
  /** Levels of the last frames that were sent, as a ring [dBov]. As wide as what they are compared with: a rounded one never equals it. */
  readonly #sent = new Float64Array(REACH_FRAMES).fill(SILENCE_DBOV)
  #next = 0
  #loudest = SILENCE_DBOV
  readonly #ofLoudest = new Returns()
  /** By the frames that it may be late. */
  readonly #ofDelays = Array.from({ length: REACH_FRAMES }, () => new Returns())
  /** Of all delays: the echo is as late as those of which it is about this [dB]. */
  #leastLimitDb = Number.POSITIVE_INFINITY
  #frames = 0

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
    const level = levelDbov(frame)
    const may = level - this.#loudest < Math.min(-RETURN_LOSS_DB, this.#ofLoudest.limitDb) && this.#isExpected(level)
    if (this.#loudest > AUDIBLE_DBOV) this.#learn(level)
    return may
  }

  /** By one of the delays at least that explain what came back lately about as well as the best does. */
  #isExpected(level: number): boolean {
    for (let delay = 0; delay < REACH_FRAMES; delay++) {
      const { limitDb } = this.#ofDelays[delay]!
      if (limitDb <= this.#leastLimitDb + ALIKE_DB && level - this.#sentBefore(delay) < limitDb) return true
    }
    return false
  }

  /** The loudest that we sent about so many frames ago, and no less than what lingers of the loudest of all [dBov]. */
  #sentBefore(delay: number): number {
    let level = Math.max(AUDIBLE_DBOV, this.#loudest - LINGERS_DB)
    for (let i = Math.max(0, delay - SPREAD); i <= Math.min(REACH_FRAMES - 1, delay + SPREAD); i++) {
      const sent = this.#sent[(this.#next - 1 - i + 2 * REACH_FRAMES) % REACH_FRAMES]!
      if (sent > level) level = sent
    }
    return level
  }

  /** A line that gives back little lets soft voices through. */
  #learn(level: number): void {
    if (level > HEARD_DBOV) {
      this.#ofLoudest.add(level - this.#loudest)
      for (let delay = 0; delay < REACH_FRAMES; delay++) this.#ofDelays[delay]!.add(level - this.#sentBefore(delay))
    }
    this.#frames++
    if (this.#frames % PART_FRAMES > 0) return
    this.#ofLoudest.endPart()
    this.#leastLimitDb = Number.POSITIVE_INFINITY
    for (const returns of this.#ofDelays) {
      returns.endPart()
      this.#leastLimitDb = Math.min(this.#leastLimitDb, returns.limitDb)
    }
  }
}

/** The most that came back lately, against one measure of what was sent. */
class Returns {
  /** Of each part, as a ring [dB]. */
  readonly #parts = new Float64Array(PARTS)
  #now = LEAST_RETURN_DB
  #ended = 0
  /** What is below this may be an echo; while nothing is known, all that other rules let be one [dB]. */
  limitDb = Number.POSITIVE_INFINITY

  add(returnedDb: number): void {
    // Not yet known: infinitely much.
    const most = this.limitDb - SWAY_DB + RISE_DB
    if (returnedDb > this.#now) this.#now = Math.min(returnedDb, most)
  }

  endPart(): void {
    this.#parts[this.#ended % PARTS] = this.#now
    this.#now = LEAST_RETURN_DB
    this.#ended++
    if (this.#ended < KNOWN_PARTS) return
    let most = Number.NEGATIVE_INFINITY
    for (let i = this.#ended - 2; i >= Math.max(0, this.#ended - PARTS); i--)
      most = Math.max(most, this.#parts[i % PARTS]!)
    this.limitDb = most + SWAY_DB
  }
}
