/**
 * Limits of a frame that may belong to a key or to the tone of a machine, that is, of one or two steady sines and some noise. The correlations
 * (`kernels/frames.ts`) show it, in parts of the energy.
 */
export const TONAL = {
  /** Mean square of the weakest sine, -43 dBm0 (T.30 requires -43 at the receiver, Q.24 less). */
  power: (32_768 * 10 ** ((-43 - 3.14) / 20)) ** 2 / 2,
  /** Correlation with the next sample: keys have 0.33 to 0.84. The tones of machines are at 1100 and 2100 Hz, with at most half of the energy elsewhere. */
  next: [-0.4, 0.84],
  /** Sines are predictable: error of the correlation with the sample after it, computed from that; of one sine it is 0. */
  error: [-0.2, 0.32],
} as const
