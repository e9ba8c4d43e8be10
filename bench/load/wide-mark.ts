import type { StreamFormat } from '../../media/protocol.ts'

/**
 * The mark of a talker whose stream is measured: it must survive resampling, so it is coarse. The first 10 ms of a frame hold
 * 16 bits of 5 samples each, positive or negative; the rest is zero. 10 bits are the frame's number, 6 a check.
 */
const BITS = 16
const SAMPLES_PER_BIT = 5
const CHECK_BITS = 6
const POSITIVE = 0xa0
const NEGATIVE = 0x20
/** Frame numbers are taken modulo this. */
export const WIDE_FRAMES = 1024

/** Where the mark lies in a frame of a stream: the resampler delays by 8 ms, which are 128 samples at 16 kHz. */
const LAYOUT: Record<StreamFormat, { bytesPerSample: 1 | 2; stride: number; first: number }> = {
  mulaw_8000: { bytesPerSample: 1, stride: 1, first: 0 },
  l16_8000: { bytesPerSample: 2, stride: 1, first: 0 },
  l16_16000: { bytesPerSample: 2, stride: 2, first: 128 },
}

const checkOf = (frame: number): number => (frame * 37 + 11) & ((1 << CHECK_BITS) - 1)

/** Writes the mark into a µ-law frame whose other octets are silence. */
export function writeWideMark(bytes: Uint8Array, offset: number, frame: number): void {
  const number = frame % WIDE_FRAMES
  const word = (number << CHECK_BITS) | checkOf(number)
  for (let bit = 0; bit < BITS; bit++) {
    const octet = (word >> bit) & 1 ? POSITIVE : NEGATIVE
    bytes.fill(octet, offset + bit * SAMPLES_PER_BIT, offset + (bit + 1) * SAMPLES_PER_BIT)
  }
}

/** The frame number (modulo 1024) in a payload of a stream, or -1. */
export function readWideMark(payload: Uint8Array, format: StreamFormat): number {
  const { bytesPerSample, stride, first } = LAYOUT[format]
  let word = 0
  for (let bit = 0; bit < BITS; bit++) {
    const at = (first + (bit * SAMPLES_PER_BIT + 2) * stride) * bytesPerSample
    // The sign bit of µ-law is 1 for positive, that of little-endian L16 (in its second octet) for negative.
    const isPositive = bytesPerSample === 1 ? payload[at]! >= 0x80 : payload[at + 1]! < 0x80
    if (isPositive) word |= 1 << bit
  }
  const frame = word >> CHECK_BITS
  return (word & ((1 << CHECK_BITS) - 1)) === checkOf(frame) ? frame : -1
}
