import Type, { type Static } from 'typebox'
import { listOf, listQuery, pageOfAll } from '../http/list.ts'
import { operations, type Route } from '../http/route.ts'
import type { Config } from '../kernel/config/settings.ts'
import { LANGUAGE_CODES, LANGUAGES, type LanguageCode } from '../kernel/languages.ts'
import { nullable } from '../kernel/schema.ts'

const api = operations('Organisation', 'organisation')

interface LanguageDeps {
  /** Without the URL of a provider, the engine is the offline one. */
  config: Partial<Pick<Config, 'ttsUrl' | 'ttsModel' | 'sttUrl' | 'sttModel'>>
}

const engine = (description: string) =>
  nullable(Type.String({ description: `${description} Null: not available here.` }))

const languageSchema = Type.Object({
  id: Type.String({ description: 'The first part of a BCP 47 tag.' }),
  object: Type.Literal('language'),
  livemode: Type.Boolean(),
  name: Type.String(),
  prompts_spoken_by: Type.String({
    description:
      "Voice in which prompts and the product's own phrases are recorded, for languages that no engine speaks: `flite`, `espeak-ng`.",
  }),
  spoken_by: engine('Engine that speaks other text: the model of the configured provider, or `flite` offline.'),
  understood_by: engine('Engine that recognises speech: the model of the configured provider, or `moonshine` offline.'),
})
type Language = Static<typeof languageSchema>

/** Which engines speak and understand each language. */
export const languageRoutes = ({ config }: LanguageDeps): Route[] => [
  api.get({
    path: '/languages',
    id: 'listLanguages',
    summary: 'List the languages',
    description:
      'In which voice the prompts and phrases of each language are recorded, and which engines speak and recognise the rest. A provider is given any text; the offline engines know English.',
    query: listQuery,
    reply: listOf(languageSchema),
    handler: async ({ livemode }, { query }) => {
      const all = LANGUAGE_CODES.map(code => languageOf(code, livemode, config))
      return pageOfAll(all, query, '/v1/languages')
    },
  }),
]

function languageOf(id: LanguageCode, livemode: boolean, config: LanguageDeps['config']): Language {
  const { ttsUrl = null, ttsModel = '', sttUrl = null, sttModel = '' } = config
  const isEnglish = id === 'en'
  return {
    id,
    object: 'language',
    livemode,
    name: LANGUAGES[id],
    prompts_spoken_by: isEnglish ? 'flite' : 'espeak-ng',
    spoken_by: ttsUrl !== null ? ttsModel : isEnglish ? 'flite' : null,
    understood_by: sttUrl !== null ? sttModel : isEnglish ? 'moonshine' : null,
  }
}
