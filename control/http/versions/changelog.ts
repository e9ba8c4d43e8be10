import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { ApiVersion, Tag } from '../../kernel/versions/version.ts'

/** One line of the changelog. */
export interface ChangelogEntry {
  /** Stable: the version and the entry's position in its file, counted from the end, because new ones are added on top. */
  id: string
  /** `YYYY-MM-DD`. */
  date: string
  tag: Tag
  text: string
  /** `YYYY-MM-DD`, for a deprecation. */
  sunset: string | null
}

interface ChangelogSection {
  version: string
  entries: ChangelogEntry[]
}

/** Every change, newest first, under the version that it came with or after (specification, "Versioning" 11). */
export const changelog = (versions: readonly ApiVersion[] = API_VERSIONS): ChangelogSection[] =>
  versions.toReversed().map(({ date, changes }) => ({
    version: date,
    entries: changes
      .map((change, i) => ({
        id: `${date}-${changes.length - i}`,
        date: change.date ?? date,
        tag: change.tag,
        text: change.text,
        sunset: change.sunset ?? null,
      }))
      .sort((a, b) => (a.date > b.date ? -1 : a.date < b.date ? 1 : 0)),
  }))
