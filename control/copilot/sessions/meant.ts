import type { Tenant } from '../../kernel/tenancy.ts'
import { cosine, type Embeddings } from '../../models/embeddings.ts'
import { type HeardObjection, type Meant, nearestOf, sentencesOf } from '../fast/objections.ts'
import type { ProfileSettings } from '../schema.ts'

export type KnownVectors = Pick<Embeddings, 'known'>

/** Examples of a profile that a provider is asked about. */
const MAX_EXAMPLES = 500

/** A profile without model calls, and test mode, reach nobody. */
export const mayBeMeant = ({ livemode }: Pick<Tenant, 'livemode'>, { model }: ProfileSettings): boolean =>
  livemode && model.deep_path

export const examplesOf = ({ objections }: Pick<ProfileSettings, 'objections'>): string[] => [
  ...new Set(objections.flatMap(({ examples }) => examples).slice(0, MAX_EXAMPLES)),
]

/** What the sentences of a text are nearest to, of those whose vectors are known with those of all examples; it asks nobody. */
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
