/** Linear 16-bit PCM as octets: big-endian in RTP (RFC 3551 §4.5.11), little-endian in media streams and WAV files. */

/** Writes `src` little-endian into `dst` from `offset`; `dst` needs `2 * src.length` octets from there. */
export function writeL16le(src: Int16Array, dst: Uint8Array, offset = 0): void {
  for (let i = 0, at = offset; i < src.length; i++, at += 2) {
    const sample = src[i]!
    dst[at] = sample
    dst[at + 1] = sample >> 8
  }
}

/** Writes `src` big-endian into `dst` from `offset`; `dst` needs `2 * src.length` octets from there. */
export function writeL16be(src: Int16Array, dst: Uint8Array, offset = 0): void {
  for (let i = 0, at = offset; i < src.length; i++, at += 2) {
    const sample = src[i]!
    dst[at] = sample >> 8
    dst[at + 1] = sample
  }
}

/** Reads little-endian octets into `dst`; returns the samples read: as many as both hold, a last odd octet is left. */
export function readL16le(src: Uint8Array, dst: Int16Array): number {
  const samples = Math.min(src.length >> 1, dst.length)
  for (let i = 0, at = 0; i < samples; i++, at += 2) dst[i] = src[at]! | (src[at + 1]! << 8)
  return samples
}

/** Reads big-endian octets into `dst`; returns the samples read: as many as both hold, a last odd octet is left. */
export function readL16be(src: Uint8Array, dst: Int16Array): number {
  const samples = Math.min(src.length >> 1, dst.length)
  for (let i = 0, at = 0; i < samples; i++, at += 2) dst[i] = (src[at]! << 8) | src[at + 1]!
  return samples
}
