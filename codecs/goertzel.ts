/** The coefficient of `goertzelPower` for a frequency: 2 cos(2 π f / rate). Compute it once. */
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

/**
 * `goertzelPower` of all `samples` for each of four coefficients, written to `powers`. Four at a time, as each step of a
 * recursion waits for the one before it; it returns, so allocates, no number.
 */
export function goertzelPowers(samples: Float64Array, coefficients: Float64Array, powers: Float64Array): void {
  const ca = coefficients[0]!
  const cb = coefficients[1]!
  const cc = coefficients[2]!
  const cd = coefficients[3]!
  let a1 = 0
  let a2 = 0
  let b1 = 0
  let b2 = 0
  let c1 = 0
  let c2 = 0
  let d1 = 0
  let d2 = 0
  for (let i = 0; i < samples.length; i++) {
    const sample = samples[i]!
    const a0 = sample + ca * a1 - a2
    const b0 = sample + cb * b1 - b2
    const c0 = sample + cc * c1 - c2
    const d0 = sample + cd * d1 - d2
    a2 = a1
    a1 = a0
    b2 = b1
    b1 = b0
    c2 = c1
    c1 = c0
    d2 = d1
    d1 = d0
  }
  powers[0] = a1 * a1 + a2 * a2 - ca * a1 * a2
  powers[1] = b1 * b1 + b2 * b2 - cb * b1 * b2
  powers[2] = c1 * c1 + c2 * c2 - cc * c1 * c2
  powers[3] = d1 * d1 + d2 * d2 - cd * d1 * d2
}

/** Power of a sine in [dBov], its RMS against full scale, from what `goertzelPower` gave over `count` samples. */
export const goertzelDbov = (power: number, count: number): number =>
  10 * Math.log10((2 * power) / count ** 2 / 32_768 ** 2)
