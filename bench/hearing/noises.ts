import { clamp16, NARROWBAND_HZ } from '../../codecs/audio.ts'
import { levelDbov } from '../../codecs/level.ts'
import { seeded } from '../seeded.ts'

/** `white`: a bad line; `car`: deep and smooth; `fan`: a hum with harmonics and air; `babble`: people in the same room. */
export type NoiseKind = 'white' | 'car' | 'fan' | 'babble'

/** Numbers from -1 to 1 that are the same for the same seed. */
export function seededNoise(seed: number): () => number {
  const random = seeded(seed)
  return () => 2 * random() - 1
}

/** Noise of this RMS level, `length` samples of it. `talkers`: the voices that babble is made of. */
export function noiseOf(
  kind: NoiseKind,
  levelDb: number,
  length: number,
  seed: number,
  talkers: readonly Int16Array[],
): Int16Array {
  const random = seededNoise(seed)
  const samples = kind === 'babble' ? babble(talkers, length, random) : steady(kind, length, random)
  return atLevel(samples, levelDb, rms(samples))
}

function steady(kind: Exclude<NoiseKind, 'babble'>, length: number, random: () => number): Float64Array {
  let deep = 0
  const samples = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    const air = random()
    deep = 0.97 * deep + 0.03 * air
    samples[i] = kind === 'white' ? air : kind === 'car' ? deep + 0.01 * air : 40 * hum(i) + 0.3 * air
  }
  return samples
}

const hum = (i: number): number =>
  [100, 200, 300, 500].reduce((sum, hz) => sum + Math.sin((2 * Math.PI * hz * i) / NARROWBAND_HZ) / hz, 0)

/** All talkers speak without a pause, each from a different place in its text. */
function babble(talkers: readonly Int16Array[], length: number, random: () => number): Float64Array {
  const mix = new Float64Array(length)
  for (const talker of talkers) {
    const from = Math.floor(((random() + 1) / 2) * talker.length)
    for (let i = 0; i < length; i++) mix[i]! += talker[(from + i) % talker.length]!
  }
  return mix
}

const rms = (samples: ArrayLike<number>): number => {
  let energy = 0
  for (let i = 0; i < samples.length; i++) energy += samples[i]! ** 2
  return Math.sqrt(energy / samples.length)
}

/** Scales the samples so that an RMS of `measured` becomes `levelDb` [dBov]. */
export function atLevel(samples: ArrayLike<number>, levelDb: number, measured: number): Int16Array {
  const gain = (32_768 * 10 ** (levelDb / 20)) / measured
  const scaled = new Int16Array(samples.length)
  for (let i = 0; i < scaled.length; i++) scaled[i] = clamp16(Math.round(gain * samples[i]!))
  return scaled
}

const WINDOW = 80

/** RMS of the speech: of the windows that are at most 16 dB below the level of the whole (similar to ITU-T P.56). */
export function activeRms(samples: Int16Array): number {
  const least = levelDbov(samples) - 16
  let energy = 0
  let count = 0
  for (let i = 0; i + WINDOW <= samples.length; i += WINDOW) {
    const window = samples.subarray(i, i + WINDOW)
    if (levelDbov(window) < least) continue
    for (const sample of window) energy += sample ** 2
    count += WINDOW
  }
  return Math.sqrt(energy / Math.max(1, count))
}

/** From the first to the end of the last 10 ms that are at most 30 dB below the level of the speech [samples]. */
export function speechSpan(samples: Int16Array): { from: number; to: number } {
  const least = 20 * Math.log10(activeRms(samples) / 32_768) - 30
  let from = -1
  let to = 0
  for (let i = 0; i + WINDOW <= samples.length; i += WINDOW) {
    if (levelDbov(samples.subarray(i, i + WINDOW)) < least) continue
    if (from < 0) from = i
    to = i + WINDOW
  }
  return { from: Math.max(0, from), to }
}
