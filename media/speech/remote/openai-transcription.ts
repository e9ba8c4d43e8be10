import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { wavHeader } from '../../../codecs/wav.ts'
import type { FairGate } from '../fair-gate.ts'
import { type Manner, type SpeechOwner, type SpeechToText, shareOf, type Understood } from '../speech-engines.ts'
import { askProvider, type HttpProvider, newGate } from './remote-audio.ts'

/** A provider's ear: `POST /audio/transcriptions` of OpenAI's API with a WAV file for each utterance. */
export class OpenAiTranscription implements SpeechToText {
  readonly guesses = false
  readonly #provider: HttpProvider
  readonly #gate: FairGate

  constructor(provider: HttpProvider) {
    this.#provider = provider
    this.#gate = newGate(provider)
  }

  understands(): boolean {
    return true
  }

  prepare(): void {}

  follow(): null {
    return null
  }

  async transcribe(
    samples: Int16Array<ArrayBuffer>,
    language: string | null,
    _manner?: Manner,
    owner?: SpeechOwner,
  ): Promise<Understood | { error: string }> {
    const { model } = this.#provider
    const form = new FormData()
    const header = wavHeader({ sampleRateHz: NARROWBAND_HZ, channels: 1, dataBytes: samples.byteLength })
    form.set('file', new Blob([Buffer.from(header), samples], { type: 'audio/wav' }), 'speech.wav')
    form.set('model', model)
    form.set('response_format', 'json')
    // Providers take ISO 639-1.
    if (language !== null) form.set('language', language.split('-')[0]!)
    const answer = await this.#gate.run(shareOf(owner), () =>
      askProvider(this.#provider, '/audio/transcriptions', form),
    )
    if ('error' in answer) return answer
    const text = textOf(answer)
    return text === null ? { error: '/audio/transcriptions: no text in the answer' } : { text, engine: model }
  }

  close(): void {}
}

function textOf(answer: Buffer): string | null {
  try {
    const { text } = JSON.parse(answer.toString('utf8')) as { text?: unknown }
    return typeof text === 'string' ? text : null
  } catch {
    return null
  }
}
