import type { Frame } from '../../codecs/audio.ts'
import { type G711, PCMA, PCMU } from '../../codecs/g711.ts'
import type { CodecName } from '../protocol.ts'
import { LEG_SAMPLES } from './leg.ts'
import type { Mixer } from './mixer.ts'

/**
 * The mix that all silent listeners of a room share: made, and encoded in each law, at most once per tick. In a large
 * room most are silent, so most of the encoding falls away, and what they hear is the same to the sample.
 */
export class SharedMix {
  readonly frame: Frame = new Int16Array(LEG_SAMPLES)
  readonly #encoded: Record<CodecName, Uint8Array> = {
    PCMU: new Uint8Array(LEG_SAMPLES),
    PCMA: new Uint8Array(LEG_SAMPLES),
  }
  #mixed = false
  #ready: Record<CodecName, boolean> = { PCMU: false, PCMA: false }

  /** A new tick began. */
  clear(): void {
    this.#mixed = this.#ready.PCMU = this.#ready.PCMA = false
  }

  of(mixer: Mixer): Frame {
    if (!this.#mixed) {
      mixer.all(this.frame)
      this.#mixed = true
    }
    return this.frame
  }

  /** The frame of the last `of`, encoded. */
  encoded(codec: CodecName): Uint8Array {
    const bytes = this.#encoded[codec]
    if (!this.#ready[codec]) {
      const law: G711 = codec === 'PCMU' ? PCMU : PCMA
      law.encode(this.frame, bytes)
      this.#ready[codec] = true
    }
    return bytes
  }
}
