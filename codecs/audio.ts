/** Length of one media frame [ms]. Every clock, queue and counter of the engine is in these. */
export const FRAME_MS = 20

/** Sample rate of G.711 and of the mix of a telephone room [Hz]. */
export const NARROWBAND_HZ = 8000

/** Sample rate of wideband codecs, and of what their legs hear of each other [Hz]. */
export const WIDEBAND_HZ = 16_000

/** One 20 ms frame of linear PCM, signed 16 bit, mono. Borrowed: valid until the call that handed it over returns. */
export type Frame = Int16Array

/** Samples in one 20 ms frame: 160 at 8 kHz, 320 at 16 kHz. */
export const samplesPerFrame = (sampleRateHz: number): number => (sampleRateHz * FRAME_MS) / 1000

/** Clamps a sum of samples to the range of 16-bit PCM. */
export const clamp16 = (sum: number): number => (sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum)

/** Adds a frame to samples from here on. */
export function addTo(samples: Int16Array, frame: Frame, from = 0): void {
  for (let i = 0; i < frame.length; i++) samples[from + i] = clamp16(samples[from + i]! + frame[i]!)
}

/** Length of a cross-fade: 5 ms at 8 kHz [samples]. */
const FADE_SAMPLES = 40

/** A copy of a frame that begins from silence, or falls silent, within 5 ms. */
export function faded(frame: Frame, how: 'in' | 'out'): Frame {
  return frame.map((sample, i) => {
    const share = Math.min(1, (i + 1) / (FADE_SAMPLES + 1))
    return Math.round(sample * (how === 'in' ? share : 1 - share))
  })
}

/** What may have followed a frame that is the last one, falling silent within 5 ms: it is turned around its last sample. */
export function ending(frame: Frame): Frame {
  const last = frame[frame.length - 1]!
  return faded(
    frame.map((_, i) => clamp16(2 * last - frame[Math.max(0, frame.length - 2 - i)]!)),
    'out',
  )
}

/** Cross-fades the start of a frame, or its part from a sample on, from what would have come in its place. */
export function fadeInto(frame: Frame, before: Frame, from = 0): void {
  for (let i = 0; i < from + FADE_SAMPLES; i++) {
    const share = Math.max(0, i + 1 - from) / (FADE_SAMPLES + 1)
    frame[i] = Math.round(before[i]! + (frame[i]! - before[i]!) * share)
  }
}
