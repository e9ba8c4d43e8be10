import type { Frame } from '../../codecs/audio.ts'
import { LAWS, type LawName } from '../../codecs/g711.ts'
import { Limiter } from '../../codecs/limiter.ts'
import { LEG_SAMPLES } from './leg.ts'
import type { Mixer } from './mixer.ts'

/** Results of one room's tick. All rooms share them, so that they stay in the processor's cache. */
const FRAME: Frame = new Int16Array(LEG_SAMPLES)
const ENCODED: Record<LawName, Uint8Array> = {
  PCMU: new Uint8Array(LEG_SAMPLES),
  PCMA: new Uint8Array(LEG_SAMPLES),
}

/**
 * The mix that all silent listeners of a room share: made, and encoded in each law, at most once per tick. In a large
 * room most members are silent, so most of the encoding is saved, and the result is identical to the sample.
 */
export class SharedMix {
  /** Borrowed until the next room's tick. */
  readonly frame: Frame = FRAME
  readonly #limiter = new Limiter()
  /** The tick that it belongs to. */
  #tick = -1
  #ready: Record<LawName, boolean> = { PCMU: false, PCMA: false }

  of(mixer: Mixer): Frame {
    if (this.#tick !== mixer.tick) {
      this.#tick = mixer.tick
      this.#ready.PCMU = this.#ready.PCMA = false
      mixer.all(this.frame, this.#limiter)
    }
    return this.frame
  }

  /** The gain to which it was limited. */
  get gain(): number {
    return this.#limiter.gain
  }

  /** The frame of the last `of`, encoded. */
  encoded(codec: LawName): Uint8Array {
    const bytes = ENCODED[codec]
    if (!this.#ready[codec]) {
      LAWS[codec].encode(this.frame, bytes)
      this.#ready[codec] = true
    }
    return bytes
  }
}
