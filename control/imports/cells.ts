import { isTime } from '../http/time.ts'

/** A time in a cell in its stored form; null: none. A day means its beginning in UTC. */
export function timeOf(text: string | undefined): string | null | 'invalid' {
  if (text === undefined) return null
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text
  return isTime(whole) ? new Date(whole).toISOString() : 'invalid'
}
