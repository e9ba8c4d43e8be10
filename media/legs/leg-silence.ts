import type { Frame } from '../../codecs/audio.ts'
import { ComfortNoise } from '../../codecs/comfort-noise.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { RtpPacket } from '../rtp/rtp.ts'

/** What a party that falls silent on purpose sounds like meanwhile: the noise that it describes (RFC 3389), until its audio goes on. */
export class LegSilence {
  /** Noise is to be heard where no audio is. */
  isOn = false
  readonly #noise = new ComfortNoise()
  readonly #frame: Frame = new Int16Array(LEG_SAMPLES)
  #sequence = 0
  #isEnding = false

  /** A packet of comfort noise. */
  begin({ sequence, payloadOffset, payloadLength }: RtpPacket, bytes: Uint8Array): void {
    this.#noise.describe(bytes, payloadOffset, payloadLength)
    this.#sequence = sequence
    this.isOn = payloadLength > 0
    this.#isEnding = false
  }

  /** A packet of audio came: one that was sent later ends the silence, once it is played. */
  spoke(sequence: number): void {
    this.#isEnding ||= ((sequence - this.#sequence) & 0xffff) < 0x8000
  }

  /** @param frame what of the party's audio is to be played now, null: nothing @returns what is heard of it */
  hear(frame: Frame | null): Frame {
    if (frame !== null) {
      if (this.#isEnding) this.isOn = false
      return frame
    }
    this.#noise.fill(this.#frame)
    return this.#frame
  }
}
