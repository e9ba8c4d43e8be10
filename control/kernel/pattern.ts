import { RE2JS } from 're2js'
import { remembered } from './remembered.ts'

/**
 * A larger program takes too long with a long text: matching takes the product of both, and `(a?){1000}` forty times over would hold the
 * process for half a minute.
 */
export const MAX_PROGRAM = 2000
const MAX_REMEMBERED = 2000

/** A customer's regular expression, matched in time linear in the text (RE2), or what is wrong with it in words. */
export function compilePattern(source: string, flags = 0): RE2JS | string {
  try {
    const pattern = RE2JS.compile(source, flags)
    return pattern.programSize() > MAX_PROGRAM ? 'the pattern is too large' : pattern
  } catch (error) {
    return (error as Error).message.replace('error parsing regexp: ', '')
  }
}

/** To RE2 the letters of `\w` are English ones, and so are the words of `\b`. */
const LETTERS = '\\p{L}\\p{N}_'
/** What is escaped, and where classes begin and end. */
const TOKENS = /\\.|\[\^?\]?|\]/gs

/** The same for what people say or type, in any language: case does not matter, and `.` is any character. */
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
