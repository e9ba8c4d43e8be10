/** Whose speech it is. `callId`: the room that the leg is in, which is named by its call. */
export interface SpeechOwner {
  legId: string
  callId: string | null
  /** Of the leg: organisation and mode. One's speech does not wait for all that another one asks for. */
  affinity: string
}

/** Whose turn it is that a request waits for. */
export const shareOf = (owner: SpeechOwner | undefined): string => owner?.affinity ?? ''

/** What is to be spoken, and how. */
export type Speech = [text: string, voice: string | null, language: string | null, owner?: SpeechOwner, speed?: number]

/**
 * How much is to be made of it. `whole`: an utterance that has ended, as well as it can be. The others may turn out not to be all of
 * one: `guess`, as well, by an engine that has nothing else to do; `peek`, in one look, by such an engine; `glance`, in one look, when
 * there is time: of those of a leg that wait the newest. `peek2` and so on: a peek in another look. `skim`: a peek that is given up as
 * soon as anything else is to be done.
 */
export type Manner = 'whole' | 'guess' | 'glance' | 'skim' | 'peek' | 'peek2' | 'peek3' | 'peek4'

/** What is to be understood. */
export type Transcribable = [
  samples: Int16Array<ArrayBuffer>,
  language: string | null,
  manner?: Manner,
  owner?: SpeechOwner,
]

/** Makes speech out of text. */
export interface TextToSpeech {
  /** Whether it knows this language (BCP 47; null: English). */
  speaks(language: string | null): boolean
  /** Whether it has a voice of this name; absent: nobody asks. */
  has?(voice: string): boolean
  /**
   * One sentence, mono at 8 kHz. `voice`: a name of the engine's, null: its default. `language`: BCP 47, null: English. `speed`: 0.5 to 2,
   * absent: 1, as the voice speaks.
   * `{ error }` when it cannot be spoken: another language, too much to do, a provider that fails. Never rejects.
   */
  speak(...given: Speech): Promise<Spoken | { error: string }>
}

/** Where there is no engine. */
export const NO_TEXT_TO_SPEECH: TextToSpeech = {
  speaks: () => false,
  speak: async () => ({ error: 'no speech engine is here' }),
}

export interface Spoken {
  samples: Int16Array
}

/** Makes text out of speech. */
export interface SpeechToText {
  /** Whether it knows this language (BCP 47; null: English). */
  understands(language: string | null): boolean
  /** Somebody is about to speak: what takes time to load is loaded now. */
  prepare(): void
  /** Whether it may be asked for what may turn out not to be all of an utterance: such work costs nothing but itself. */
  readonly guesses: boolean
  /**
   * One utterance, mono at 8 kHz; the samples are handed over. `{ error }` when it cannot be made out. Never rejects.
   * Absent: `whole`. An engine that guesses refuses what it has no time for, and answers `glance` and `peek` by how sure it is.
   */
  transcribe(...given: Transcribable): Promise<Understood | { error: string }>
  /** Takes an utterance while it is said; null: it wants each as a whole, by `transcribe`. */
  follow(language: string | null, owner?: SpeechOwner): Following | null
}

/** An utterance on its way to an engine. Exactly one `end` or `drop` follows what was appended. */
export interface Following {
  /** What was said since, mono at 8 kHz, borrowed. */
  append(samples: Int16Array): void
  /** It is over. `samples`: all of it, handed over, for an engine that must begin anew. As `transcribe`. */
  end(samples: Int16Array<ArrayBuffer>): Promise<Understood | { error: string }>
  drop(): void
}

export interface Understood {
  /** Empty: no words. */
  text: string
  /** `moonshine`, or the remote model's name. */
  engine: string
  /** Looking again would hardly make other words of it. Absent: nobody knows. */
  isSure?: boolean
  /** The nearer to 0 the better, to compare looks at the same. */
  confidence?: number
}

/** Where there is no engine. */
export const NO_SPEECH_TO_TEXT: SpeechToText = {
  understands: () => false,
  prepare: () => {},
  guesses: false,
  follow: () => null,
  transcribe: async () => ({ error: 'no speech engine is here' }),
}

export const isEnglish = (language: string | null): boolean => language === null || /^en(-|$)/i.test(language)
