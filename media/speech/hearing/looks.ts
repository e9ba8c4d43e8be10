import { MODEL_HZ, type MoonshineModel, type Transcription } from '../moonshine/moonshine-model.ts'

/** What the model is surer of is nearly always right: it is looked at once. As measured on calls. */
const SURE = -0.1
/** Longer ones are looked at once: each look takes as long as the first [samples]. */
const MAX_LOOKED_AGAIN = 8 * MODEL_HZ

/**
 * The same utterance in other forms. What the model makes of a telephone's audio hangs on trifles: how loud it is, how much silence is
 * around it. Of several looks the one that it is surest of is right far more often (`npm run bench -- --hearing`).
 */
const LOOKS: readonly ((samples: Float32Array) => Float32Array)[] = [
  samples => samples,
  samples => atLevel(samples, LEVEL_DB),
  samples => (samples.length > 2 * SHORTEST ? samples.subarray(TRIMMED, -TRIMMED) : samples),
  padded,
]

/**
 * What the model makes of it in the look that it is surest of, and how many it took. @param samples as the model wants them
 * @param isAwaited somebody else waits for the model: one look must do
 */
export async function surest(
  model: Pick<MoonshineModel, 'transcribe'>,
  samples: Float32Array,
  isAwaited: () => boolean,
): Promise<Transcription & { looks: number }> {
  let best: Transcription = { text: '', confidence: Number.NEGATIVE_INFINITY }
  let looks = 0
  for (const look of LOOKS) {
    const made = await model.transcribe(look(samples))
    looks++
    if (made.confidence > best.confidence) best = made
    if (best.confidence > SURE || best.text === '' || isAwaited() || samples.length > MAX_LOOKED_AGAIN) break
  }
  return { ...best, looks }
}

/** Of speech in what the model was trained on, about [dB below full scale]. */
const LEVEL_DB = -20
const MAX_GAIN = 100
const SHORTEST = MODEL_HZ / 2
const TRIMMED = 0.06 * MODEL_HZ
const PADDING = 0.2 * MODEL_HZ
const WINDOW = 0.01 * MODEL_HZ
/** Windows within 16 dB of the mean of all are speech (after ITU-T P.56). */
const SPEECH_SHARE = 1 / 40

function atLevel(samples: Float32Array, levelDb: number): Float32Array {
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length
  const gain = Math.min(MAX_GAIN, 10 ** (levelDb / 20) / speechRms(samples, mean))
  return samples.map(sample => Math.max(-1, Math.min(1, gain * (sample - mean))))
}

function speechRms(samples: Float32Array, mean: number): number {
  const powers = Array.from({ length: Math.floor(samples.length / WINDOW) }, (_, window) => {
    let energy = 0
    for (let i = window * WINDOW; i < (window + 1) * WINDOW; i++) energy += (samples[i]! - mean) ** 2
    return energy / WINDOW
  })
  const average = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const least = average(powers) * SPEECH_SHARE
  return Math.sqrt(average(powers.filter(power => power >= least)))
}

function padded(samples: Float32Array): Float32Array {
  const audio = new Float32Array(samples.length + 2 * PADDING)
  audio.set(samples, PADDING)
  return audio
}
