import type { Shape } from './shape.ts'

/** How an entry affects clients (specification, "Versioning" 11). */
export type Tag = 'Added' | 'Changed (versioned)' | 'Deprecated'

/** One entry of the changelog; one with a shape also translates between this version and the one before. */
export interface Change {
  tag: Tag
  /** For people; `code` in backticks. */
  text: string
  /** Its date, `YYYY-MM-DD`; absent: that of the version. Only additions come between versions. */
  date?: string
  /** Operations (by `operationId`) whose body changed shape, or that are deprecated. */
  operations?: readonly string[]
  /** Objects (by their `object` field) that changed shape, in all answers, events and webhooks. */
  objects?: readonly string[]
  shape?: Shape
  /** For a deprecation: the version; absent: the `operations`. */
  version?: string
  /** For a deprecation: the first day on which it may be removed, at least 12 months after this version. */
  sunset?: string
}

/** A dated version: its changes, and later additions. Newest change first. */
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
