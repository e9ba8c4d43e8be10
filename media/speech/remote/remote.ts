import type { SpeechToText, TextToSpeech } from '../speech-engines.ts'
import { isRealtime, type RemoteSpeech, type SpeechConfig } from '../speech-protocol.ts'
import type { Named } from '../speech-service.ts'
import { OpenAiSpeech } from './openai-speech.ts'
import { OpenAiTranscription } from './openai-transcription.ts'
import { RealtimeTranscription } from './realtime-transcription.ts'

/** The configured provider's voice, if there is one. */
export const remoteTextToSpeech = (config: SpeechConfig['tts']): Named<TextToSpeech>[] =>
  config.url === null ? [] : [{ name: config.model, engine: new OpenAiSpeech({ ...config, url: config.url }) }]

/** The configured provider's ear: over a WebSocket when the address is one, else one HTTP request for each utterance. */
export function remoteSpeechToText(config: RemoteSpeech): Named<SpeechToText & { close(): void }>[] {
  const { url } = config
  if (url === null) return []
  const engine = isRealtime(url)
    ? new RealtimeTranscription({ ...config, url })
    : new OpenAiTranscription({ ...config, url })
  return [{ name: config.model, engine }]
}
