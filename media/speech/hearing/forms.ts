import { MODEL_HZ } from '../moonshine/moonshine-model.ts'

/** Of speech in what the model was trained on, about [dB below full scale]. */
const LEVEL_DB = -20
const MAX_GAIN = 100
const WINDOW = 0.01 * MODEL_HZ
/** Windows within 26 dB of the loudest may be speech; those within 16 dB of the mean of these are (after ITU-T P.56). */
const MAY_BE_SHARE = 1 / 400
/** Not of a click, which is shorter [windows]. */
const LOUDEST = 4
const SPEECH_SHARE = 1 / 40
/** Windows within 30 dB of the speech belong to it, soft consonants, when they are louder than the line by itself; within 20 dB all do. */
const SOFT_SHARE = 1 / 1000
const ANY_SHARE = 1 / 100
const ABOVE_LINE = 4
/** Soft consonants are no further from the rest of the speech, and the line is measured no further from it [windows]. */
const AROUND = 15
/** So many of the windows there are as quiet as the line, if any are. */
const QUIET_PART = 0.05
/** Kept of what is around the speech, and silence around that [windows, samples]. */
const MARGIN = 8
const SILENCE = 0.12 * MODEL_HZ
const ACCENT = 0.5

/**
 * As the model knows speech: at one level, with as much around it whoever cut it out, to the sample. What is made of it hangs on
 * trifles, as where its frames of 24 ms begin; so these depend on nothing but the speech itself: not on how loud the caller is, nor on
 * which frame was found to be the first with a voice.
 */
export function asTrained(samples: Float32Array): Float32Array {
  const { powers, origin } = windowsOf(samples)
  const span = speechOf(powers)
  if (span === null) return samples
  const from = origin + (span.from - MARGIN) * WINDOW
  const length = (span.to - span.from + 2 * MARGIN) * WINDOW
  const kept = samples.subarray(Math.max(0, from), Math.max(0, from + length))
  const mean = averageOf(kept)
  const gain = Math.min(MAX_GAIN, 10 ** (LEVEL_DB / 20) / Math.sqrt(span.level))
  const audio = new Float32Array(length + 2 * SILENCE)
  for (let i = 0; i < kept.length; i++) {
    audio[SILENCE + Math.max(0, -from) + i] = Math.max(-1, Math.min(1, gain * (kept[i]! - mean)))
  }
  return audio
}

/** Spoken so many times slower, and deeper by as much. */
export const slowed = (samples: Float32Array, times: number): Float32Array =>
  Float32Array.from({ length: Math.floor(samples.length * times) }, (_, i) => {
    const at = Math.floor(i / times)
    const part = i / times - at
    return samples[at]! * (1 - part) + (samples[at + 1] ?? 0) * part
  })

/** Brighter: consonants stand out of the vowels. */
export const accentuated = (samples: Float32Array): Float32Array =>
  samples.map((sample, i) => sample - ACCENT * (samples[i - 1] ?? 0))

/**
 * The power of each window about its mean [of full scale], and where the first of them begins [samples]: the loudest sample is the first
 * of one, so that the same speech is divided in the same way however it was cut out.
 */
function windowsOf(samples: Float32Array): { powers: number[]; origin: number } {
  let loudest = 0
  for (let i = 1; i < samples.length; i++) if (Math.abs(samples[i]!) > Math.abs(samples[loudest]!)) loudest = i
  const origin = loudest % WINDOW
  const powers = Array.from({ length: Math.floor((samples.length - origin) / WINDOW) }, (_, window) => {
    const part = samples.subarray(origin + window * WINDOW, origin + (window + 1) * WINDOW)
    const mean = averageOf(part)
    return averageOf(part.map(sample => (sample - mean) ** 2))
  })
  return { powers, origin }
}

/** Which windows are speech, from its first to behind its last, and their level; null: there is none. */
function speechOf(powers: readonly number[]): { from: number; to: number; level: number } | null {
  const louderThan = (least: number) => averageOf(powers.filter(power => power >= least))
  const loudest = powers.toSorted((a, b) => b - a)[Math.min(LOUDEST, powers.length) - 1] ?? 0
  const level = louderThan(SPEECH_SHARE * louderThan(MAY_BE_SHARE * loudest))
  if (level === 0) return null
  const isAny = (power: number): boolean => power >= level * ANY_SHARE
  const any = { from: powers.findIndex(isAny), to: powers.findLastIndex(isAny) + 1 }
  const reach = { from: Math.max(0, any.from - AROUND), to: Math.min(powers.length, any.to + AROUND) }
  const near = powers.slice(reach.from, reach.to)
  const line = near.toSorted((a, b) => a - b)[Math.floor(near.length * QUIET_PART)]!
  const least = Math.min(level * ANY_SHARE, Math.max(level * SOFT_SHARE, line * ABOVE_LINE))
  const isSoft = (power: number): boolean => power >= least
  return { from: reach.from + near.findIndex(isSoft), to: reach.from + near.findLastIndex(isSoft) + 1, level }
}

function averageOf(values: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return values.length === 0 ? 0 : sum / values.length
}
