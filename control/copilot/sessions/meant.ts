import type { Tenant } from '../../kernel/tenancy.ts'
import { cosine, type Embeddings } from '../../models/embeddings.ts'
import { type HeardObjection, type Meant, nearestOf, sentencesOf } from '../fast/objections.ts'
import type { ProfileSettings } from '../schema.ts'

export type KnownVectors = Pick<Embeddings, 'known'>

/** Maximum number of a profile's examples for which a provider is asked. */
const MAX_EXAMPLES = 500

/** Whether a provider may be asked: not for profiles without the deep path, and not in test mode. */
export const mayBeMeant = ({ livemode }: Pick<Tenant, 'livemode'>, { model }: ProfileSettings): boolean =>
  livemode && model.deep_path

export const examplesOf = ({ objections }: Pick<ProfileSettings, 'objections'>): string[] => [
  ...new Set(objections.flatMap(({ examples }) => examples).slice(0, MAX_EXAMPLES)),
]

/** The nearest objections of a text's sentences, as far as vectors of sentences and examples are already known. Asks no provider. */
export function meantBy(vectors: KnownVectors | null, tenant: Tenant, settings: ProfileSettings, text: string): Meant {
  const examples = examplesOf(settings)
  if (vectors === null || examples.length === 0 || !mayBeMeant(tenant, settings)) return {}
  const known = new Map(examples.map(example => [example, vectors.known(example)]))
  if ([...known.values()].includes(undefined)) return {}
  const meant: Record<string, HeardObjection> = {}
  for (const sentence of sentencesOf(text)) {
    const vector = vectors.known(sentence)
    if (vector === undefined) continue
    const like = (example: string): number => {
      const other = known.get(example)
      return other === undefined ? 0 : cosine(vector, other)
    }
    meant[sentence] = nearestOf(settings.objections, like)
  }
  return meant
}
