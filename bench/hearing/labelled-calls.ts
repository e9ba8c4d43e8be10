import { clamp16, NARROWBAND_HZ } from '../../codecs/audio.ts'
import { EspeakVoice } from '../../fixtures/prompts/espeak.ts'
import { OFFLINE_VOICES } from '../../media/protocol.ts'
import { Flite } from '../../media/speech/flite.ts'
import { activeRms, atLevel, type NoiseKind, noiseOf, speechSpan } from './noises.ts'
import { ANSWERS, BABBLE, BABBLE_VOICES, LOUDER_DB, SENTENCES, type SentenceSet, VOICES } from './sentences.ts'

/** How a call of a condition sounds. */
export interface Condition {
  name: string
  /** Active level of the caller's voice; null: he says nothing [dBov]. */
  voiceDb: number | null
  noise: { kind: NoiseKind; levelDb: number } | null
  /** When he speaks: alone, one second after our loud answer, or over it. */
  speaks: 'alone' | 'after_answer' | 'over_answer'
  /** What comes back of what we play, below it; null: nothing [dB]. */
  echoDb: number | null
  /** Held against the promise of one word in a hundred. */
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

/** Nobody says anything, and we play an answer. */
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

/** One call, and what is true of it. */
export interface LabelledCall {
  /** What is said; empty: nothing. */
  text: string
  /** All that comes from the caller but our echo, from the first frame on. */
  line: Int16Array
  /** Where his voice is in it [samples]. */
  from: number
  to: number
  /** What we play from the first frame on; null: nothing. */
  answer: Int16Array | null
  echoDb: number | null
}

const ANSWER_DB = -14
/** No line is without any noise. */
const LINE_NOISE_DB = -66
const SECOND = NARROWBAND_HZ
const LEAD_IN = 2 * SECOND
/** Noise is there before somebody speaks. */
const NOISE_LEAD_IN = 8 * SECOND
const TAIL = 2 * SECOND
/** A call in which nothing is said. */
const EMPTY_CALL = 30 * SECOND

/** Of eSpeak. */
const WORDS_PER_MINUTE = 150

/** Each set has noises of its own. */
const SEEDS: Record<SentenceSet, number> = {
  build: 1,
  held: 5_000_011,
  third: 11_000_027,
  fourth: 17_000_023,
  fifth: 23_000_009,
  sixth: 29_000_023,
}

/** Makes labelled calls: the same for the same set, condition and number. */
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

/** Without the silence around it. */
function speaking(samples: Int16Array): Int16Array {
  const { from, to } = speechSpan(samples)
  return samples.subarray(from, to)
}
