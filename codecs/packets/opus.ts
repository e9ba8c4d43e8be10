import {
  Application,
  createDecoder,
  createEncoder,
  EncoderCtl,
  type OpusDecoderHandle,
  type OpusEncoderHandle,
} from 'libopus-wasm'
import { samplesPerFrame, WIDEBAND_HZ } from '../audio.ts'
import { MAX_PACKET_SAMPLES, type PacketCodec } from './packet-codec.ts'
import { PauseNoise } from './pause-noise.ts'

/** Speech of up to 8 kHz, with enough beside it to repair losses [bit/s]. */
const BITRATE = 24_000
/** libopus's setting of effort, 0 to 10: with this an encoded frame costs a fifth of a millisecond. */
const COMPLEXITY = 5
/** The expected loss, which decides how much of the last frame is repeated in the next (RFC 6716 §2.1.7). */
const EXPECTED_LOSS_PERCENT = 10
/** The longest packet that we send: 64 kbit/s. */
const MAX_SENT_BYTES = 160
const FRAME_SAMPLES = samplesPerFrame(WIDEBAND_HZ)
/** The longest that a packet lasts at 16 kHz. */
const MAX_SAMPLES = 2 * MAX_PACKET_SAMPLES

/** How long the frames of a packet are by its first byte (RFC 6716 §3.1, Table 2), in samples of 8 kHz. */
function frameSamples(toc: number): number {
  const config = toc >> 3
  if (config < 12) return [80, 160, 320, 480][config & 3]!
  if (config < 16) return (config & 1) === 0 ? 80 : 160
  return [20, 40, 80, 160][config & 3]!
}

/** How long a packet lasts, in samples of 8 kHz; 0: it is none. */
export function opusSamples(bytes: Uint8Array, offset: number, length: number): number {
  if (length < 1) return 0
  const toc = bytes[offset]!
  const code = toc & 3
  if (code === 3 && length < 2) return 0
  const frames = code === 0 ? 1 : code === 3 ? bytes[offset + 1]! & 0x3f : 2
  const samples = frames * frameSamples(toc)
  return samples > MAX_PACKET_SAMPLES ? 0 : samples
}

/**
 * Whether a packet of one or two equal frames repeats the frame before it (LBRR), of 10 to 60 ms: flagged after the VAD flags of each 20 ms of the
 * first channel (RFC 6716 §4.2.3, §4.2.4). CELT has no LBRR.
 */
function hasRepeat(packet: Uint8Array): boolean {
  const toc = packet[0] ?? 0
  const [config, code] = [toc >> 3, toc & 3]
  if (config >= 16 || code > 1 || packet.length < 2) return false
  const parts = Math.max(1, frameSamples(toc) / 160)
  return ((packet[1]! >> (7 - parts)) & 1) === 1
}

/** No part of it is of SILK (RFC 6716 §3.1, Table 2). */
const isCelt = (packet: Uint8Array): boolean => (packet[0] ?? 0) >> 3 >= 16

/** Two bytes or fewer say that packets are left out from here on, in any mode. */
const MAX_EMPTY_BYTES = 2

/** Whether nothing was said in a packet of one or two equal frames, by the VAD flags of its first channel (§4.2.3). CELT has none. */
function isPause(packet: Uint8Array): boolean {
  if (packet.length <= MAX_EMPTY_BYTES) return true
  const toc = packet[0] ?? 0
  const [config, code] = [toc >> 3, toc & 3]
  if (config >= 16 || code > 1) return false
  const parts = Math.max(1, frameSamples(toc) / 160)
  return packet[1]! >> (8 - parts) === 0
}

/**
 * Opus (RFC 6716) for one party, mono at 16 kHz, by libopus. Its memory is outside Node's: whoever opens a codec closes it. Packets from
 * the wire may be malformed; nothing throws.
 */
export class OpusCodec implements PacketCodec {
  /** Always, whatever is spoken (RFC 7587 §4.1). */
  readonly clockRateHz = 48_000
  readonly sampleRateHz = WIDEBAND_HZ
  /** The longest packet that a browser sends is far below. */
  readonly maxPacketBytes = 1000
  readonly frameBytes = null
  /** An encoder looks 6.5 ms ahead, so its first output is from before its beginning (RFC 7845 §4.2). */
  readonly leadIn = 56
  readonly delay = 52
  /** Number of packets that could not be decoded. */
  broken = 0
  readonly #decoder: OpusDecoderHandle
  readonly #encoder: OpusEncoderHandle
  /** Nothing was said in the last packet. */
  #isPause = false
  /** Of a sender that encodes as CELT; null: it does not, and libopus continues the noise. */
  #noise: PauseNoise | null = null
  /** The next frame is the first for its receiver. */
  #isPrimed = false
  #isClosed = false

  private constructor(decoder: OpusDecoderHandle, encoder: OpusEncoderHandle) {
    this.#decoder = decoder
    this.#encoder = encoder
  }

  static async open(): Promise<OpusCodec> {
    const decoder = await createDecoder({ sampleRate: WIDEBAND_HZ, channels: 1, maxFrameSize: MAX_SAMPLES })
    const encoder = await createEncoder({
      sampleRate: WIDEBAND_HZ,
      channels: 1,
      application: Application.Voip,
      bitrate: BITRATE,
      complexity: COMPLEXITY,
      fec: true,
      packetLossPercent: EXPECTED_LOSS_PERCENT,
      frameSize: FRAME_SAMPLES,
    })
    return new OpusCodec(decoder, encoder)
  }

  lengthOf(bytes: Uint8Array, offset: number, length: number): number {
    return opusSamples(bytes, offset, length)
  }

  decode(packet: Uint8Array, into: Int16Array): number {
    this.#isPause = isPause(packet)
    this.#noise = isCelt(packet) ? (this.#noise ?? new PauseNoise()) : null
    if (this.#noise !== null && packet.length <= MAX_EMPTY_BYTES) {
      return this.#goOn(this.#noise, into, 2 * opusSamples(packet, 0, packet.length))
    }
    const samples = this.#into(into, () => this.#decoder.decode(packet))
    this.#noise?.keep(into.subarray(0, samples))
    return samples
  }

  /**
   * The level of CELT's bands is told as a change from the frame before. Where libopus makes frames up, it lowers that level, and whatever is told
   * later: the noise would fade away.
   */
  #goOn(noise: PauseNoise, into: Int16Array, samples: number): number {
    const length = Math.min(samples, into.length)
    noise.fill(into.subarray(0, length))
    return length
  }

  repeats(next: Uint8Array): number {
    return hasRepeat(next) ? 2 * frameSamples(next[0]!) : 0
  }

  recover(next: Uint8Array, into: Int16Array): number {
    // For another length libopus makes something up instead.
    if (this.repeats(next) !== into.length) return 0
    return this.#into(into, () => this.#decoder.decode(next, { decodeFec: true, frameSize: into.length }))
  }

  conceal(into: Int16Array): number {
    if (this.#isPause && this.#noise !== null) return this.#goOn(this.#noise, into, into.length)
    return this.#into(into, () => this.#decoder.decodePacketLoss(into.length))
  }

  /** The noise of the pause goes on where packets are missing. */
  rest(into: Int16Array): number {
    return this.#isPause ? this.conceal(into) : 0
  }

  encode(frame: Int16Array, into: Uint8Array): number {
    if (this.#isClosed) return 0
    const packet = this.#encoder.encode(frame, { maxPacketBytes: MAX_SENT_BYTES })
    if (this.#isPrimed) this.#predicts(true)
    into.set(packet)
    return packet.length
  }

  /** The receiver does not know this frame: nothing of the next one may be predicted from it. */
  prime(frame: Int16Array): void {
    if (this.#isClosed) return
    this.#encoder.encode(frame, { maxPacketBytes: MAX_SENT_BYTES })
    this.#predicts(false)
  }

  #predicts(isOn: boolean): void {
    this.#isPrimed = !isOn
    this.#encoder.encoderCtl(EncoderCtl.SetPredictionDisabled, isOn ? 0 : 1)
  }

  /** libopus goes over to another source by itself. */
  reset(): void {}

  #into(target: Int16Array, decode: () => Int16Array): number {
    if (this.#isClosed) return 0
    try {
      const samples = decode()
      target.set(samples.length > target.length ? samples.subarray(0, target.length) : samples)
      return Math.min(samples.length, target.length)
    } catch {
      // libopus-wasm tells of a broken packet by throwing.
      this.broken++
      return 0
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#decoder.free()
    this.#encoder.free()
  }
}
