import type { FairGate } from '../fair-gate.ts'
import { type SpeechOwner, type Spoken, shareOf, type TextToSpeech } from '../speech-engines.ts'
import type { SpeechConfig } from '../speech-protocol.ts'
import { askProvider, fromRemote, type HttpProvider, newGate } from './remote-audio.ts'

/** A provider's voice: `POST /audio/speech` of OpenAI's API, raw audio back. Any language; the text says which. */
export class OpenAiSpeech implements TextToSpeech {
  readonly #provider: HttpProvider & Pick<SpeechConfig['tts'], 'voice' | 'voices'>
  readonly #gate: FairGate

  /** `voice`: the one where none is asked for. */
  constructor(provider: HttpProvider & Pick<SpeechConfig['tts'], 'voice' | 'voices'>) {
    this.#provider = provider
    this.#gate = newGate(provider)
  }

  speaks(): boolean {
    return true
  }

  has(voice: string): boolean {
    return this.#provider.voices.includes(voice)
  }

  /** A voice that is none of its own, that of the offline engine for example, is its default. */
  async speak(
    text: string,
    voice: string | null,
    _language?: string | null,
    owner?: SpeechOwner,
    speed = 1,
  ): Promise<Spoken | { error: string }> {
    const { model, voice: defaultVoice } = this.#provider
    const pace = speed === 1 ? {} : { speed }
    const body = JSON.stringify({
      ...{
        model,
        input: text,
        voice: voice !== null && this.has(voice) ? voice : defaultVoice,
        response_format: 'pcm',
      },
      ...pace,
    })
    const audio = await this.#gate.run(shareOf(owner), () => askProvider(this.#provider, '/audio/speech', body))
    if ('error' in audio) return audio
    return audio.length < 2 ? { error: '/audio/speech: no audio' } : { samples: await fromRemote(audio) }
  }
}
