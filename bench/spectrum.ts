import { NARROWBAND_HZ } from '../codecs/audio.ts'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../codecs/goertzel.ts'

/** The value shown for no tone at all [dBov]. */
const FLOOR_DBOV = -120

/**
 * Level of a sine of `hz` in `samples[from … to)`, its RMS against full scale [dBov]; -120 where there is none. Over a second a
 * sine 1 Hz off is down by more than 10 dB, and one 50 Hz off is not seen at all.
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

/** The level of each frequency over all of `samples` [dBov]. */
export const levelsAt = (frequencies: readonly number[], samples: Int16Array, rateHz = NARROWBAND_HZ): number[] =>
  frequencies.map(hz => levelAt(hz, samples, 0, samples.length, rateHz))

/** RMS of everything in `samples` against full scale [dBov]; -120 for digital silence. */
export function loudness(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return sum === 0 ? FLOOR_DBOV : Math.max(FLOOR_DBOV, 10 * Math.log10(sum / samples.length / 32_768 ** 2))
}

/** A-law has no zero: its silence is a constant 8, and two such voices make 16. A tone of this amplitude is at -69 dBov. */
const SILENCE_WITHIN = 16

/** How many samples are more than silence. */
export const audibleSamples = (samples: Int16Array): number =>
  samples.reduce((count, sample) => count + (Math.abs(sample) > SILENCE_WITHIN ? 1 : 0), 0)
