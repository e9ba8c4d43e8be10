const RFC_3339 = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i

/**
 * Whether a text is an RFC 3339 time that can be stored as ISO-8601 in UTC. Without an offset it is ambiguous; a leap second, or a year with
 * more than four digits in UTC, would not sort among the others.
 */
export function isTime(text: string): boolean {
  if (!RFC_3339.test(text)) return false
  const day = text.slice(0, 10)
  const at = Date.parse(text)
  // `Date` reads 30 February as 2 March.
  const dayInUtc = Date.parse(`${day}T00:00:00Z`)
  if (Number.isNaN(at) || Number.isNaN(dayInUtc)) return false
  return new Date(dayInUtc).toISOString().startsWith(day) && new Date(at).toISOString().length === 24
}
