import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import { RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/rtp.ts'
import { SrtpSender } from '../../media/srtp/srtp-sender.ts'
import { Noise } from './noise.ts'
import { FAR_KEY, SUITE } from './open-leg.ts'

/** The legs that are measured. */
export interface Plan {
  legs: number
  roomSize: number
  isEncrypted: boolean
}

/** Makes the packets that telephones send which are not muted: noise that differs from frame to frame. */
export class Phones {
  readonly #packet = new Uint8Array(RTP_HEADER_BYTES + LEG_SAMPLES)
  readonly #noise = new Noise()
  readonly #header = { marker: false, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0 }
  readonly #ciphers: readonly SrtpSender[]

  constructor({ legs, isEncrypted }: Plan) {
    this.#ciphers = isEncrypted ? Array.from({ length: legs }, () => new SrtpSender(SUITE, FAR_KEY)) : []
  }

  /** The packet of a leg's frame; valid until the next call. */
  speak(leg: number, frame: number): Uint8Array {
    const header = this.#header
    header.marker = frame === 0
    header.sequence = (frame + leg) & 0xffff
    header.timestamp = (frame * LEG_SAMPLES + leg) >>> 0
    header.ssrc = leg + 1
    writeRtpHeader(this.#packet, header)
    this.#packet.set(this.#noise.frame(leg * 7 + frame), RTP_HEADER_BYTES)
    const cipher = this.#ciphers[leg]
    if (cipher === undefined) return this.#packet
    const length = cipher.rtp(this.#packet, this.#packet.length)
    return cipher.rtpPacket.subarray(0, length)
  }
}
