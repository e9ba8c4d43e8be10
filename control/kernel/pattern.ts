import { RE2JS } from 're2js'
import { remembered } from './remembered.ts'

/**
 * A larger program takes too long on a long text: the time is the product of both, and forty times `(a?){1000}` would block the process for half a minute.
 */
export const MAX_PROGRAM = 2000
const MAX_REMEMBERED = 2000

/** A customer's regular expression, matched in time linear in the text (RE2), or a description of its error. */
export function compilePattern(source: string, flags = 0): RE2JS | string {
  try {
    const pattern = RE2JS.compile(source, flags)
    return pattern.programSize() > MAX_PROGRAM ? 'the pattern is too large' : pattern
  } catch (error) {
    return (error as Error).message.replace('error parsing regexp: ', '')
  }
}

/** RE2's `\w` and `\b` know English letters only. */
const LETTERS = '\\p{L}\\p{N}_'
/** Escapes, and the beginnings and ends of classes. */
const TOKENS = /\\.|\[\^?\]?|\]/gs

/** The same for what people say or type, in any language: case is ignored, and `.` matches any character. */
export const compileSpoken = remembered(MAX_REMEMBERED, (source): RE2JS | string => {
  if (source.match(TOKENS)?.some(token => token.toLowerCase() === '\\b')) return '\\b is not supported'
  return compilePattern(inAnyScript(source), RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL)
})

function inAnyScript(source: string): string {
  let isInClass = false
  return source.replace(TOKENS, token => {
    if (token === ']') isInClass = false
    else if (token.startsWith('[')) isInClass = true
    else if (token === '\\w') return isInClass ? LETTERS : `[${LETTERS}]`
    else if (token === '\\W' && !isInClass) return `[^${LETTERS}]`
    return token
  })
}
