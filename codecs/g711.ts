import { copy, decode, encode, FRAME_OUT, lawTables, MAX_SAMPLES, OCTETS_IO } from './kernels/frames.ts'

export type LawName = 'PCMU' | 'PCMA'

/** Intervals of one sign. Samples are on the 16-bit scale. */
const INTERVALS = 128

/** One interval of a law: samples whose magnitude is in `from` … `to` - 1 have the codes of its two signs, which decode to ±`level`. */
interface Interval {
  from: number
  to: number
  level: number
  positive: number
  negative: number
}

/** Views by length, since a new one for each frame would cost more than its copy. */
const outs: Int16Array[] = []
const octets: Uint8Array[] = []
const outView = (samples: number): Int16Array => (outs[samples] ??= FRAME_OUT.subarray(0, samples))
const octetsView = (samples: number): Uint8Array => (octets[samples] ??= OCTETS_IO.subarray(0, samples))

/** One of the two laws of ITU-T G.711 under its RTP name (RFC 3551 §4.5.14, §6): one octet per sample at 8 kHz. */
export class G711 {
  readonly name: LawName
  readonly payloadType: 0 | 8
  /** The octet to send for silence. */
  readonly silence: number
  readonly #decoding: number
  readonly #encoding: number

  /** @param intervals in ascending order */
  constructor(name: LawName, payloadType: 0 | 8, silence: number, intervals: readonly Interval[]) {
    this.name = name
    this.payloadType = payloadType
    this.silence = silence
    const { decoding, encoding, samples, octets } = lawTables(payloadType === 0 ? 0 : 1)
    this.#decoding = decoding
    this.#encoding = encoding
    for (const { from, to, level, positive, negative } of intervals) {
      samples[positive] = level
      samples[negative] = -level
      octets.fill(positive, from, Math.min(to, 32_768))
      // By the sample's 16 bits: -1 stands last.
      octets.fill(negative, 65_537 - to, 65_537 - Math.max(from, 1))
    }
  }

  /** `to` must be at least as long as `from`. */
  decode(from: Uint8Array, to: Int16Array): void {
    if (from.length > MAX_SAMPLES) {
      inParts(from.length, (begin, end) => this.decode(from.subarray(begin, end), to.subarray(begin, end)))
      return
    }
    copy(OCTETS_IO, from)
    decode(this.#decoding, from.length)
    copy(to, outView(from.length))
  }

  /** Decodes as many octets as the kernel has been given, into its output. */
  decodeOut(samples: number): void {
    decode(this.#decoding, samples)
  }

  /** `to` must be at least as long as `from`. */
  encode(from: Int16Array, to: Uint8Array): void {
    if (from.length > MAX_SAMPLES) {
      inParts(from.length, (begin, end) => this.encode(from.subarray(begin, end), to.subarray(begin, end)))
      return
    }
    copy(FRAME_OUT, from)
    copy(to, this.encodeOut(from.length))
  }

  /** Encodes the first samples of the kernel's output; borrowed until the kernel is used again. */
  encodeOut(samples: number): Uint8Array {
    encode(this.#encoding, samples)
    return octetsView(samples)
  }
}

function inParts(samples: number, part: (begin: number, end: number) => void): void {
  for (let begin = 0; begin < samples; begin += MAX_SAMPLES) part(begin, Math.min(samples, begin + MAX_SAMPLES))
}

const intervalsOf = (interval: (n: number) => Interval): Interval[] =>
  Array.from({ length: INTERVALS }, (_, n) => interval(n))

/**
 * µ-law of ITU-T G.711 (11/88), table 2. Its uniform values have 14 bits.
 *
 *     segment      decision values x(n)     step     code (sent)   s = sign, 1 for positive
 *        1          0,  1,  3 …   31          2      s 1 1 1 q q q q   (first interval is half as wide)
 *        2         31, 35     …   95          4      s 1 1 0 q q q q   bits below the sign are inverted
 *        …                                  …
 *        8       4063, 4319   … 8159        256      s 0 0 0 q q q q
 *
 * With a bias of 33 every segment starts at a power of two: x(16 k) + 33 = 32 << k.
 */
const ulawDecision = (n: number): number => (n === 0 ? 0 : ((32 + 2 * (n % 16)) << (n >> 4)) - 33)
const ULAW_SCALE = 4

/** Its silence is the code that decodes to zero. */
export const PCMU = new G711(
  'PCMU',
  0,
  0xff,
  intervalsOf(n => {
    const from = ULAW_SCALE * ulawDecision(n)
    const to = ULAW_SCALE * ulawDecision(n + 1)
    return {
      from,
      // Louder samples than the virtual decision value x(128) = 8159 are clipped into the last interval.
      to: n === INTERVALS - 1 ? 32_769 : to,
      // y(0) is 0 by the standard, every other y(n) the middle of its interval.
      level: n === 0 ? 0 : (from + to) / 2,
      positive: 0xff - n,
      negative: 0x7f - n,
    }
  }),
)

/**
 * A-law of ITU-T G.711 (11/88), table 1. Its uniform values have 13 bits.
 *
 *     segment      decision values x(n)     step     code (before the even bits are inverted: xor 0x55)
 *        1          0,   2    …   64          2      s 0 0 0 q q q q, s 0 0 1 q q q q   s = sign, 1 for positive
 *        2         64,  68    …  128          4      s 0 1 0 q q q q
 *        …                                  …
 *        7       2048, 2176   … 4096        128      s 1 1 1 q q q q
 */
const alawDecision = (n: number): number => (n < 32 ? 2 * n : (16 + (n % 16)) << (n >> 4))
const ALAW_SCALE = 8
const EVEN_BITS = 0x55

/** It has no zero: its silence is the code of the smallest positive value. */
export const PCMA = new G711(
  'PCMA',
  8,
  0xd5,
  intervalsOf(n => {
    const from = ALAW_SCALE * alawDecision(n)
    const to = ALAW_SCALE * alawDecision(n + 1)
    return {
      from,
      // The only value without a positive twin, -32768, is clipped.
      to: n === INTERVALS - 1 ? 32_769 : to,
      level: (from + to) / 2,
      positive: (0x80 | n) ^ EVEN_BITS,
      negative: n ^ EVEN_BITS,
    }
  }),
)

export const LAWS: Readonly<Record<LawName, G711>> = { PCMU, PCMA }

/** Whether a codec of this name is a law. */
export const isLaw = (name: string): name is LawName => Object.hasOwn(LAWS, name)

/** The law of an encoding name in SDP (case does not matter, RFC 4855 §3); undefined: another codec. */
export function g711ByName(name: string): G711 | undefined {
  const upper = name.toUpperCase()
  return isLaw(upper) ? LAWS[upper] : undefined
}

/** The law of a static RTP payload type; undefined: another codec. */
export function g711ByPayloadType(payloadType: number): G711 | undefined {
  return Object.values(LAWS).find(law => law.payloadType === payloadType)
}

/** Each octet of one law in the other: the nearest code of the same sample (ITU-T G.711 §3). */
export function octetsOf(from: G711, to: G711): Uint8Array {
  const samples = new Int16Array(256)
  const octets = new Uint8Array(256)
  from.decode(
    Uint8Array.from({ length: 256 }, (_, code) => code),
    samples,
  )
  to.encode(samples, octets)
  return octets
}
