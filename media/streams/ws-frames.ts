import { randomFillSync } from 'node:crypto'

/**
 * Frames of a WebSocket client (RFC 6455 §5.2), one behind the other, ready to be written at once:
 *
 *      0               1               2               3
 *     |F|RSV|  opcode |1|  length     | (length, 16 or 64 bits if that was 126 or 127) |
 *     | masking key, 32 bits          | payload XOR masking key …                     |
 */
export const TEXT = 0x81
export const BINARY = 0x82
export const PING = 0x89
export const PONG = 0x8a
const MASKED = 0x80
const LENGTH_16 = 126
const LENGTH_64 = 127
/** Header with the longest length, and the key [bytes]. */
const MAX_HEADER = 14
/** What a slot needs: both tracks at 16 kHz, and a read marker. It grows when more is to go at once. */
const FIRST_BYTES = 4096

/**
 * Keys from a strong source (RFC 6455 §10.3: who chooses what is sent must not foresee the bytes on the wire), drawn many at a
 * time, each used once.
 */
const keys = new Uint32Array(1024)
let keyAt = keys.length

function nextKey(): number {
  if (keyAt === keys.length) {
    randomFillSync(keys)
    keyAt = 0
  }
  return keys[keyAt++]!
}

export class ClientFrames {
  /** Bytes that wait, from the first of `bytes` on. */
  length = 0
  bytes: Buffer
  #view: DataView

  constructor() {
    this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    this.#view = viewOf(this.bytes)
  }

  /** Appends a frame, and the masking of it. `type`: `TEXT`, `PING` or `PONG`. */
  add(type: number, payload: Uint8Array): void {
    this.#makeRoom(payload.length + MAX_HEADER)
    const at = this.#writeHeader(type, payload.length)
    const key = nextKey()
    this.#view.setUint32(at, key)
    this.#writeMasked(payload, at + 4, key)
    this.length = at + 4 + payload.length
  }

  clear(): void {
    this.length = 0
  }

  /** Somebody else keeps the bytes: the next frames go into others. */
  leave(): void {
    this.bytes = Buffer.allocUnsafeSlow(this.bytes.length)
    this.#view = viewOf(this.bytes)
    this.length = 0
  }

  #makeRoom(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const { bytes } = this
    this.bytes = Buffer.allocUnsafeSlow(2 * (this.length + more))
    this.bytes.set(bytes.subarray(0, this.length))
    this.#view = viewOf(this.bytes)
  }

  /** Returns the place behind it. */
  #writeHeader(type: number, length: number): number {
    const { bytes } = this
    const at = this.length
    bytes[at] = type
    if (length < LENGTH_16) {
      bytes[at + 1] = MASKED | length
      return at + 2
    }
    if (length < 0x10000) {
      bytes[at + 1] = MASKED | LENGTH_16
      this.#view.setUint16(at + 2, length)
      return at + 4
    }
    bytes[at + 1] = MASKED | LENGTH_64
    this.#view.setBigUint64(at + 2, BigInt(length))
    return at + 10
  }

  /** The copy and the masking are one pass, a word at a time. */
  #writeMasked(payload: Uint8Array, start: number, key: number): void {
    const view = this.#view
    const { bytes } = this
    const words = payload.length & ~3
    let i = 0
    for (; i < words; i += 4) {
      const word = (payload[i]! << 24) | (payload[i + 1]! << 16) | (payload[i + 2]! << 8) | payload[i + 3]!
      view.setInt32(start + i, word ^ key)
    }
    for (; i < payload.length; i++) bytes[start + i] = payload[i]! ^ ((key >>> (24 - 8 * (i & 3))) & 0xff)
  }
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length)
