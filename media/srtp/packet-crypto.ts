/** AES in counter mode and HMAC-SHA1 under the keys of one stream, of a packet that is written into `work`. */
export interface PacketCrypto {
  /** The packet, from its first byte; its content is the caller's until it works on another packet, of whichever stream. */
  readonly work: Uint8Array
  /** XORs the key stream of a packet onto `work[from..to)` (RFC 3711 §4.1.1). @param index 48 bits */
  apply(from: number, to: number, ssrc: number, index: number): void
  /** The HMAC of the first `length` bytes of `work`: 20 bytes. */
  digest(length: number): Uint8Array
}
