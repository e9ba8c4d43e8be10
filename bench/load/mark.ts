import { PCMU } from '../../codecs/g711.ts'

/**
 * What the talkers of the load say: marks, from which a listener reads who spoke and when. They must be readable after everything that an engine
 * may rightly do: mixed with the noise of a hundred others, resampled, at another level, and at any place in a packet, because playout may shift
 * by a part of a frame. So a mark has 48 bits, and each bit is three loud samples.
 *
 *     bit   0      8     20      32       48
 *           sync   leg   frame   check         most significant bit first; 16 samples of noise fill the frame
 */
const MARK_BITS = 48
const SAMPLES_PER_BIT = 3
export const MARK_SAMPLES = MARK_BITS * SAMPLES_PER_BIT
const SYNC_BITS = 8
const LEG_BITS = 12
const FRAME_BITS = 12
const CHECK_BITS = 16
const SYNC = 0b1011_0010
/** µ-law of -18.5 dBov; the sign is the bit. */
const POSITIVE = 0xb0
const NEGATIVE = 0x30
/** A quieter sample belongs to no mark [of 32768]: the noise of a hundred legs stays below it, and a mark at half its level above. */
const QUIET = 1000

/** Maximum number of legs that marks tell apart. */
export const MAX_LEGS = 1 << LEG_BITS
/** Frames are numbered modulo this: 82 s. */
export const FRAMES = 1 << FRAME_BITS

/** What a listener found; one object is reused. `frame` is modulo `FRAMES`. */
export interface Mark {
  leg: number
  frame: number
}

/** Check bits of a mark. The factors are odd, so that every change of a single bit changes them. */
const checkOf = (leg: number, frame: number): number => (leg * 40_503 + frame * 25_171 + 0x5a5a) & 0xffff

/** Writes a mark over the first `MARK_SAMPLES` octets of µ-law at `offset`. `frame` is taken modulo `FRAMES`. */
export function writeMark(bytes: Uint8Array, offset: number, leg: number, frame: number): void {
  let at = offset
  const put = (value: number, bits: number): void => {
    for (let bit = bits - 1; bit >= 0; bit--) {
      const octet = (value >> bit) & 1 ? POSITIVE : NEGATIVE
      for (let i = 0; i < SAMPLES_PER_BIT; i++) bytes[at++] = octet
    }
  }
  const number = frame % FRAMES
  put(SYNC, SYNC_BITS)
  put(leg, LEG_BITS)
  put(number, FRAME_BITS)
  put(checkOf(leg, number), CHECK_BITS)
}

/** The sign of a sample, 1 or -1; 0: it is too quiet to belong to a mark. */
export const signOf = (sample: number): number => (sample >= QUIET ? 1 : sample <= -QUIET ? -1 : 0)

/** `signOf` of each octet of µ-law. */
export const ULAW_SIGNS = ((): Int8Array => {
  const samples = new Int16Array(256)
  PCMU.decode(
    Uint8Array.from({ length: 256 }, (_, octet) => octet),
    samples,
  )
  return Int8Array.from(samples, signOf)
})()

/** Reads the mark whose first sample is `at`. `none`: no mark begins there; `broken`: one begins there, but its check bits do not fit. */
export function readMark(signs: Int8Array, at: number, into: Mark): 'mark' | 'none' | 'broken' {
  const centre = at + 1
  if (read(signs, centre, 0, SYNC_BITS) !== SYNC) return 'none'
  const leg = read(signs, centre, SYNC_BITS, LEG_BITS)
  const frame = read(signs, centre, SYNC_BITS + LEG_BITS, FRAME_BITS)
  const check = read(signs, centre, MARK_BITS - CHECK_BITS, CHECK_BITS)
  if (leg < 0 || frame < 0 || check !== checkOf(leg, frame)) return 'broken'
  into.leg = leg
  into.frame = frame
  return 'mark'
}

/** Reads bits by the middle one of their samples; -1: one of these is too quiet. */
function read(signs: Int8Array, centre: number, first: number, bits: number): number {
  let value = 0
  for (let bit = first; bit < first + bits; bit++) {
    const sign = signs[centre + bit * SAMPLES_PER_BIT]!
    if (sign === 0) return -1
    value = (value << 1) | (sign > 0 ? 1 : 0)
  }
  return value
}
