import { int16Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import { ComfortNoise } from '../../codecs/comfort-noise.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { RtpPacket } from '../rtp/rtp.ts'

/** Comfort noise of a party during intentional silence, as it describes it (RFC 3389), until its audio continues. */
export class LegSilence {
  /** Noise replaces missing audio. */
  isOn = false
  /** While it is on: the party was heard as noise in the last tick. Fields, because each packet asks for them. */
  isHeard = false
  /** Of a party that has described one: few do. */
  #noise: ComfortNoise | null = null
  #frame: Frame | null = null
  #sequence = 0
  #isEnding = false

  /** A packet of comfort noise. */
  begin({ sequence, payloadOffset, payloadLength }: RtpPacket, bytes: Uint8Array): void {
    this.#noise ??= new ComfortNoise()
    this.#noise.describe(bytes, payloadOffset, payloadLength)
    this.#sequence = sequence
    this.isOn = payloadLength > 0
    this.#isEnding = false
  }

  /** A packet of audio arrived: one that was sent later ends the silence, once it is played. */
  spoke(sequence: number): void {
    this.#isEnding ||= ((sequence - this.#sequence) & 0xffff) < 0x8000
  }

  /** Another source. */
  end(): void {
    this.isOn = false
  }

  /** @param frame the party's audio for this tick, null: none @returns what others hear of it */
  hear(frame: Frame | null): Frame {
    this.isHeard = frame === null
    if (frame !== null) {
      if (this.#isEnding) this.isOn = false
      return frame
    }
    this.#frame ??= int16Array(LEG_SAMPLES)
    this.#noise!.fill(this.#frame)
    return this.#frame
  }
}
