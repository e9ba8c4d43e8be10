import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { ApiVersion } from '../../kernel/versions/version.ts'

/** Deprecation of a version or an operation. */
export interface Deprecation {
  /** The version whose release deprecated it; its anchor in the changelog. */
  by: string
  /** `YYYY-MM-DD`. */
  since: string
  sunset: string
}

/** The deprecations of a version, and of an operation in any version, the earliest sunset first. */
export function deprecationsOf(
  what: { version: string; operation?: string },
  versions: readonly ApiVersion[] = API_VERSIONS,
): Deprecation[] {
  const all = versions.flatMap(({ date, changes }) =>
    changes.flatMap(({ version, operations = [], sunset, date: since = date }): Deprecation[] => {
      const meant = version === what.version || (what.operation !== undefined && operations.includes(what.operation))
      return sunset !== undefined && meant ? [{ by: date, since, sunset }] : []
    }),
  )
  return all.sort((a, b) => (a.sunset < b.sunset ? -1 : 1))
}

/** The first of them that has begun; null: none. */
export function deprecationAt(deprecations: readonly Deprecation[], now: Date): Deprecation | null {
  if (deprecations.length === 0) return null
  const today = now.toISOString().slice(0, 10)
  return deprecations.find(({ since }) => since <= today) ?? null
}

/** RFC 9745, RFC 8594: since when, until when, and where to read about it. `baseUrl` without a trailing slash. */
export function deprecationHeaders({ by, since, sunset }: Deprecation, baseUrl: string): Record<string, string> {
  const page = `${baseUrl}/changelog#${by}`
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    Sunset: new Date(sunset).toUTCString(),
    Link: `<${page}>; rel="deprecation"; type="text/html", <${page}>; rel="sunset"; type="text/html"`,
  }
}
