import { LRUCache } from 'lru-cache'
import Type from 'typebox'
import { wavHeader } from '../../codecs/wav.ts'
import { isFailure } from '../../media/protocol.ts'
import { catalogueRoutes } from '../http/catalogue.ts'
import type { Context } from '../http/context.ts'
import { isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { operations, type RawAnswer, type Route } from '../http/route.ts'
import { input, nullable, oneOf } from '../kernel/schema.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { OfferedVoice, OfferedVoices } from './offered.ts'

const api = operations('Voices and models', 'assistants')

interface VoiceDeps {
  voices: OfferedVoices
  media: Pick<MediaPort, 'request'>
}

const SAMPLE_RATE_HZ = 8000
/** Number of cached previews; only those with the sample text are cached. */
const MAX_KEPT = 64
/** Deadline of a preview, in which two providers may be tried [ms]. */
const DEADLINE_MS = 15_000
const SAMPLE = 'Hello! This is how I sound on the telephone.'
const SAMPLES: Readonly<Record<string, string>> = {
  de: 'Hallo! So klinge ich am Telefon.',
  es: '¡Hola! Así sueno por teléfono.',
  fr: 'Bonjour ! Voici ma voix au téléphone.',
  he: 'שלום! כך אני נשמע בטלפון.',
  it: 'Ciao! Ecco come suono al telefono.',
  pt: 'Olá! É assim que soo ao telefone.',
}

const voiceSchema = Type.Object({
  id: Type.String({ description: 'Name it as `voice.voice` of an assistant, or as `voice` of a spoken text.' }),
  object: Type.Literal('voice'),
  livemode: Type.Boolean(),
  name: Type.String(),
  provider: Type.String({
    description: '`flite`: offline, on this machine; else the model of the configured provider.',
  }),
  language: nullable(Type.String({ description: 'BCP 47. Null: the language of the text.' })),
  gender: nullable(oneOf(['female', 'male'])),
  is_default: Type.Boolean({ description: 'The default voice.' }),
  preview_url: Type.String({ description: 'Path of its preview, a WAV file.' }),
})

const previewQuery = input({
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'Text that is spoken. Absent: a sentence that introduces the voice.',
    }),
  ),
})

const toVoice = ({ isDefault, ...voice }: OfferedVoice, { livemode }: { livemode: boolean }) => ({
  ...voice,
  object: 'voice' as const,
  livemode,
  is_default: isDefault,
  preview_url: `/v1/voices/${encodeURIComponent(voice.id)}/preview`,
})

/** Routes of the offered voices. */
export function voiceRoutes(deps: VoiceDeps): Route[] {
  const kept = new LRUCache<string, Buffer>({ max: MAX_KEPT })
  return [
    ...catalogueRoutes({
      api,
      reply: voiceSchema,
      description:
        'Voices of the configured provider first, then the offline ones. Other names are refused in all settings.',
      all: of => deps.voices.all.map(voice => toVoice(voice, of)),
    }),
    api.get({
      path: '/voices/:id/preview',
      id: 'getVoicePreview',
      summary: 'Hear a voice',
      description: 'A sentence in the voice, as it sounds on a telephone: WAV, mono, 8 kHz.',
      query: previewQuery,
      reply: Type.String({ format: 'binary' }),
      rawType: 'audio/wav',
      handler: async (context, { params: { id }, query: { text } }) => {
        const voice = deps.voices.get(id)
        if (voice === undefined) return missing('voice', id)
        const wav = (text === undefined ? kept.get(id) : undefined) ?? (await speak(deps, context, voice, text))
        if (isProblem(wav)) return wav
        if (text === undefined) kept.set(id, wav)
        return answer(wav)
      },
    }),
  ]
}

const answer = (wav: Buffer): RawAnswer => ({
  raw: wav,
  status: 200,
  headers: { 'content-type': 'audio/wav', 'content-length': wav.length },
})

async function speak(
  { media }: VoiceDeps,
  { organisationId, livemode }: Context,
  { id, language }: OfferedVoice,
  text = SAMPLES[language?.split('-')[0] ?? ''] ?? SAMPLE,
): Promise<Buffer | Problem> {
  const asked = { affinity: `${organisationId} ${livemode ? 1 : 0}`, text, voice: id, language }
  const spoken = await media.request('speech.speak', asked, DEADLINE_MS)
  if (isFailure(spoken)) {
    return problem('media_unavailable', `Speech is not available now: ${spoken.message}.`, { retryAfterS: 1 })
  }
  const samples = Buffer.from(spoken.samples, 'base64')
  const header = wavHeader({ sampleRateHz: SAMPLE_RATE_HZ, channels: 1, dataBytes: samples.length })
  return Buffer.concat([header, samples])
}
