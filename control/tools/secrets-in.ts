import type { HttpSettings } from './schema.ts'
import { placesIn, textsIn } from './template.ts'

/** The names of the secrets that a request uses. */
export const secretsIn = ({ headers, body }: Pick<HttpSettings, 'headers' | 'body'>): string[] => [
  ...new Set(
    [...textsIn(headers), ...textsIn(body)]
      .flatMap(placesIn)
      .filter(({ isSecret }) => isSecret)
      .map(({ name }) => name),
  ),
]
