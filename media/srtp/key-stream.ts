import { type Cipher, createCipheriv } from 'node:crypto'
import { uint8Array } from '../../codecs/arrays.ts'
import { writeUint32 } from '../rtp/rtp.ts'

const BLOCK_BYTES = 16

/**
 * AES in counter mode for packets (RFC 3711 §4.1.1). One cipher serves all packets: it encrypts the counter blocks that are
 * written here, which gives the key stream.
 *
 *     counter block:  salt (14 bytes), XOR SSRC at 4, XOR packet index (48 bits) at 8 | number of the block (16 bits)
 */
export class KeyStream {
  readonly #cipher: Cipher
  readonly #salt: Uint8Array
  readonly #counters: Uint8Array
  #view: Uint8Array

  /** @param salt 14 bytes; @param maxBytes of a packet */
  constructor(key: Uint8Array, salt: Uint8Array, maxBytes: number) {
    this.#cipher = createCipheriv('aes-128-ecb', key, null)
    this.#cipher.setAutoPadding(false)
    this.#salt = salt
    this.#counters = uint8Array(Math.ceil(maxBytes / BLOCK_BYTES) * BLOCK_BYTES)
    this.#view = this.#counters
  }

  /** XORs the key stream of a packet onto `bytes[from..to)`. @param index 48 bits */
  apply(bytes: Uint8Array, from: number, to: number, ssrc: number, index: number): void {
    const blocks = Math.ceil((to - from) / BLOCK_BYTES)
    if (blocks === 0) return
    this.#count(blocks, ssrc, index)
    const stream = this.#cipher.update(this.#view)
    for (let i = from, at = 0; i < to; i++, at++) bytes[i]! ^= stream[at]!
  }

  #count(blocks: number, ssrc: number, index: number): void {
    const counters = this.#counters
    const salt = this.#salt
    writeUint32(counters, 0, 0)
    writeUint32(counters, 4, ssrc)
    writeUint32(counters, 8, Math.floor(index / 0x10000))
    writeUint32(counters, 12, index * 0x10000)
    for (let i = 0; i < salt.length; i++) counters[i]! ^= salt[i]!
    const length = blocks * BLOCK_BYTES
    for (let block = 1, at = BLOCK_BYTES; block < blocks; block++, at += BLOCK_BYTES) {
      for (let i = 0; i < 14; i++) counters[at + i] = counters[i]!
      counters[at + 14] = block >>> 8
      counters[at + 15] = block
    }
    if (this.#view.length !== length) this.#view = counters.subarray(0, length)
  }
}
