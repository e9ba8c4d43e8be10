import type { EventType } from './catalog.ts'

const ALL = '*'

/** Whether a type fits a pattern: itself, `*`, or the beginning of it and `*`, as in `call.*`. */
const fits = (pattern: string, type: string): boolean =>
  pattern.endsWith(ALL) ? type.startsWith(pattern.slice(0, -ALL.length)) : type === pattern

/** The types that fit one of these patterns (commas between), in the order of the catalogue; or the pattern that nothing fits. */
export function typesFitting(patterns: string, all: readonly EventType[]): EventType[] | { unknown: string } {
  const wanted = patterns.split(',').map(pattern => pattern.trim())
  const unknown = wanted.find(pattern => !all.some(type => fits(pattern, type)))
  return unknown === undefined ? all.filter(type => wanted.some(pattern => fits(pattern, type))) : { unknown }
}
