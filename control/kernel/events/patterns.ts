import type { EventType } from './catalog.ts'

const ALL = '*'

/** Whether a type matches a pattern: the type itself, `*`, or a prefix followed by `*`, as in `call.*`. */
const fits = (pattern: string, type: string): boolean =>
  pattern.endsWith(ALL) ? type.startsWith(pattern.slice(0, -ALL.length)) : type === pattern

/** The types that match one of these patterns (separated by commas), in catalogue order; or the first pattern without a match. */
export function typesFitting(patterns: string, all: readonly EventType[]): EventType[] | { unknown: string } {
  const wanted = patterns.split(',').map(pattern => pattern.trim())
  const unknown = wanted.find(pattern => !all.some(type => fits(pattern, type)))
  return unknown === undefined ? all.filter(type => wanted.some(pattern => fits(pattern, type))) : { unknown }
}
