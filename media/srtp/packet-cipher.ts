/** The longest packet that is protected or opened [bytes]; a larger one is refused. */
export const MAX_PACKET_BYTES = 1500
/** Maximum growth of a packet [bytes]: a tag of 16, and the index of RTCP. */
export const MAX_OVERHEAD_BYTES = 20

/** Protects packets of one kind, RTP or RTCP, in one direction, in place. */
export interface PacketCipher {
  /** The packet being processed, from its first byte. */
  readonly work: Uint8Array
  /** Growth of a packet [bytes]. */
  readonly overhead: number
  /**
   * Protects the packet of `length` bytes in `work`.
   *
   * @param clear bytes of the header, which stays readable
   * @param index of the packet: 48 bits for RTP, 31 for RTCP
   * @returns the length of the protected packet
   */
  seal(clear: number, length: number, ssrc: number, index: number): number
  /** Opens the protected packet of `length` bytes in `work`; −1: it is not authentic. */
  open(clear: number, length: number, ssrc: number, index: number): number
  /** Offset of the index in a protected RTCP packet of `length` bytes. */
  indexAt(length: number): number
}
