import { DEFAULT_OFFLINE_VOICE, OFFLINE_VOICES } from '../../media/protocol.ts'
import { didYouMean } from '../http/did-you-mean.ts'
import { invalid, type Problem } from '../http/errors.ts'
import type { Config } from '../kernel/config/settings.ts'

export interface OfferedVoice {
  id: string
  name: string
  /** `flite`, or the model of the configured provider. */
  provider: string
  /** Its language (BCP 47); null: that of the text. */
  language: string | null
  gender: 'female' | 'male' | null
  isDefault: boolean
}

type VoiceConfig = Partial<Pick<Config, 'ttsUrl' | 'ttsModel' | 'ttsVoice' | 'ttsVoices'>>

/** The voices that settings may name: first those of the configured provider, then those available without one. */
export class OfferedVoices {
  readonly all: readonly OfferedVoice[]

  constructor({ ttsUrl = null, ttsModel = '', ttsVoice = '', ttsVoices = [] }: VoiceConfig) {
    const own = ttsUrl === null ? [] : ownVoices(ttsVoice, ttsVoices)
    const isTaken = (id: string): boolean => own.some(voice => voice.name === id)
    this.all = [
      ...own.map(({ name, language }) => ({
        ...{ id: name, name, provider: ttsModel, language, gender: null },
        isDefault: name === ttsVoice,
      })),
      ...OFFLINE_VOICES.filter(({ id }) => !isTaken(id)).map(voice => ({
        ...voice,
        ...{ provider: 'flite', language: 'en', isDefault: ttsUrl === null && voice.id === DEFAULT_OFFLINE_VOICE },
      })),
    ]
  }

  get(id: string): OfferedVoice | undefined {
    return this.all.find(voice => voice.id === id)
  }

  /** Why a voice cannot be named. Empty, null and absent mean the default. */
  problem(param: string, voice: string | null | undefined): Problem | null {
    if (voice == null || voice === '' || this.get(voice) !== undefined) return null
    const meant = didYouMean(
      voice,
      this.all.map(({ id }) => id),
    )
    const hint = meant === null ? '`GET /voices` lists those that there are.' : `Did you mean ${meant}?`
    return invalid(param, `No such voice: ${voice}. ${hint}`)
  }
}

/** The provider's voices. The default voice is added if it is not listed. */
function ownVoices(ttsVoice: string, listed: Config['ttsVoices']): Config['ttsVoices'] {
  return listed.some(({ name }) => name === ttsVoice) ? listed : [{ name: ttsVoice, language: null }, ...listed]
}
