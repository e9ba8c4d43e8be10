import { clamp16, NARROWBAND_HZ } from '../../codecs/audio.ts'
import { EspeakVoice } from '../../fixtures/prompts/espeak.ts'
import { OFFLINE_VOICES } from '../../media/protocol.ts'
import { Flite } from '../../media/speech/flite.ts'
import { activeRms, atLevel, type NoiseKind, noiseOf, speechSpan } from './noises.ts'
import { ANSWERS, BABBLE, BABBLE_VOICES, LOUDER_DB, SENTENCES, type SentenceSet, VOICES } from './sentences.ts'

/** A condition: how calls sound. */
export interface Condition {
  name: string
  /** Active level of the caller's voice; null: the caller says nothing [dBov]. */
  voiceDb: number | null
  noise: { kind: NoiseKind; levelDb: number } | null
  /** When the caller speaks: alone, one second after our loud answer, or over it. */
  speaks: 'alone' | 'after_answer' | 'over_answer'
  /** How far the echo is below what we play; null: there is no echo [dB]. */
  echoDb: number | null
  /** Whether it counts for the target that at most one word in a hundred is wrong. */
  isQuiet: boolean
}

const condition = (name: string, more: Partial<Condition>): Condition => ({
  name,
  voiceDb: -26,
  noise: null,
  speaks: 'alone',
  echoDb: null,
  isQuiet: false,
  ...more,
})

const inNoise = (kind: NoiseKind, snrDb: number): Condition =>
  condition(`${kind} noise, ${snrDb} dB below the voice`, { noise: { kind, levelDb: -26 - snrDb } })

export const CONDITIONS: readonly Condition[] = [
  condition('quiet, -16 dBov', { voiceDb: -16, isQuiet: true }),
  condition('quiet, -26 dBov', { isQuiet: true }),
  condition('quiet, -36 dBov', { voiceDb: -36, isQuiet: true }),
  condition('-26 dBov, 1 s after a loud answer', { speaks: 'after_answer', echoDb: 26, isQuiet: true }),
  condition('-36 dBov, 1 s after a loud answer', { voiceDb: -36, speaks: 'after_answer', echoDb: 26, isQuiet: true }),
  condition('-26 dBov over our answer, no echo', { speaks: 'over_answer', isQuiet: true }),
  condition('-26 dBov over our answer, echo 26 dB', { speaks: 'over_answer', echoDb: 26, isQuiet: true }),
  condition('-36 dBov over our answer, echo 34 dB', { voiceDb: -36, speaks: 'over_answer', echoDb: 34, isQuiet: true }),
  ...(['white', 'car', 'fan', 'babble'] as const).flatMap(kind => [20, 10, 5, 0].map(snr => inNoise(kind, snr))),
]

/** Conditions in which nobody says anything while we play an answer. */
export const EMPTY_CONDITIONS: readonly Condition[] = [
  condition('nothing but our echo, 26 dB', { voiceDb: null, speaks: 'over_answer', echoDb: 26 }),
  ...(['white', 'car', 'fan', 'babble'] as const).flatMap(kind =>
    [-50, -40, -30, -20].map(levelDb =>
      condition(`${kind} noise alone, ${levelDb} dBov`, {
        voiceDb: null,
        speaks: 'over_answer',
        noise: { kind, levelDb },
      }),
    ),
  ),
]

/** A call with its labels. */
export interface LabelledCall {
  /** What is said; empty: nothing. */
  text: string
  /** Everything that comes from the caller, except our echo, from the first frame on. */
  line: Int16Array
  /** Where the caller's voice is in it [samples]. */
  from: number
  to: number
  /** The answer that we play from the first frame on; null: none. */
  answer: Int16Array | null
  echoDb: number | null
}

const ANSWER_DB = -14
/** Minimum noise of every line. */
const LINE_NOISE_DB = -66
const SECOND = NARROWBAND_HZ
const LEAD_IN = 2 * SECOND
/** Time before the caller speaks in a condition with noise. */
const NOISE_LEAD_IN = 8 * SECOND
const TAIL = 2 * SECOND
/** Duration of a call in which nothing is said. */
const EMPTY_CALL = 30 * SECOND

/** Speed of eSpeak's voices. */
const WORDS_PER_MINUTE = 150

/** Seeds, so that each set has different noises. */
const SEEDS: Record<SentenceSet, number> = {
  build: 1,
  held: 5_000_011,
  third: 11_000_027,
  fourth: 17_000_023,
  fifth: 23_000_009,
  sixth: 29_000_023,
}

/** Makes labelled calls; the same ones for the same set, condition and number. */
export class CallMaker {
  readonly #flite = new Flite(1)
  #espeak: Promise<EspeakVoice> | null = null
  readonly #spoken = new Map<string, Promise<Int16Array>>()
  readonly #set: SentenceSet

  constructor(set: SentenceSet) {
    this.#set = set
  }

  async make(condition: Condition, number: number): Promise<LabelledCall> {
    const seed = SEEDS[this.#set] + 7919 * number
    const answer = condition.speaks === 'alone' ? null : await this.#answer(number)
    const said = condition.voiceDb === null ? null : await this.#said(number, condition.voiceDb)
    const begins = {
      alone: condition.noise === null ? LEAD_IN : NOISE_LEAD_IN,
      over_answer: LEAD_IN,
      after_answer: (answer?.length ?? 0) + SECOND,
    }[condition.speaks]
    const length = said === null ? EMPTY_CALL : begins + said.samples.length + TAIL
    const talkers = await Promise.all(BABBLE.map((text, i) => this.#speak(text, voiceOf(BABBLE_VOICES, i))))
    const { kind, levelDb } = condition.noise ?? { kind: 'white' as const, levelDb: LINE_NOISE_DB }
    const line = noiseOf(kind, levelDb, length, seed, talkers.map(speaking))
    said?.samples.forEach((sample, i) => {
      line[begins + i] = clamp16(line[begins + i]! + sample)
    })
    return {
      text: said?.text ?? '',
      line,
      from: begins,
      to: begins + (said?.samples.length ?? 0),
      answer,
      echoDb: condition.echoDb,
    }
  }

  async #said(number: number, levelDb: number) {
    const sentences = SENTENCES[this.#set]
    const text = sentences[number % sentences.length]!
    const samples = speaking(await this.#speak(text, voiceOf(VOICES[this.#set], number)))
    return { text, samples: atLevel(samples, levelDb + LOUDER_DB[this.#set], activeRms(samples)) }
  }

  async #answer(number: number): Promise<Int16Array> {
    const samples = speaking(await this.#speak(ANSWERS[number % ANSWERS.length]!, 'slt'))
    return atLevel(samples, ANSWER_DB, activeRms(samples))
  }

  #speak(text: string, voice: string): Promise<Int16Array> {
    const key = `${voice} ${text}`
    let spoken = this.#spoken.get(key)
    if (spoken === undefined) {
      spoken = OFFLINE_VOICES.some(({ id }) => id === voice) ? this.#byFlite(text, voice) : this.#byEspeak(text, voice)
      this.#spoken.set(key, spoken)
    }
    return spoken
  }

  async #byFlite(text: string, voice: string): Promise<Int16Array> {
    const made = await this.#flite.speak(text, voice, null)
    if ('error' in made) throw new Error(made.error)
    return made.samples
  }

  async #byEspeak(text: string, voice: string): Promise<Int16Array> {
    this.#espeak ??= EspeakVoice.load()
    return (await this.#espeak).speak(text, voice, WORDS_PER_MINUTE, NARROWBAND_HZ)
  }

  close(): Promise<void> {
    return this.#flite.close()
  }
}

const voiceOf = (voices: readonly string[], number: number): string => voices[number % voices.length]!

/** The samples without the silence around the speech. */
function speaking(samples: Int16Array): Int16Array {
  const { from, to } = speechSpan(samples)
  return samples.subarray(from, to)
}
