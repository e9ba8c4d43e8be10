import { NARROWBAND_HZ } from '../codecs/audio.ts'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../codecs/goertzel.ts'

/** The level reported for silence [dBov]. */
const FLOOR_DBOV = -120

/**
 * Level of a sine of `hz` in `samples[from … to)`: its RMS relative to full scale [dBov]; -120: there is none. Over one second, a sine that is 1 Hz
 * off appears more than 10 dB lower, and one that is 50 Hz off does not appear at all.
 */
export function levelAt(
  hz: number,
  samples: Int16Array,
  from = 0,
  to = samples.length,
  rateHz = NARROWBAND_HZ,
): number {
  const count = to - from
  if (count <= 0) return FLOOR_DBOV
  const power = goertzelPower(samples, goertzelCoefficient(hz, rateHz), from, to)
  return power <= 0 ? FLOOR_DBOV : Math.max(FLOOR_DBOV, goertzelDbov(power, count))
}

/** RMS of `samples` relative to full scale [dBov]; -120: digital silence. */
export function loudness(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return sum === 0 ? FLOOR_DBOV : Math.max(FLOOR_DBOV, 10 * Math.log10(sum / samples.length / 32_768 ** 2))
}

/** A-law has no zero: its silence is a constant 8, and two such parties add up to 16. A tone of this amplitude has -69 dBov. */
const SILENCE_WITHIN = 16

/** Number of samples that are louder than silence. */
export const audibleSamples = (samples: Int16Array): number =>
  samples.reduce((count, sample) => count + (Math.abs(sample) > SILENCE_WITHIN ? 1 : 0), 0)
