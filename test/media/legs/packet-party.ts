import type { PacketCodec } from '../../../codecs/packets/packet-codec.ts'
import type { LegMedia } from '../../../media/legs/leg-media.ts'
import { PACKET_CODECS } from '../../../media/legs/packet-audio.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { parseRtp, RtpPacket, RtpSender } from '../../../media/rtp/rtp.ts'
import { mediaOf, seeded } from '../engine/party.ts'

export type PacketCodecName = keyof typeof PACKET_CODECS

/** Payload type in both directions. */
export const PAYLOAD_TYPE = 100

const EVENT_PAYLOAD_TYPE = 101

/** A leg with a codec that decodes a whole packet at once, and its far end, all in memory. */
export class PacketParty {
  readonly leg: RtpLeg
  readonly packets: { payloadType: number; timestamp: number; length: number }[] = []
  readonly reports: Uint8Array[] = []
  readonly events: { timestamp: number; payload: Uint8Array }[] = []
  readonly coder: PacketCodec
  /** Samples of a frame, in both directions. */
  readonly frame: number
  readonly #heard: number[] = []
  readonly codec: PacketCodecName
  readonly host: string
  readonly #sender = new RtpSender({ ssrc: 9, sequence: 1, timestamp: 2 ** 32 - 4000, maxPayload: 640 })

  constructor(codec: PacketCodecName, host: string, media: Partial<LegMedia> = {}) {
    this.coder = PACKET_CODECS[codec]()
    this.frame = this.coder.sampleRateHz / 50
    this.codec = codec
    this.host = host
    const out = {
      sendRtp: (bytes: Uint8Array, length: number) => this.#take(bytes, length),
      sendRtcp: (bytes: Uint8Array, length: number) => void this.reports.push(bytes.slice(0, length)),
    }
    this.leg = new RtpLeg(host, out, NO_HOOKS, seeded(host.charCodeAt(host.length - 1)), () => {})
    this.leg.connect({ ...mediaFor(this), ...media }, 0)
  }

  /** Sends a frame at the codec's rate; `isLost`: its packet is lost. */
  speak(frame: Int16Array, now: number, isLost = false): void {
    const length = this.coder.encode(frame, this.#sender.packet.subarray(12))
    const packet = this.#sender.write(PAYLOAD_TYPE, length).slice(0, 12 + length)
    this.#sender.advance(this.coder.clockRateHz / 50)
    if (!isLost) this.leg.rtp(packet, this.host, 4000, now)
  }

  /** The decoded audio that the leg has sent to its far end. */
  heard(from = 0, to = Number.POSITIVE_INFINITY): Int16Array {
    return Int16Array.from(this.#heard.slice(from * this.frame, to * this.frame))
  }

  /** Frame `n` of a sine. */
  tone(hz: number, n: number, amplitude = 11_600): Int16Array {
    const rate = this.coder.sampleRateHz
    const phase = (i: number): number => (2 * Math.PI * hz * (n * this.frame + i)) / rate
    return Int16Array.from({ length: this.frame }, (_, i) => Math.round(amplitude * Math.sin(phase(i))))
  }

  #take(bytes: Uint8Array, length: number): void {
    const packet = new RtpPacket()
    parseRtp(bytes.subarray(0, length), packet)
    const { payloadType, timestamp, payloadOffset, payloadLength } = packet
    const payload = bytes.slice(payloadOffset, payloadOffset + payloadLength)
    if (payloadType === EVENT_PAYLOAD_TYPE) {
      this.events.push({ timestamp, payload })
      return
    }
    this.packets.push({ payloadType, timestamp, length: payloadLength })
    const samples = new Int16Array(2000)
    this.#heard.push(...samples.subarray(0, this.coder.decode(payload, samples)))
  }
}

/** Media as first negotiated with a party. */
export const mediaFor = ({ codec, host }: Pick<PacketParty, 'codec' | 'host'>): LegMedia => ({
  ...mediaOf(host),
  codec,
  payloadType: PAYLOAD_TYPE,
  receivePayloadTypes: [PAYLOAD_TYPE],
})
