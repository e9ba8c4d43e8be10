import { NARROWBAND_HZ, samplesPerFrame } from '../audio.ts'
import { readL16be, writeL16be } from '../l16.ts'
import { MAX_PACKET_SAMPLES, type PacketCodec } from './packet-codec.ts'

const BYTES = 2
/** 60 ms: more does not fit into what networks carry whole. */
const MAX_FRAMES = 3

/** Linear samples, one channel, at 8 or 16 kHz (RFC 3551 §4.5.11). */
export class LinearPackets implements PacketCodec {
  readonly clockRateHz: number
  readonly sampleRateHz: number
  readonly frameBytes: number
  readonly maxPacketBytes: number

  constructor(sampleRateHz: number) {
    this.sampleRateHz = sampleRateHz
    this.clockRateHz = sampleRateHz
    this.frameBytes = BYTES * samplesPerFrame(sampleRateHz)
    this.maxPacketBytes = MAX_FRAMES * this.frameBytes
  }

  lengthOf(_bytes: Uint8Array, _offset: number, length: number): number {
    const samples = length / BYTES / (this.sampleRateHz / NARROWBAND_HZ)
    return Number.isInteger(samples) && samples <= MAX_PACKET_SAMPLES ? samples : 0
  }

  decode(packet: Uint8Array, into: Int16Array): number {
    return readL16be(packet, into)
  }

  recover(): number {
    return 0
  }

  conceal(): number {
    return 0
  }

  fork(): LinearPackets {
    return this
  }

  encode(frame: Int16Array, into: Uint8Array): number {
    writeL16be(frame, into)
    return this.frameBytes
  }

  reset(): void {}

  close(): void {}
}
