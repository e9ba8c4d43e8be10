import { int16Array, uint8Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import { LAWS, type LawName } from '../../codecs/g711.ts'
import { Limiter } from '../../codecs/limiter.ts'
import { LEG_SAMPLES } from './leg.ts'
import type { Mixer } from './mixer.ts'

/**
 * The mix that all silent listeners of a room share: made, and encoded in each law, at most once per tick. In a large
 * room most members are silent, so most of the encoding is saved, and the result is identical to the sample.
 */
export class SharedMix {
  readonly frame: Frame = int16Array(LEG_SAMPLES)
  readonly #encoded: Record<LawName, Uint8Array> = {
    PCMU: uint8Array(LEG_SAMPLES),
    PCMA: uint8Array(LEG_SAMPLES),
  }
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
    const bytes = this.#encoded[codec]
    if (!this.#ready[codec]) {
      LAWS[codec].encode(this.frame, bytes)
      this.#ready[codec] = true
    }
    return bytes
  }
}
