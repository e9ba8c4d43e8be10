import type { Manner, SpeechOwner, Spoken, Understood } from './speech-engines.ts'

/** Where speech is made and understood by a provider that speaks OpenAI's API; all null: offline. */
export interface RemoteSpeech {
  /** Base address, for example `https://host/v1`; for speech to text also `wss://…`, the realtime WebSocket. Null: offline alone. */
  url: string | null
  key: string | null
  model: string
  /** A provider that has not answered by then has failed, and the offline engine takes over [ms]. */
  timeoutMs: number
}

export interface SpeechConfig {
  /** `voice`: of the provider, where none is asked for; `voices`: all that it has. */
  tts: RemoteSpeech & { voice: string; voices: string[] }
  stt: RemoteSpeech
  /** Load the offline models at the start, not with the first word. */
  preload: boolean
}

/** What an engine thread asks of the speech process, through the main thread, which gives the request an `id` of its own. */
export type SpeechRequest = { id: number } & (
  | { kind: 'speak'; text: string; voice: string | null; language: string | null; speed?: number; owner?: SpeechOwner }
  /** Ends what was appended under this `id`, if something was: `samples` are all of it. */
  | {
      kind: 'transcribe'
      samples: Int16Array<ArrayBuffer>
      language: string | null
      manner: Manner
      owner?: SpeechOwner
    }
  | SpeechNotice
)

/** What is answered by nothing. */
type SpeechNotice =
  | { kind: 'prepare' }
  /** A part of an utterance that is being said, named by `id`; `at`: samples of it before this part. */
  | { kind: 'append'; at: number; samples: Int16Array<ArrayBuffer>; language: string | null; owner?: SpeechOwner }
  | { kind: 'drop' }

/** A request that an answer follows. */
export type SpeechQuestion = Extract<SpeechRequest, { kind: 'speak' | 'transcribe' }>

/** What the engine threads need to know of the engines. */
export interface SpeechAbilities {
  /** A remote engine takes every language. */
  speaksAll: boolean
  understandsAll: boolean
  /** What the first engine does with an utterance before it has ended. */
  early: 'stream' | 'guess' | 'nothing'
}

export const abilitiesOf = ({ tts, stt: { url } }: SpeechConfig): SpeechAbilities => ({
  speaksAll: tts.url !== null,
  understandsAll: url !== null,
  // A provider that is asked over HTTP would be paid for each guess.
  early: url === null ? 'guess' : isRealtime(url) ? 'stream' : 'nothing',
})

export const isRealtime = (url: string): boolean => /^wss?:/.test(url)

export interface SpeechReply {
  id: number
  answer: Spoken | Understood | { error: string }
}

/** What the main thread tells the speech process: its configuration, then requests. */
export type ToSpeech = { kind: 'configure'; config: SpeechConfig } | SpeechRequest

/** Each use of an engine, for the log and the counters: what it cost. */
export interface SpeechUse {
  kind: 'speak' | 'transcribe'
  engine: string
  /** Characters spoken, or seconds of audio understood: what providers charge by. */
  characters: number
  seconds: number
  tookMs: number
  error: string | null
}

export type FromSpeech =
  | ({ kind: 'answer' } & SpeechReply)
  /** `id`: of the request that it was for. */
  | { kind: 'used'; id: number | null; use: SpeechUse }
  | { kind: 'loaded'; engine: string; tookMs: number }
  | { kind: 'failed'; engine: string; error: string }
  /** What the process holds [bytes], now and then. */
  | { kind: 'memory'; bytes: number }

const NO_PROVIDER: RemoteSpeech = { url: null, key: null, model: '', timeoutMs: 1 }

/** No provider, and the engines of the product load with the first word. */
export const OFFLINE_SPEECH: SpeechConfig = {
  tts: { ...NO_PROVIDER, voice: '', voices: [] },
  stt: NO_PROVIDER,
  preload: false,
}
