/**
 * What the talkers of the load say: marks, from which a listener reads who said it and when.
 *
 * A frame of µ-law is cut into ten places of 16 octets. A talker fills its own place and leaves zeros in the others, so ten
 * may talk at once: their sum is each mark in its place, to the bit, and what a party must not hear, its own mark, is seen.
 *
 *     octet   0      1 2 3   4 5 6 7 8 9   10 11 12 13   14 15
 *             0xba   leg     frame         check         zero        each octet but the last two holds 4 bits
 */
export const MARK_PLACES = 10
const MARK_BYTES = 16
const DIGITS = 14
const ZERO = 0xff
/** µ-law of medium level; the low half carries the digit. Decoding and encoding gives the same octet again. */
const LEVEL = 0xb0
const FIRST = 0xa

/** Every leg and frame number must be below these. */
export const MAX_LEGS = 16 ** 3
export const FRAMES = 16 ** 6

/** What `readMark` found; one object is reused. */
export interface Mark {
  leg: number
  frame: number
}

/** Odd factors of 12-bit numbers: no single change of a digit leaves it as it was. */
const checkOf = (leg: number, frame: number): number =>
  (leg * 40_503 + (frame & 0xfff) * 25_171 + (frame >> 12) * 9973 + 0x5a5a) & 0xffff

/** Writes a mark to its place of the frame that starts at `offset`. `frame` is taken modulo 16^6. */
export function writeMark(bytes: Uint8Array, offset: number, place: number, leg: number, frame: number): void {
  let at = offset + place * MARK_BYTES
  const put = (value: number, digits: number): void => {
    for (let shift = 4 * (digits - 1); shift >= 0; shift -= 4) bytes[at++] = LEVEL | ((value >> shift) & 0xf)
  }
  const number = frame % FRAMES
  put(FIRST, 1)
  put(leg, 3)
  put(number, 6)
  put(checkOf(leg, number), 4)
}

/** `silent`: nobody speaks in this place. `broken`: something is there, but no mark: not what was said. */
export function readMark(bytes: Uint8Array, offset: number, place: number, into: Mark): 'mark' | 'silent' | 'broken' {
  const at = offset + place * MARK_BYTES
  if (bytes[at] !== (LEVEL | FIRST)) {
    for (let i = 0; i < DIGITS; i++) if (bytes[at + i] !== ZERO) return 'broken'
    return 'silent'
  }
  const leg = digits(bytes, at + 1, 3)
  const frame = digits(bytes, at + 4, 6)
  if (leg < 0 || frame < 0 || digits(bytes, at + 10, 4) !== checkOf(leg, frame)) return 'broken'
  into.leg = leg
  into.frame = frame
  return 'mark'
}

function digits(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let i = 0; i < count; i++) {
    const octet = bytes[at + i]!
    if ((octet & 0xf0) !== LEVEL) return -1
    value = (value << 4) | (octet & 0xf)
  }
  return value
}
