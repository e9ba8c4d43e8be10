import { MODEL_HZ } from '../moonshine/moonshine-model.ts'

/** Of speech in what the model was trained on, about [dB below full scale]. */
const LEVEL_DB = -20
const MAX_GAIN = 100
const WINDOW = 0.01 * MODEL_HZ
/** Windows within 16 dB of the mean of the speech are speech (after ITU-T P.56). */
const SPEECH_SHARE = 1 / 40
/** Windows within 30 dB of the speech belong to it, soft consonants, when they are louder than the line by itself; within 20 dB all do. */
const SOFT_SHARE = 1 / 1000
const ANY_SHARE = 1 / 100
const ABOVE_LINE = 4
/** So many of the windows are as quiet as the line, if any are. */
const QUIET_PART = 0.05
/** Kept of what is around the speech, and silence around that [samples]. */
const MARGIN = 0.1 * MODEL_HZ
const SILENCE = 0.1 * MODEL_HZ
const SLOWER = 1.08
const ACCENT = 0.5

/**
 * As the model knows speech: at one level, with as much around it whoever cut it out. So what is made of it does not depend on how loud
 * the caller is, nor on which frame was found to be the first with a voice.
 */
export function asTrained(samples: Float32Array): Float32Array {
  const { mean, powers, speech, line } = measured(samples)
  if (speech === 0) return samples
  const least = Math.min(speech * ANY_SHARE, Math.max(speech * SOFT_SHARE, line * ABOVE_LINE))
  const from = Math.max(0, powers.findIndex(power => power >= least) * WINDOW - MARGIN)
  const to = Math.min(samples.length, (powers.findLastIndex(power => power >= least) + 1) * WINDOW + MARGIN)
  const gain = Math.min(MAX_GAIN, 10 ** (LEVEL_DB / 20) / Math.sqrt(speech))
  const audio = new Float32Array(to - from + 2 * SILENCE)
  for (let i = from; i < to; i++) audio[SILENCE + i - from] = Math.max(-1, Math.min(1, gain * (samples[i]! - mean)))
  return audio
}

/** Spoken a little slower, and deeper by as much. */
export const slowed = (samples: Float32Array): Float32Array =>
  Float32Array.from({ length: Math.floor(samples.length * SLOWER) }, (_, i) => {
    const at = Math.floor(i / SLOWER)
    const part = i / SLOWER - at
    return samples[at]! * (1 - part) + (samples[at + 1] ?? 0) * part
  })

/** Brighter: consonants stand out of the vowels. */
export const accentuated = (samples: Float32Array): Float32Array =>
  samples.map((sample, i) => sample - ACCENT * (samples[i - 1] ?? 0))

interface Measures {
  mean: number
  /** Of each window about the mean; of those that are speech; of the quietest, which are the line [of full scale]. */
  powers: number[]
  speech: number
  line: number
}

function measured(samples: Float32Array): Measures {
  const mean = averageOf(samples)
  const powers = Array.from({ length: Math.floor(samples.length / WINDOW) }, (_, window) => {
    let energy = 0
    for (let i = window * WINDOW; i < (window + 1) * WINDOW; i++) energy += (samples[i]! - mean) ** 2
    return energy / WINDOW
  })
  const louderThan = (level: number) => averageOf(powers.filter(power => power >= level * SPEECH_SHARE))
  // Of the speech itself at last: the silence around it does not count.
  const speech = louderThan(louderThan(averageOf(powers)))
  const line = [...powers].sort((a, b) => a - b)[Math.floor(powers.length * QUIET_PART)] ?? 0
  return { mean, powers, speech, line }
}

function averageOf(values: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]!
  return values.length === 0 ? 0 : sum / values.length
}
