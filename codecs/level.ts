import type { Frame } from './audio.ts'

/** The level of an all-zero frame [dBov]: the lowest that RFC 6464 §3 can express. */
export const SILENCE_DBOV = -127

/** Anything quieter is no voice: nobody hears if some of it is left out or repeated [dBov]. */
const QUIET_DBOV = -50

/**
 * RMS level of a frame [dBov]: 0 is a square wave at full scale, a full-scale sine is -3.01 (RFC 6464 §3 takes its
 * reference so). Never below SILENCE_DBOV; an empty frame is silence.
 */
export function levelDbov(frame: Frame): number {
  let energy = 0
  for (let i = 0; i < frame.length; i++) energy += frame[i]! * frame[i]!
  if (energy === 0) return SILENCE_DBOV
  return Math.max(SILENCE_DBOV, 10 * Math.log10(energy / frame.length / 32_768 ** 2))
}

export const isQuiet = (frame: Frame): boolean => levelDbov(frame) < QUIET_DBOV

/** Of a mean power; full scale is 1 [dBov]. */
export const dbOf = (power: number): number => (power <= 0 ? SILENCE_DBOV : 10 * Math.log10(power))
