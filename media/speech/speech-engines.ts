/** Makes speech out of text. */
export interface TextToSpeech {
  /**
   * One sentence, mono at 8 kHz. `voice`: a name of the engine's, null: its default. `language`: BCP 47, null: English.
   * `{ error }` when it cannot be spoken: another language, too much to do, a provider that fails. Never rejects.
   */
  speak(text: string, voice: string | null, language: string | null): Promise<Spoken | { error: string }>
}

/** Where there is no engine. */
export const NO_TEXT_TO_SPEECH: TextToSpeech = { speak: async () => ({ error: 'no speech engine is here' }) }

export interface Spoken {
  samples: Int16Array
}

/** Makes text out of speech. */
export interface SpeechToText {
  /** Whether it knows this language (BCP 47; null: English). */
  understands(language: string | null): boolean
  /** Somebody is about to speak: what takes time to load is loaded now. */
  prepare(): void
  /** One utterance, mono at 8 kHz; the samples are handed over. `{ error }` when it cannot be made out. Never rejects. */
  transcribe(samples: Int16Array<ArrayBuffer>, language: string | null): Promise<Understood | { error: string }>
}

export interface Understood {
  /** Empty: no words. */
  text: string
  /** `moonshine`, or the remote model's name. */
  engine: string
}

/** Where there is no engine. */
export const NO_SPEECH_TO_TEXT: SpeechToText = {
  understands: () => false,
  prepare: () => {},
  transcribe: async () => ({ error: 'no speech engine is here' }),
}

export const isEnglish = (language: string | null): boolean => language === null || /^en(-|$)/i.test(language)
