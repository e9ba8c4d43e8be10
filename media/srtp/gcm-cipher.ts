import { createCipheriv, createDecipheriv } from 'node:crypto'
import { writeUint32 } from '../rtp/rtp.ts'
import type { SessionKeys } from './key-derivation.ts'
import { MAX_OVERHEAD_BYTES, MAX_PACKET_BYTES, type PacketCipher } from './packet-cipher.ts'

const ALGORITHM = 'aes-128-gcm'
const TAG_BYTES = 16
const WORD_BYTES = 4
const IV_BYTES = 12
/** Says of an RTCP packet that it is encrypted. */
const E_FLAG = 0x80000000

/**
 * AES-GCM (RFC 7714).
 *
 *     RTP:   header | encrypted payload | tag            associated data: the header
 *     RTCP:  8 bytes | encrypted rest | tag | E, index   associated data: the 8 bytes and the last 4
 *     IV:    salt (12 bytes), XOR SSRC at 2, XOR index (48 bits) at 6
 */
export class GcmCipher implements PacketCipher {
  readonly work = new Uint8Array(MAX_PACKET_BYTES + MAX_OVERHEAD_BYTES)
  readonly overhead: number
  readonly #key: Uint8Array
  readonly #salt: Uint8Array
  readonly #isRtp: boolean
  readonly #iv = new Uint8Array(IV_BYTES)
  readonly #word = new Uint8Array(WORD_BYTES)

  constructor(keys: SessionKeys, of: 'rtp' | 'rtcp') {
    this.#key = keys.encryption
    this.#salt = keys.salt
    this.#isRtp = of === 'rtp'
    this.overhead = TAG_BYTES + (this.#isRtp ? 0 : WORD_BYTES)
  }

  seal(clear: number, length: number, ssrc: number, index: number): number {
    const { work } = this
    const cipher = createCipheriv(ALGORITHM, this.#key, this.#ivOf(ssrc, index))
    cipher.setAAD(this.#associated(clear, index))
    work.set(cipher.update(work.subarray(clear, length)), clear)
    cipher.final()
    work.set(cipher.getAuthTag(), length)
    if (!this.#isRtp) work.set(this.#word, length + TAG_BYTES)
    return length + this.overhead
  }

  open(clear: number, length: number, ssrc: number, index: number): number {
    const { work } = this
    const end = length - this.overhead
    if (end < clear) return -1
    const decipher = createDecipheriv(ALGORITHM, this.#key, this.#ivOf(ssrc, index))
    decipher.setAAD(this.#associated(clear, index))
    decipher.setAuthTag(work.subarray(end, end + TAG_BYTES))
    const plain = decipher.update(work.subarray(clear, end))
    try {
      decipher.final()
    } catch {
      return -1
    }
    work.set(plain, clear)
    return end
  }

  indexAt(length: number): number {
    return length - WORD_BYTES
  }

  #ivOf(ssrc: number, index: number): Uint8Array {
    const iv = this.#iv
    iv[0] = 0
    iv[1] = 0
    writeUint32(iv, 2, ssrc)
    writeUint32(iv, 6, Math.floor(index / 0x10000))
    iv[10] = index >>> 8
    iv[11] = index
    for (let i = 0; i < IV_BYTES; i++) iv[i]! ^= this.#salt[i]!
    return iv
  }

  #associated(clear: number, index: number): Uint8Array {
    const header = this.work.subarray(0, clear)
    if (this.#isRtp) return header
    writeUint32(this.#word, 0, E_FLAG + index)
    return Buffer.concat([header, this.#word])
  }
}
