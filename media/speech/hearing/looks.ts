import { MODEL_HZ, type MoonshineModel, type Transcription } from '../moonshine/moonshine-model.ts'
import { accentuated, asTrained, slowed } from './forms.ts'

/** Longer ones are looked at once: each look takes as long as the first [samples]. */
const MAX_LOOKED_AGAIN = 8 * MODEL_HZ

interface Look {
  form: (samples: Float32Array) => Float32Array
  /** What the model is surer of by now is right about as often as what a further look would make of it. As measured on calls. */
  sure: number
}

/**
 * The same utterance in several forms: what the model makes of a telephone's audio hangs on trifles, and of several looks the one that it
 * is surest of is right more often (`npm run bench -- --hearing`). None of them hangs on who cut it out. Two looks are over before the
 * silence is long enough to be the end of an utterance; a third is waited for, so it takes more doubt to have one.
 */
const LOOKS: readonly Look[] = [
  { form: asTrained, sure: -0.1 },
  { form: samples => slowed(asTrained(samples), 1.15), sure: -0.2 },
  { form: samples => slowed(asTrained(samples), 1.08), sure: -0.3 },
  { form: samples => asTrained(accentuated(samples)), sure: Number.NEGATIVE_INFINITY },
]

/**
 * What the model makes of it in the look that it is surest of, and how many it took. @param samples as the model wants them
 * @param isAwaited somebody else waits for the model: one look must do
 * @param draft what it may be, which saves time
 */
export async function surest(
  model: Pick<MoonshineModel, 'transcribe'>,
  samples: Float32Array,
  isAwaited: () => boolean,
  draft = '',
): Promise<Transcription & { looks: number; isSure: boolean }> {
  let best: Transcription = { text: '', confidence: Number.NEGATIVE_INFINITY }
  let looks = 0
  for (;;) {
    const made = await lookAt(model, samples, looks++, { before: best.confidence, draft: best.text || draft })
    if (made.confidence > best.confidence) best = made
    if (made.isSure || isAwaited()) return { ...best, looks, isSure: made.isSure }
  }
}

/**
 * What the model makes of it in one look, the first of which is 0; `isSure`: a further one would hardly make it better, or there is none.
 * @param before how sure the looks before it were. @param draft as above. @param isWanted else what it makes means nothing
 */
async function lookAt(
  model: Pick<MoonshineModel, 'transcribe'>,
  samples: Float32Array,
  look: number,
  { before = Number.NEGATIVE_INFINITY, draft = '', isWanted = (): boolean => true } = {},
): Promise<Transcription & { isSure: boolean }> {
  const { form, sure } = LOOKS[look]!
  const made = await model.transcribe(form(samples), draft, isWanted)
  const isOver = made.text === '' || samples.length > MAX_LOOKED_AGAIN || look === LOOKS.length - 1
  return { ...made, isSure: isOver || Math.max(made.confidence, before) > sure }
}

/** The same, given up as soon as it is not wanted any more. */
export async function lookWhileWanted(
  model: Pick<MoonshineModel, 'transcribe'>,
  samples: Float32Array,
  look: number,
  { draft, isWanted }: { draft: string; isWanted: () => boolean },
): Promise<(Transcription & { isSure: boolean }) | { givenUp: true }> {
  let isGivenUp = false
  const goesOn = (): boolean => {
    isGivenUp ||= !isWanted()
    return !isGivenUp
  }
  const made = await lookAt(model, samples, look, { draft, isWanted: goesOn })
  return isGivenUp ? { givenUp: true } : made
}
