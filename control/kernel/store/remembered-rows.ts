import { LRUCache } from 'lru-cache'
import type { Revisions } from './revisions.ts'

/** Whole rows of one table by the values of columns: what a call's steps read again and again. */
const BY_VALUES = /^select \* from "(\w+)" where (?:"\w+"\.)?"\w+" = \?(?: and (?:"\w+"\.)?"\w+" = \?)*(?: limit \?)?$/

/** Answers that are kept, and what one may hold: lists and texts are read once. */
const MAX_KEPT = 1000
const MAX_ROWS = 4
const MAX_CHARACTERS = 8192

type Row = Record<string, unknown>

interface Answer {
  revision: number
  rows: readonly Row[]
}

/**
 * What queries for rows have answered, for as long as nothing was written to their table: an event of a call asks for the same call, leg
 * and connection a dozen times. Answers are copies: their reader may change them.
 */
export class RememberedRows {
  readonly #revisions: Revisions
  readonly #kept = new LRUCache<string, Answer>({ max: MAX_KEPT })
  #statements = 0
  /** Queries that were not sent to SQLite. */
  hits = 0

  constructor(revisions: Revisions) {
    this.#revisions = revisions
  }

  /** The same query, which remembers, where it can. */
  remembering(sql: string, all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const table = BY_VALUES.exec(sql)?.[1]
    if (table === undefined || this.#revisions.isOfTriggers(table)) return all
    const tables = [table]
    const number = ++this.#statements
    return parameters => {
      if (!parameters.every(isPlain)) return all(parameters)
      const revision = this.#revisions.of(tables)
      const key = `${number} ${JSON.stringify(parameters)}`
      const known = this.#kept.get(key)
      if (known?.revision === revision) {
        this.hits++
        return known.rows.map(copyOf)
      }
      const rows = all(parameters) as Row[]
      if (isSmall(rows)) this.#kept.set(key, { revision, rows: rows.map(copyOf) })
      else this.#kept.delete(key)
      return rows
    }
  }
}

const isPlain = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number' || value === null

const copyOf = (row: Row): Row => ({ ...row })

function isSmall(rows: readonly Row[]): boolean {
  if (rows.length > MAX_ROWS) return false
  let characters = 0
  for (const row of rows) {
    for (const value of Object.values(row)) {
      if (typeof value === 'string') characters += value.length
      // Bytes can be changed in place.
      else if (typeof value === 'object' && value !== null) return false
    }
  }
  return characters <= MAX_CHARACTERS
}
