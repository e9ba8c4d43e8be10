import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { ApiVersion } from '../../kernel/versions/version.ts'

/** That a version or an operation will go. */
export interface Deprecation {
  /** The version whose release deprecated it; its anchor in the changelog. */
  by: string
  /** `YYYY-MM-DD`. */
  since: string
  sunset: string
}

/** Whether a version, or an operation in any version, is deprecated: the one that goes first; null: none. */
export function deprecationOf(
  what: { version: string; operation?: string },
  now: Date,
  versions: readonly ApiVersion[] = API_VERSIONS,
): Deprecation | null {
  const today = now.toISOString().slice(0, 10)
  const all = versions.flatMap(({ date, changes }) =>
    changes.flatMap(({ version, operations = [], sunset, date: since = date }): Deprecation[] => {
      const meant = version === what.version || (what.operation !== undefined && operations.includes(what.operation))
      return sunset !== undefined && meant && since <= today ? [{ by: date, since, sunset }] : []
    }),
  )
  return all.sort((a, b) => (a.sunset < b.sunset ? -1 : 1))[0] ?? null
}

/** RFC 9745, RFC 8594: since when, until when, and where to read about it. `baseUrl` without a slash at its end. */
export function deprecationHeaders({ by, since, sunset }: Deprecation, baseUrl: string): Record<string, string> {
  const page = `${baseUrl}/changelog#${by}`
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    Sunset: new Date(sunset).toUTCString(),
    Link: `<${page}>; rel="deprecation"; type="text/html", <${page}>; rel="sunset"; type="text/html"`,
  }
}
