/** Reads received bytes. Missing ones read as zero, and `isBroken` reports it. */
export class Reader {
  /** More was read than there is. */
  isBroken = false
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  /** An unsigned number of 1 to 3 bytes, most significant first. */
  number(size: 1 | 2 | 3): number {
    const bytes = this.take(size)
    let value = 0
    for (const byte of bytes) value = value * 256 + byte
    return value
  }

  take(length: number): Uint8Array {
    if (length > this.left) {
      this.isBroken = true
      this.#at = this.#bytes.length
      return new Uint8Array(0)
    }
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** A vector with a length of this many bytes (RFC 5246 §4.3). */
  vector(size: 1 | 2 | 3): Uint8Array {
    return this.take(this.number(size))
  }

  /** A vector of 16-bit numbers. */
  numbers(): number[] {
    const inner = new Reader(this.vector(2))
    const list: number[] = []
    while (inner.left >= 2) list.push(inner.number(2))
    return list
  }
}

/** An unsigned number, most significant byte first. */
export function number(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUIntBE(value, 0, size)
  return bytes
}

/** Bytes with their length before them (RFC 5246 §4.3). */
export const vector = (size: 1 | 2 | 3, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([number(content.length, size), content])
}
