import { hash } from 'node:crypto'
import { uint8Array } from '../../codecs/arrays.ts'

const BLOCK_BYTES = 64
const DIGEST_BYTES = 20

/**
 * HMAC-SHA1 (RFC 2104) of messages written into `message`. Two plain hashes over buffers that begin with the padded
 * key take half the time of `createHmac`, and leave no handle to collect per packet.
 */
export class HmacSha1 {
  /** The buffer for the message, from its first byte. */
  readonly message: Uint8Array
  readonly #inner: Uint8Array
  readonly #outer = uint8Array(BLOCK_BYTES + DIGEST_BYTES)
  /** Packets of a stream have equal lengths, so the last view fits the next packet. */
  #view: Uint8Array

  /** @param key at most 64 bytes; @param maxBytes of a message */
  constructor(key: Uint8Array, maxBytes: number) {
    this.#inner = uint8Array(BLOCK_BYTES + maxBytes)
    this.message = this.#inner.subarray(BLOCK_BYTES)
    this.#view = this.#inner
    for (let i = 0; i < BLOCK_BYTES; i++) {
      const byte = key[i] ?? 0
      this.#inner[i] = byte ^ 0x36
      this.#outer[i] = byte ^ 0x5c
    }
  }

  /** The digest of the first `length` bytes of `message`: 20 bytes. */
  digest(length: number): Uint8Array {
    const end = BLOCK_BYTES + length
    if (this.#view.length !== end) this.#view = this.#inner.subarray(0, end)
    this.#outer.set(hash('sha1', this.#view, 'buffer'), BLOCK_BYTES)
    return hash('sha1', this.#outer, 'buffer')
  }
}
