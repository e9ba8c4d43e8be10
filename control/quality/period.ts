import type { SelectQueryBuilder } from 'kysely'
import Type from 'typebox'
import { invalid, type Problem } from '../http/errors.ts'
import { timestamp } from '../kernel/schema.ts'

export interface Period {
  /** ISO-8601 UTC. */
  from: string
  /** End, exclusive. */
  to: string
}

export const periodFields = {
  from: Type.Optional(timestamp('Calls made since then; default: 30 days before `to`.')),
  to: Type.Optional(timestamp('Calls made before; default: now.')),
}

/** A parameter that restricts a list to one value. */
export const only = (which: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: `Only ${which}.` }))

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 400

export function periodOf({ from, to }: { from?: string; to?: string }, now: Date): Period | Problem {
  const end = to === undefined ? now : new Date(to)
  const start = from === undefined ? new Date(end.getTime() - DEFAULT_DAYS * DAY_MS) : new Date(from)
  if (start >= end) return invalid('to', 'to must be after from.')
  if (end.getTime() - start.getTime() > MAX_DAYS * DAY_MS) {
    return invalid('from', `A period has ${MAX_DAYS} days at most.`)
  }
  return { from: start.toISOString(), to: end.toISOString() }
}

/** The preceding period of the same length. */
export function periodBefore({ from, to }: Period): Period {
  const start = Date.parse(from)
  return { from: new Date(start - (Date.parse(to) - start)).toISOString(), to: from }
}

/** Restricts rows with `call_at` to a period. */
export const inPeriod = <DB, T extends keyof DB & string, O>(
  rows: SelectQueryBuilder<DB, T, O>,
  { from, to }: Period,
): SelectQueryBuilder<DB, T, O> =>
  (rows as unknown as SelectQueryBuilder<{ t: { call_at: string } }, 't', O>)
    .where('call_at', '>=', from)
    .where('call_at', '<', to) as unknown as SelectQueryBuilder<DB, T, O>
