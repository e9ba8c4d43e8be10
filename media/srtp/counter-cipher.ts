import { writeUint32 } from '../rtp/rtp.ts'
import type { SessionKeys } from './key-derivation.ts'
import { openPacketCrypto } from './open-crypto.ts'
import type { PacketCipher } from './packet-cipher.ts'
import type { PacketCrypto } from './packet-crypto.ts'

const WORD_BYTES = 4
/** Says of an RTCP packet that it is encrypted. */
const E_FLAG = 0x80000000
/** A tag that was received, while it is compared: shared by all, it stays in the cache. */
const received = new Uint8Array(20)

/**
 * AES-CM with HMAC-SHA1 (RFC 3711 §3.1, §3.4).
 *
 *     RTP:   header | encrypted payload | tag          the tag covers all before it, and the roll-over counter
 *     RTCP:  8 bytes | encrypted rest | E, index | tag   the tag covers all before it
 */
export class CounterCipher implements PacketCipher {
  readonly work: Uint8Array
  readonly overhead: number
  readonly #crypto: PacketCrypto
  readonly #isRtp: boolean
  readonly #tagBytes: number

  constructor(keys: SessionKeys, of: 'rtp' | 'rtcp', tagBytes: number) {
    this.#crypto = openPacketCrypto(keys)
    this.work = this.#crypto.work
    this.#isRtp = of === 'rtp'
    this.#tagBytes = tagBytes
    this.overhead = tagBytes + (this.#isRtp ? 0 : WORD_BYTES)
  }

  seal(clear: number, length: number, ssrc: number, index: number): number {
    this.#crypto.apply(clear, length, ssrc, index)
    const tag = this.#tagOf(length, index)
    const end = this.#isRtp ? length : length + WORD_BYTES
    for (let i = 0; i < this.#tagBytes; i++) this.work[end + i] = tag[i]!
    return end + this.#tagBytes
  }

  open(clear: number, length: number, ssrc: number, index: number): number {
    const { work } = this
    const end = length - this.overhead
    if (end < clear) return -1
    // The roll-over counter is written where the tag will be.
    for (let i = 0; i < this.#tagBytes; i++) received[i] = work[length - this.#tagBytes + i]!
    const tag = this.#tagOf(end, index)
    let difference = 0
    for (let i = 0; i < this.#tagBytes; i++) difference |= received[i]! ^ tag[i]!
    if (difference !== 0) return -1
    this.#crypto.apply(clear, end, ssrc, index)
    return end
  }

  indexAt(length: number): number {
    return length - this.#tagBytes - WORD_BYTES
  }

  #tagOf(length: number, index: number): Uint8Array {
    writeUint32(this.work, length, this.#isRtp ? Math.floor(index / 0x10000) : E_FLAG + index)
    return this.#crypto.digest(length + WORD_BYTES)
  }
}
