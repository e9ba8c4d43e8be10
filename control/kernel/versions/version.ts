import type { Shape } from './shape.ts'

/** What clients must know of an entry (specification, "Versioning" 11). */
export type Tag = 'Added' | 'Changed (versioned)' | 'Deprecated'

/** One entry of the changelog; with a shape it is also what translates between this version and the one before. */
export interface Change {
  tag: Tag
  /** For people; `code` in backticks. */
  text: string
  /** When it came, `YYYY-MM-DD`; absent: with its version. Only additions come between versions. */
  date?: string
  /** Operations (by `operationId`) whose body changed shape, or that are deprecated. */
  operations?: readonly string[]
  /** Objects (by their `object` field) that changed shape, wherever answers, events and webhooks carry them. */
  objects?: readonly string[]
  shape?: Shape
  /** Of a deprecation: which version; absent: the `operations`. */
  version?: string
  /** Of a deprecation: the first day on which it may be gone, at least 12 months after this version. */
  sunset?: string
}

/** A dated version: what changed with it, and after it without breaking anybody. Newest change first. */
export interface ApiVersion {
  /** `YYYY-MM-DD`. */
  date: string
  changes: readonly Change[]
}

export const added = (text: string, date?: string): Change => ({ tag: 'Added', text, ...(date && { date }) })

export const changed = (text: string, where: Required<Pick<Change, 'operations' | 'objects' | 'shape'>>): Change => ({
  tag: 'Changed (versioned)',
  text,
  ...where,
})

export const deprecated = (
  text: string,
  what: { sunset: string } & ({ version: string } | { operations: readonly string[] }),
): Change => ({ tag: 'Deprecated', text, ...what })
