import { LawTables } from './kernels/frames.ts'

/**
 * µ-law of ITU-T G.711 (11/88), table 2. Values are on the 16-bit scale: four times the standard's uniform values.
 *
 *     segment      decision values x(n)     step     code (sent)   s = sign, 1 for positive
 *        1          0,  1,  3 …   31          2      s 1 1 1 q q q q   (first interval is half as wide)
 *        2         31, 35     …   95          4      s 1 1 0 q q q q   bits below the sign are inverted
 *        …                                  …
 *        8       4063, 4319   … 8159        256      s 0 0 0 q q q q
 *
 * With a bias of 33 every segment starts at a power of two: x(16 k) + 33 = 32 << k.
 */
const BIAS = 33
const SCALE = 4
const INTERVALS = 128

/** The code that decodes to zero, sent for silence. */
export const ULAW_SILENCE = 0xff

const TABLES = new LawTables(0)
const { samples: LINEAR, octets: CODE } = TABLES

/** Decision value x(n), n = 0 … 128, in units of the standard's 14-bit uniform code. */
const decisionValue = (n: number): number => (n === 0 ? 0 : ((32 + 2 * (n % 16)) << (n >> 4)) - BIAS)

for (let n = 0; n < INTERVALS; n++) {
  const from = decisionValue(n)
  const to = decisionValue(n + 1)
  const positive = 0xff - n
  const negative = positive & 0x7f
  // y(0) is 0 by the standard, every other y(n) the middle of its interval.
  const level = n === 0 ? 0 : (SCALE * (from + to)) / 2
  LINEAR[positive] = level
  LINEAR[negative] = -level
  // What lies above the virtual decision value x(128) = 8159 clips into the last interval.
  const end = n === INTERVALS - 1 ? 32_769 : SCALE * to
  for (let magnitude = SCALE * from; magnitude < end; magnitude++) {
    if (magnitude < 32_768) CODE[magnitude] = positive
    if (magnitude > 0) CODE[-magnitude & 0xffff] = negative
  }
}

/** Decodes µ-law octets `src` into 16-bit PCM at the start of `dst`, which must be at least as long. */
export function decodeUlaw(src: Uint8Array, dst: Int16Array): void {
  TABLES.decode(src, dst)
}

/** Encodes 16-bit PCM `src` into µ-law octets at the start of `dst`, which must be at least as long. */
export function encodeUlaw(src: Int16Array, dst: Uint8Array): void {
  TABLES.encode(src, dst)
}

/** Encodes the first samples of what the kernel has put out; borrowed until it does anything else. */
export const encodeUlawOut = (samples: number): Uint8Array => TABLES.encodeOut(samples)
