/** AES in counter mode and HMAC-SHA1 with the keys of one stream, for a packet in `work`. */
export interface PacketCrypto {
  /** The packet, from its first byte. The caller owns it until it processes another packet, of any stream. */
  readonly work: Uint8Array
  /**
   * XORs the key stream of a packet onto `work[from..to)` (RFC 3711 §4.1.1). Up to 15 bytes after that may be overwritten.
   *
   * @param index 48 bits
   */
  apply(from: number, to: number, ssrc: number, index: number): void
  /** The HMAC of the first `length` bytes of `work`: 20 bytes. */
  digest(length: number): Uint8Array
}
