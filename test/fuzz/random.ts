import { seeded } from '../../bench/seeded.ts'

/** Broken numbers, as text. */
const NUMBERS = ['-1', '0', '65536', '4294967296', '99999999999999999999', '1e9', '0x10', 'NaN', '٣', '1.5', '']
/** Bytes that break parsers: NUL, line ends, separators, invalid UTF-8, overlong and surrogate UTF-8. */
const POISON = [
  '\0',
  '\r\n',
  '\n',
  '\r\n\r\n',
  ';',
  ',',
  '"',
  '<',
  '>',
  '%00',
  '%zz',
  ':',
  '@',
  ' ',
  '\t',
  '\ufeff',
].map(text => Buffer.from(text))
const NO_UTF8 = [
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf5]),
]

/** A seeded generator of broken data: the same seed gives the same bytes. The variable `FUZZ_SEED` sets another seed. */
export class Random {
  readonly seed: number
  /** A number in [0, 1). */
  readonly next: () => number

  constructor(seed: number) {
    this.seed = (Number(process.env.FUZZ_SEED ?? 0) + seed) >>> 0
    this.next = seeded(this.seed)
  }

  /** A whole number in [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)]!
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length)
    for (let i = 0; i < length; i++) bytes[i] = this.int(256)
    return bytes
  }

  /** Makes `count` single changes to a valid message. */
  mutate(bytes: Uint8Array, count = 1 + this.int(4)): Buffer {
    let mutant: Buffer = Buffer.from(bytes)
    for (let i = 0; i < count && mutant.length > 0; i++) mutant = this.#mutateOnce(mutant)
    return mutant
  }

  #mutateOnce(bytes: Buffer): Buffer {
    const at = this.int(bytes.length)
    const to = Math.min(bytes.length, at + 1 + this.int(this.chance(0.2) ? bytes.length : 16))
    switch (this.int(8)) {
      case 0:
        bytes[at]! ^= 1 << this.int(8)
        return bytes
      case 1:
        bytes[at] = this.pick([0, 0x20, 0x7f, 0x80, 0xff])
        return bytes
      case 2:
        return splice(bytes, at, at, this.pick([...POISON, ...NO_UTF8]))
      case 3:
        return splice(bytes, at, at, this.bytes(1 + this.int(64)))
      case 4:
        return splice(bytes, at, to, Buffer.alloc(0))
      case 5:
        return splice(bytes, to, to, bytes.subarray(at, to))
      case 6:
        return Buffer.from(bytes.subarray(0, at))
      default:
        return this.#breakNumber(bytes, at)
    }
  }

  /** Replaces the next number by a broken one. */
  #breakNumber(bytes: Buffer, from: number): Buffer {
    const isDigit = (at: number): boolean => bytes[at]! >= 0x30 && bytes[at]! <= 0x39
    let at = from
    while (at < bytes.length && !isDigit(at)) at++
    let to = at
    while (to < bytes.length && isDigit(to)) to++
    return splice(bytes, at, to, Buffer.from(this.pick(NUMBERS)))
  }
}

const splice = (bytes: Buffer, from: number, to: number, put: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(to)])
