import { askProvider, fromRemote, type HttpProvider } from './remote-audio.ts'
import type { Spoken, TextToSpeech } from './speech-engines.ts'

/** A provider's voice: `POST /audio/speech` of OpenAI's API, raw audio back. Any language; the text says which. */
export class OpenAiSpeech implements TextToSpeech {
  readonly #provider: HttpProvider & { voice: string }

  /** `voice`: the one where none is asked for. */
  constructor(provider: HttpProvider & { voice: string }) {
    this.#provider = provider
  }

  async speak(text: string, voice: string | null): Promise<Spoken | { error: string }> {
    const { model, voice: defaultVoice } = this.#provider
    const body = JSON.stringify({ model, input: text, voice: voice ?? defaultVoice, response_format: 'pcm' })
    const audio = await askProvider(this.#provider, '/audio/speech', body)
    if ('error' in audio) return audio
    return audio.length < 2 ? { error: '/audio/speech: no audio' } : { samples: await fromRemote(audio) }
  }
}
