import { LawTables } from './kernels/frames.ts'

/**
 * A-law of ITU-T G.711 (11/88), table 1. Values are on the 16-bit scale: eight times the standard's uniform values.
 *
 *     segment      decision values x(n)     step     code (before the even bits are inverted: xor 0x55)
 *        1          0,   2    …   64          2      s 0 0 0 q q q q, s 0 0 1 q q q q   s = sign, 1 for positive
 *        2         64,  68    …  128          4      s 0 1 0 q q q q
 *        …                                  …
 *        7       2048, 2176   … 4096        128      s 1 1 1 q q q q
 */
const SCALE = 8
const INTERVALS = 128
const EVEN_BITS = 0x55

/** The code of the smallest positive value, sent for silence: A-law has no zero. */
export const ALAW_SILENCE = 0xd5

const TABLES = new LawTables(1)
const { samples: LINEAR, octets: CODE } = TABLES

/** Decision value x(n), n = 0 … 128, in units of the standard's 13-bit uniform code. */
const decisionValue = (n: number): number => (n < 32 ? 2 * n : (16 + (n % 16)) << (n >> 4))

for (let n = 0; n < INTERVALS; n++) {
  const from = SCALE * decisionValue(n)
  const to = SCALE * decisionValue(n + 1)
  const positive = (0x80 | n) ^ EVEN_BITS
  const negative = n ^ EVEN_BITS
  LINEAR[positive] = (from + to) / 2
  LINEAR[negative] = -(from + to) / 2
  for (let magnitude = from; magnitude < to; magnitude++) {
    CODE[magnitude] = positive
    if (magnitude > 0) CODE[-magnitude & 0xffff] = negative
  }
}
// The one value without a positive twin clips.
CODE[0x8000] = (INTERVALS - 1) ^ EVEN_BITS

/** Decodes A-law octets `src` into 16-bit PCM at the start of `dst`, which must be at least as long. */
export function decodeAlaw(src: Uint8Array, dst: Int16Array): void {
  TABLES.decode(src, dst)
}

/** Encodes 16-bit PCM `src` into A-law octets at the start of `dst`, which must be at least as long. */
export function encodeAlaw(src: Int16Array, dst: Uint8Array): void {
  TABLES.encode(src, dst)
}

/** Encodes the first samples of what the kernel has put out; borrowed until it does anything else. */
export const encodeAlawOut = (samples: number): Uint8Array => TABLES.encodeOut(samples)
