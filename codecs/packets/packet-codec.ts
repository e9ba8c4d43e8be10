/** A codec whose packets are decoded whole and in order, since each continues the one before. Packets from the wire may be malformed; nothing throws. */
export interface PacketCodec {
  /** Clock rate of its timestamps in RTP [Hz]; a multiple of 8 kHz. */
  readonly clockRateHz: number
  /** Its sample rate: 8 or 16 kHz. */
  readonly sampleRateHz: number
  /** The longest packet that is taken [bytes]. */
  readonly maxPacketBytes: number
  /** Bytes of each frame; null: they differ, and a packet holds one. */
  readonly frameBytes: number | null
  /** Silent samples at the beginning of a stream, at 8 kHz. Absent: none. */
  readonly leadIn?: number
  /** By so much the decoded audio is behind what was encoded, in samples of 8 kHz. Absent: not at all. */
  readonly delay?: number

  /** How long a packet lasts, in samples of 8 kHz, at most `MAX_PACKET_SAMPLES`; 0: it is none. */
  lengthOf(bytes: Uint8Array, offset: number, length: number): number
  /** @returns how many samples were written; 0: the packet is broken */
  decode(packet: Uint8Array, into: Int16Array): number
  /** How much of what was before it a packet says once more [samples]; 0: nothing. Absent: it never does. */
  repeats?(next: Uint8Array): number
  /** What a packet says once more; `into` is as long as `repeats` tells. @returns how many samples were written; 0: it says nothing */
  recover(next: Uint8Array, into: Int16Array): number
  /** Conceals a lost frame. @returns how many samples were written; 0: the caller must conceal it */
  conceal(into: Int16Array): number
  /**
   * Noise for a pause in which the sender leaves packets out. Absent: it has none of its own.
   *
   * @returns how many samples were written; 0: by its last packet no pause was to come
   */
  rest?(into: Int16Array): number
  /** Decodes for somebody else what follows the last packet that this has decoded; nobody closes it. Absent: that is not possible. */
  fork?(): PacketCodec
  /** Writes the next frame. @returns its length [bytes]; 0: there is nothing to send */
  encode(frame: Int16Array, into: Uint8Array): number
  /** What went before the next frame, and is not sent: another codec was used until then. Absent: nothing is held back. */
  prime?(frame: Int16Array): void
  /** Another source is heard: nothing goes on. */
  reset(): void
  /** Idempotent. */
  close(): void
}

/** The longest that a packet lasts, in samples of 8 kHz: 120 ms. */
export const MAX_PACKET_SAMPLES = 960
/** The longest frame of any of them [bytes]: 20 ms of linear samples at 16 kHz. */
export const MAX_FRAME_BYTES = 640
