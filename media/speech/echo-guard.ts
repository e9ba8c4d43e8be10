import type { Frame } from '../../codecs/audio.ts'
import { levelDbov, SILENCE_DBOV } from '../../codecs/level.ts'

/** An echo comes back within this: the round trip, the jitter buffers and the far end's acoustics [frames]. */
const REACH_FRAMES = 25

/** A line gives back less than this of what it is sent; what is louder is somebody who speaks [dB]. */
const RETURN_LOSS_DB = 20

/**
 * Tells a voice from the echo of what we play, by its level alone (after Geigel's double-talk detector): a canceller is the far
 * end's business, not interrupting ourselves is ours.
 */
export class EchoGuard {
  /** Levels of the last frames that were sent, as a ring [dBov]. As wide as what they are compared with: a rounded one never equals it. */
  readonly #sent = new Float64Array(REACH_FRAMES).fill(SILENCE_DBOV)
  #next = 0
  #loudest = SILENCE_DBOV

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

  /** Whether what came in can be an echo of that. */
  mayBeEcho(frame: Frame): boolean {
    return this.#loudest > SILENCE_DBOV && levelDbov(frame) < this.#loudest - RETURN_LOSS_DB
  }
}
