import { isUtf8 } from 'node:buffer'
import type { Problem } from '../errors.ts'
import { invalidAt } from './validation.ts'

/** Deeper than any parameter of ours. Unbounded nesting would overflow the stack of whoever serialises it again. */
const MAX_DEPTH = 64
/** With the flag `u` a complete pair is one character, which does not match. */
const HALF_PAIR = /\p{Surrogate}/u

/** Percent-encoded bytes that are not ASCII. */
const ENCODED = /(?:%[89a-f][\da-f])+/gi

/** What is wrong with a request's query string: what is not UTF-8 would be read as other characters, which find nothing. */
export function queryProblem(url: string): Problem | null {
  const encoded = (text: string): string[] => text.match(ENCODED) ?? []
  const isText = (run: string): boolean => isUtf8(Buffer.from(run.replaceAll('%', ''), 'hex'))
  const wrong = url.split(/[?&]/).find(part => !encoded(part).every(isText))
  return wrong === undefined ? null : invalidAt([...new URLSearchParams(wrong).keys()].join(), 'is not UTF-8')
}

/**
 * Why a request's parameters cannot be stored and returned unchanged, or null: PostgreSQL's text cannot hold NUL, and UTF-8
 * cannot hold half of a surrogate pair.
 */
export function contentProblem(value: unknown, param = '', depth = 0): Problem | null {
  if (typeof value === 'string') return textProblem(value, param)
  if (typeof value !== 'object' || value === null) return null
  if (depth === MAX_DEPTH) return invalidAt(param, `is nested deeper than ${MAX_DEPTH} levels`)
  for (const [name, part] of Object.entries(value)) {
    const path = Array.isArray(value) ? `${param}[${name}]` : param === '' ? name : `${param}.${name}`
    const refused = textProblem(name, path) ?? contentProblem(part, path, depth + 1)
    if (refused !== null) return refused
  }
  return null
}

function textProblem(text: string, param: string): Problem | null {
  if (text.includes('\0')) return invalidAt(param, 'holds a NUL character')
  return HALF_PAIR.test(text) ? invalidAt(param, 'holds half of a surrogate pair') : null
}
