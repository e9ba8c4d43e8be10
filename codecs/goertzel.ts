/** What `goertzelPower` needs of a frequency: 2 cos(2 π f / rate). Compute it once. */
export const goertzelCoefficient = (hz: number, sampleRateHz: number): number =>
  2 * Math.cos((2 * Math.PI * hz) / sampleRateHz)

/**
 * Power at one frequency of `samples[from … to)` by Goertzel's recursion: a sine of amplitude A there gives about
 * A² n² / 4 over n samples. The frequency need not be a multiple of rate / n.
 */
export function goertzelPower(samples: ArrayLike<number>, coefficient: number, from = 0, to = samples.length): number {
  let s1 = 0
  let s2 = 0
  for (let i = from; i < to; i++) {
    const s0 = samples[i]! + coefficient * s1 - s2
    s2 = s1
    s1 = s0
  }
  return s1 * s1 + s2 * s2 - coefficient * s1 * s2
}

/** `goertzelPower` of all `samples` for each coefficient, written to `powers`: it returns, so allocates, no number. */
export function goertzelPowers(samples: Float64Array, coefficients: Float64Array, powers: Float64Array): void {
  for (let n = 0; n < coefficients.length; n++) {
    const coefficient = coefficients[n]!
    let s1 = 0
    let s2 = 0
    for (let i = 0; i < samples.length; i++) {
      const s0 = samples[i]! + coefficient * s1 - s2
      s2 = s1
      s1 = s0
    }
    powers[n] = s1 * s1 + s2 * s2 - coefficient * s1 * s2
  }
}

/** Power of a sine in [dBov], its RMS against full scale, from what `goertzelPower` gave over `count` samples. */
export const goertzelDbov = (power: number, count: number): number =>
  10 * Math.log10((2 * power) / count ** 2 / 32_768 ** 2)
