import { G722Decoder, G722Encoder } from './g722.ts'
import { MAX_PACKET_SAMPLES, type PacketCodec } from './packet-codec.ts'

/** G.722 in RTP: its clock is of 8 kHz by an old mistake, though its samples are of 16 kHz (RFC 3551 §4.5.2). */
export class G722Packets implements PacketCodec {
  readonly clockRateHz = 8000
  readonly sampleRateHz = 16_000
  readonly frameBytes = 160
  readonly maxPacketBytes = MAX_PACKET_SAMPLES
  /** Of the filters at both ends. */
  readonly leadIn = 11
  readonly delay = 11
  readonly #encoder = new G722Encoder()
  #decoder = new G722Decoder()

  lengthOf(_bytes: Uint8Array, _offset: number, length: number): number {
    return length
  }

  decode(packet: Uint8Array, into: Int16Array): number {
    return this.#decoder.decode(packet, 0, packet.length, into)
  }

  recover(): number {
    return 0
  }

  conceal(): number {
    return 0
  }

  fork(): G722Packets {
    const fork = new G722Packets()
    fork.#decoder.copy(this.#decoder)
    return fork
  }

  encode(frame: Int16Array, into: Uint8Array): number {
    this.#encoder.encode(frame, into)
    return this.frameBytes
  }

  prime(frame: Int16Array): void {
    this.#encoder.prime(frame)
  }

  reset(): void {
    this.#decoder = new G722Decoder()
  }

  close(): void {}
}
